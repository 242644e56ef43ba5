"""Hugepages of 2 MiB for a test, which gives them back."""

import pathlib

COUNT = pathlib.Path("/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages")


def huge_pages():
    """How many there are, and how many of them are free."""
    return [int(file.read_text(encoding="ascii")) for file in (COUNT, COUNT.with_name("free_hugepages"))]


def take_huge_pages(test, wanted):
    """As many are free until the end of the test, which is skipped where they cannot be had. Those that others use do not
    count."""
    if not COUNT.exists():
        test.skipTest("this kernel has no hugepages of 2 MiB")
    before, free = huge_pages()
    if free >= wanted:
        return
    try:
        COUNT.write_text(str(before - free + wanted), encoding="ascii")
    except OSError as error:
        test.skipTest(f"hugepages cannot be reserved here: {error}")
    test.addCleanup(COUNT.write_text, str(before), encoding="ascii")
    if huge_pages()[1] < wanted:
        test.skipTest(f"the machine has no memory for {wanted} hugepages of 2 MiB")

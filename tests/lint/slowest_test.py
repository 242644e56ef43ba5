"""What .ci/slowest makes of the output of ./dev and ctest."""

import os
import pathlib
import subprocess
import unittest

SLOWEST = pathlib.Path(os.environ["RANKWIRE_SOURCE"]) / ".ci/slowest"

SUMMARY = """100% tests passed, 0 tests failed out of {count}

Total Test time (real) = {seconds} sec

The following tests did not run:
\t 7 - base.Skipped (Skipped)
"""


def ctest(preset, tests, seconds):
    lines = [f"Test project /somewhere/build/{preset}"]
    for n, (name, took) in enumerate(tests, 1):
        verdict = "***Failed" if n == 2 else "   Passed"
        lines.append(f"  {n}/{len(tests)} Test {f'#{n}':>5}: {name} .....{verdict} {took:>7} sec")
    return "\n".join(lines) + "\n\n" + SUMMARY.format(count=len(tests), seconds=seconds)


class Slowest(unittest.TestCase):
    def test_tables_stand_before_the_last_summary(self):
        asan = ctest("asan", [("base.A", "3.00"), ("base.B", "70.50")], "75.00")
        release = ctest("release", [(f"wire.Case/{n}", f"{n}.25") for n in range(1, 12)], "80.00")
        text = f"== lint: rooms: 2 s\n{asan}== build release: 120 s\n{release}"
        output = subprocess.run([SLOWEST], input=text, capture_output=True, text=True, check=True).stdout
        tables = (
            "\nThe ten slowest steps:\n"
            "    120.0 s  build release\n"
            "     80.0 s  test release\n"
            "     75.0 s  test asan\n"
            "      2.0 s  lint: rooms\n"
            "\nThe ten slowest tests:\n"
            "     70.5 s  asan base.B\n"
        )
        self.assertIn(tables, output)
        # Of 13 tests the ten slowest: B, and 11.25 down to 3.25.
        table = output[output.index("The ten slowest tests:\n") :].splitlines()[1:11]
        self.assertEqual([line.split()[-1] for line in table], ["base.B"] + [f"wire.Case/{n}" for n in range(11, 2, -1)])
        last = SUMMARY.format(count=11, seconds="80.00")
        self.assertTrue(output.endswith("\n\n" + last))
        # Nothing is lost, and what was not last is where it was.
        self.assertTrue(output.startswith(text[: -len(last)]))

    def test_a_failure_before_it_remains_one(self):
        command = f"set -euo pipefail; {{ echo '== a: 1 s'; false; echo never; }} 2>&1 | {SLOWEST}"
        run = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
        self.assertEqual(run.returncode, 1)
        self.assertNotIn("never", run.stdout)


if __name__ == "__main__":
    unittest.main()

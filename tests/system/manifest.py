"""The figures that the test data's own MANIFEST.md states, one row of its tables for each archive or group of files."""

import re

from rankwire import TEST_DATA

# What STAGE's and MLSynth's rows call kinds, and what `trace inspect` does.
KINDS = {
    "COMP": "compute",
    "SEND": "send",
    "RECV": "receive",
    "AG": "all_gather",
    "RS": "reduce_scatter",
    "AR": "all_reduce",
    "A2A": "all_to_all",
    "ALL_REDUCE": "all_reduce",
    "BROADCAST": "broadcast",
}


class Row:
    """One row. Who takes a text from it takes it once, so that what is left at the end was not looked at."""

    def __init__(self, files, ranks, *texts):
        self.files = files  # the first cell
        self.ranks = ranks  # how many, in words
        self.text = " | ".join(texts)  # what is not taken yet

    def take(self, pattern):
        """Takes the first text that matches; its groups are figures. A row that lacks it says other than a test knows."""
        match = re.search(pattern, self.text)
        if match is None:
            raise AssertionError(f'the row "{self.files}" of MANIFEST.md has no "{pattern}" in "{self.text}"')
        self.text = self.text[: match.start()] + "~" + self.text[match.end() :]
        figures = [int(figure.replace(",", "")) for figure in match.groups()]
        return figures if len(figures) != 1 else figures[0]

    def skip(self, pattern):
        """Takes a text that has digits but no figure."""
        self.take(pattern)

    def world(self):
        """How many ranks there are; "1 of 2" is 1."""
        return int(self.ranks.split()[0])

    def named(self):
        """The names of files that the first cell lists, each with its folder; a name may be only how one begins."""
        names = re.split(r",\s*| \+ ", re.sub(r" \(.*\)", "", self.files))
        folder = names[0].rpartition("/")[0]
        return [(name if "/" in name else f"{folder}/{name}").rstrip("*.") for name in names]


def read():
    """The rows by their first name, such as "stage/moe_8r_ep4dp2"; none without the test data."""
    path = TEST_DATA / "traces/MANIFEST.md"
    rows = {}
    if path.exists():
        for line in path.read_text(encoding="utf-8").splitlines():
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            if not line.startswith("|") or "/" not in cells[0]:
                continue
            # Real captures have their origin in the second cell.
            files, ranks, *texts = cells if re.match(r"\d|text$", cells[1]) else [cells[0], *cells[2:]]
            row = Row(files, ranks, *texts)
            rows[row.named()[0]] = row
    return rows


def totals(row):
    """Takes the figures of all ranks of a row: {kind: count}, {kind: bytes as text}, and how many collectives."""
    counts, sizes = {}, {}
    for name, count in re.findall(r"(COMP|COLL|SEND|RECV) (\d+)(?=[ ,]|$)", row.text.partition(" | ")[0]):
        counts[name] = row.take(rf"{name} ({count})(?=[ ,]|$)")
    for name, count, size in re.findall(r"(AG|RS|AR|A2A|SEND) (\d+ )?(\d[\d,]*\.?\d*(?:e\d+)?)(?: B)?(?=;|$)", row.text):
        row.take(rf"{name} {count}{re.escape(size)}")
        sizes[KINDS[name]] = size.replace(",", "")
        if count:
            counts[name] = int(count)
    collectives = counts.pop("COLL")
    return {KINDS[name]: count for name, count in counts.items()}, sizes, collectives


def rounds_to(value, text):
    """Whether the value is what the text says to as many digits as it has."""
    digits = re.sub(r"e\d+$", "", text).partition(".")[2]
    return f"{value:.{len(digits)}e}" == f"{float(text):.{len(digits)}e}" if "e" in text else value == int(text)

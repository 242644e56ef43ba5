"""The documents name every number that a run leaves behind."""

import contextlib
import csv
import json
import re
import sqlite3
import unittest

from rankwire import OK, SOURCE, RankwireTest, rankwire, transformer


def names(summary):
    """Keys of the summary, of its parts too, but not of the configuration, which has a document of its own."""
    for key, value in summary.items():
        yield key
        if isinstance(value, dict) and key != "config":
            yield from names(value)


class Metrics(RankwireTest):
    def test_every_name_is_in_the_document(self):
        config = {"workload": {"generate": transformer()}, "ports": {"count": 2, "device": "memory"}}
        run = self.call("simulate", config, "--twin")
        written = set(names(run.summary))
        for table in ("operations", "flows", "ports", "ranks", "latency", "hardware", "impairments", "queues",
                      "traffic"):
            with open(run.folder / f"{table}.csv", encoding="utf-8", newline="") as file:
                written.update(next(csv.reader(file)))
        jobs = self.call("simulate", SOURCE / "configs/jobs.yaml", out="jobs")
        written.update(names(jobs.summary["jobs"][1]))
        for table in ("jobs", "shared"):
            with open(jobs.folder / f"{table}.csv", encoding="utf-8", newline="") as file:
                written.update(next(csv.reader(file)))
        for job in jobs.summary["jobs"]:
            for shared in job["shared"]:
                written.update(shared)
        with contextlib.closing(sqlite3.connect(run.folder / "run.sqlite")) as connection:
            for (table,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
                written.add(table)
                written.update(row[1] for row in connection.execute(f'PRAGMA table_info("{table}")'))
        document = (SOURCE / "docs/metrics.md").read_text(encoding="utf-8")
        # `stalls`, as a part `generator.stalls`, and as a whole `generator.` or `generator.stalls`.
        missing = [name for name in written if not re.search(rf"[`.]{name}[`.]", document)]
        self.assertEqual(sorted(missing), [])


class LabGuide(RankwireTest):
    def test_every_configuration_in_it_passes_check(self):
        document = (SOURCE / "docs/lab-guide.md").read_text(encoding="utf-8")
        configurations = re.findall(r"```yaml\n(.*?)```", document, re.DOTALL)
        self.assertGreaterEqual(len(configurations), 3)
        for text in configurations:
            path = self.folder / "guide.yaml"
            path.write_text(text, encoding="utf-8")
            with self.subTest(configuration=text.splitlines()[0]):
                process = rankwire("check", path, "--json")
                self.assertEqual(process.returncode, OK, process.stderr)
                kinds = {port["kind"] for port in json.loads(process.stdout)["ports"]}
                self.assertLessEqual(kinds, {"rdma", "dpdk"}, "the guide is about devices")


if __name__ == "__main__":
    unittest.main()

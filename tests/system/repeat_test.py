"""Runs that are repeated: what the folder holds of each, what is said of all, and how two folders are compared."""

import contextlib
import json
import signal
import sqlite3
import statistics
import time
import unittest

from rankwire import FAILED, OK, USAGE, RankwireTest, rankwire, start, transformer


class Repeated(RankwireTest):
    def small(self, repeat, device="memory", **sections):
        """Eight ranks of a small training step behind four ports: some 50 ms each time."""
        return {
            "workload": {"generate": transformer(layers=2, micro_batches=2)},
            "hosts": {"count": 4, "npus": 2},
            "ports": {"count": 4, "device": device, "rate": "500Mbps"},
            "run": {"repeat": repeat, "deadline": "60s"},
        } | sections

    def test_the_record_has_each_and_the_summary_all(self):
        run = self.call("run", self.small(5, device="ring"))
        self.assert_delivered(run)
        repetitions = run.summary["repetitions"]
        times = [entry["completion_time_ps"] for entry in repetitions["runs"]]
        self.assertEqual((repetitions["planned"], repetitions["completed"], len(times)), (5, 5, 5))
        # The standard library's figures of the same times.
        self.assertAlmostEqual(repetitions["mean_ps"], statistics.mean(times), delta=1)
        self.assertAlmostEqual(repetitions["deviation_ps"], statistics.stdev(times), delta=1)
        self.assertEqual(repetitions["median_ps"], statistics.median(times))
        # t(0.975, 4) of any printed table.
        half = 2.776 * statistics.stdev(times) / 5**0.5
        confidence = repetitions["confidence"]
        self.assertEqual((confidence["method"], confidence["level"]), ("student_t", 0.95))
        self.assertAlmostEqual(confidence["high_ps"] - repetitions["mean_ps"], half, delta=half * 1e-3 + 2)
        # The tables are those of the median one.
        self.assertEqual(run.summary["emulated"]["completion_time_ps"], statistics.median(times))
        self.assertEqual({row["fidelity"] for row in run.rows("ports")}, {"emulated"})
        self.assertEqual(len(run.rows("ports", name="p0")), 1)
        with contextlib.closing(sqlite3.connect(run.folder / "run.sqlite")) as record:
            counts = record.execute(
                "SELECT count(*) FROM operations JOIN repetitions USING(run) GROUP BY run"
            ).fetchall()
        self.assertEqual((len(counts), len(set(counts))), (5, 1))

        drawn = rankwire("report", run.folder, "--repetition", 4)
        self.assertEqual(drawn.returncode, OK, drawn.stderr)
        self.assertIn("the tables show 4", drawn.stdout)
        summary = json.loads((run.folder / "summary.json").read_text(encoding="utf-8"))
        self.assertEqual(summary["emulated"]["completion_time_ps"], times[3])
        wrong = rankwire("report", run.folder, "--repetition", 6)
        self.assert_one_line_error(wrong, USAGE, "no repetition 6", "1 to 5")

    def test_an_interrupt_keeps_what_has_been_measured(self):
        config = self.configuration(self.small(100))
        with start("run", config, "--out", self.folder / "run") as process:
            deadline = time.monotonic() + 60
            while self.begun() < 3 and process.poll() is None and time.monotonic() < deadline:
                time.sleep(0.02)
            process.send_signal(signal.SIGINT)
            output, errors = process.communicate(timeout=60)
        self.assertEqual(process.returncode, FAILED, output + errors)
        summary = json.loads((self.folder / "run/summary.json").read_text(encoding="utf-8"))
        self.assertEqual((summary["verdict"], summary["reason_code"]), ("interrupted", "signal"))
        repetitions = summary["repetitions"]
        self.assertGreaterEqual(repetitions["completed"], 2)
        self.assertLess(repetitions["completed"], 100)
        self.assertIn("of 100", summary["reason"])
        self.assertIn("of 100 came to the end", output)

    def begun(self):
        """How many repetitions the record has so far."""
        try:
            with contextlib.closing(sqlite3.connect(f"file:{self.folder}/run/run.sqlite?mode=ro", uri=True)) as record:
                return record.execute("SELECT count(*) FROM repetitions").fetchone()[0]
        except sqlite3.OperationalError:  # not there yet
            return 0

    def test_compare_tells_a_difference_from_chance(self):
        base = self.call("run", self.small(4), out="base")
        # A third of the rate: every time is longer than every time before, which chance does twice in 70 orders.
        slow = self.call("run", self.small(4), "--set", "ports.rate=170Mbps", out="slow")
        compared = rankwire("compare", base.folder, slow.folder, "--json")
        self.assertEqual(compared.returncode, OK, compared.stderr)
        repetitions = json.loads(compared.stdout)["repetitions"]
        self.assertEqual(repetitions["test"]["method"], "mann_whitney_u")
        self.assertTrue(repetitions["differs"])
        self.assertAlmostEqual(repetitions["test"]["p"], 2 / 70)
        self.assertGreater(repetitions["confidence"]["low_ps"], 0)
        same = json.loads(rankwire("compare", base.folder, base.folder, "--json").stdout)["repetitions"]
        self.assertFalse(same["differs"])
        single = self.call("run", self.small(1), out="single")
        # Further runs of a side count as repetitions do, and runs of other work are refused unless told otherwise.
        several = rankwire("compare", single.folder, slow.folder, "--bases", base.folder, "--json")
        self.assertEqual(json.loads(several.stdout)["repetitions"]["times"], {"base": 5, "other": 4})
        twice = rankwire("compare", single.folder, slow.folder, "--bases", single.folder)
        self.assert_one_line_error(twice, USAGE, "stands twice")
        other = self.call("run", self.small(1), "--set", "workload.iterations=2", out="other")
        refused = rankwire("compare", single.folder, other.folder)
        self.assert_one_line_error(refused, USAGE, "ran different workloads", "is executed", "--unlike")
        for side in ("--bases", "--others"):
            refused = rankwire("compare", single.folder, slow.folder, side, other.folder)
            self.assert_one_line_error(refused, USAGE, "of one side ran different workloads", "--unlike")
        table = rankwire("compare", single.folder, other.folder, "--unlike").stdout
        self.assertIn("the workloads differ: ", table)
        self.assertIn("; fidelity ", table)
        table = rankwire("compare", base.folder, single.folder).stdout
        self.assertIn("nothing tells a difference from chance", table)
        self.assertIsNone(single.summary["repetitions"])

    def test_each_has_a_capture_of_its_own(self):
        run = self.call("run", self.small(2, record={"capture": "4MiB"}))
        self.assertGreater((run.folder / "capture.pcapng").stat().st_size, 1000)
        self.assertGreater((run.folder / "capture-2.pcapng").stat().st_size, 1000)
        self.call("run", self.small(1))
        self.assertFalse((run.folder / "capture-2.pcapng").exists())

    def test_one_that_fails_is_named_and_the_others_have_their_turn(self):
        # The deadline is of all: some go by before it passes.
        run = self.call("run", self.small(100, run={"repeat": 100, "deadline": "300ms"}), status=FAILED)
        repetitions = run.summary["repetitions"]
        last = repetitions["runs"][-1]
        self.assertEqual((run.summary["verdict"], run.summary["reason_code"]), ("failed", "deadline"))
        self.assertEqual((last["verdict"], last["reason_code"]), ("failed", "deadline"))
        self.assertEqual(run.summary["reason"].splitlines()[0],
                         f"repetition {last['repetition']} of 100: deadline of 0.3 s passed")
        self.assertEqual(repetitions["completed"], len(repetitions["runs"]) - 1)
        self.assertEqual(repetitions["shown"], last["repetition"])

    def test_how_often_is_within_bounds(self):
        for repeat in (0, 101):
            process = rankwire("run", self.configuration(self.small(repeat)), "--out", self.folder / "run")
            self.assert_one_line_error(process, USAGE, "run.repeat")


if __name__ == "__main__":
    unittest.main()

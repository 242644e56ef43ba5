"""configs/fabric.yaml in real time and in virtual time, and the queues of its switches in the record."""

import collections
import contextlib
import sqlite3
import unittest

from rankwire import SOURCE, USAGE, RankwireTest, rankwire

CONFIG = SOURCE / "configs/fabric.yaml"
INTERVAL_PS = 200_000_000


class Fabric(RankwireTest):
    def switch_ports(self, run):
        return {row["name"]: row for row in run.rows("ports") if "." in row["name"]}

    def assert_as_promised(self, run):
        self.assert_delivered(run)
        # The comment in the file derives the bytes: 4 x 22,020,096 and 7,340,032.
        self.assertEqual(run.summary["bytes_wire"], 95_420_416)
        ports = self.switch_ports(run)
        # Two leaves with two spines, either end of each cable, and eight hosts.
        self.assertEqual(len(ports), 2 * 2 * 2 + 8)
        self.assertEqual(sum(int(row["dropped"]) for row in ports.values()), 0)
        self.assertGreater(run.transport["ecn_ce_rx"], 0)
        self.assertGreater(run.transport["cnp_rx"], 0)

    def assert_queues_agree(self, run, interval):
        """What queues.csv has by interval amounts to what ports.csv has for the whole run."""
        rows, ports = run.rows("queues"), self.switch_ports(run)
        self.assertTrue(rows)
        self.assertEqual(run.summary["queues"], {"interval_ps": interval, "rows": len(rows), "rows_lost": 0})
        marks, xoff, latest = collections.Counter(), collections.Counter(), {}
        for row in rows:
            queue, time = (row["name"], row["priority"]), int(row["time_ps"])
            self.assertIn(row["name"], ports)
            self.assertEqual(time % interval, 0)
            self.assertGreater(time, latest.get(queue, (-(1 << 62),))[0], "a queue has one row an interval")
            latest[queue] = (time, int(row["queue_bytes"]))
            marks[row["name"]] += int(row["marks"])
            xoff[row["name"]] += int(row["xoff_tx"])
        times = [int(row["time_ps"]) for row in rows]
        self.assertEqual(times, sorted(times))
        for name, row in ports.items():
            self.assertEqual(marks[name], int(row["marked"]), name)
            self.assertLessEqual(xoff[name], int(row["pause_tx"]), name)
        # In the end all queues are empty, but for copies that a late loop may have sent in real time.
        if run.transport["retransmitted"] == 0:
            self.assertEqual({length for _, length in latest.values()}, {0})
        longest = max(int(row["queue_bytes"]) for row in rows)
        print(f"{len(rows)} rows, longest queue {longest} bytes, {sum(marks.values())} marks, {sum(xoff.values())} XOFF")
        # RED leaves nothing unmarked above 160 KB, so some queue was above 40 KB, where it begins.
        self.assertGreater(longest, 40_000)
        page = (run.folder / "report.html").read_text(encoding="utf-8")
        self.assertIn("<h2>Queues</h2>", page)
        self.assertIn("Lengths of queues over time", page)

    def test_in_real_time(self):
        run = self.call("run", CONFIG)
        self.assert_as_promised(run)
        self.assert_queues_agree(run, INTERVAL_PS)

    def test_with_the_switches_on_a_core_of_their_own(self):
        run = self.call("run", CONFIG, "--set", "switch.core=own")
        self.assert_delivered(run)
        self.assert_queues_agree(run, INTERVAL_PS)

    def test_in_virtual_time(self):
        runs = [self.call("simulate", CONFIG, "--twin", out=out) for out in ("first", "second")]
        self.assert_as_promised(runs[0])
        self.assert_queues_agree(runs[0], INTERVAL_PS)
        for table in ("queues.csv", "ports.csv", "operations.csv"):
            self.assertEqual((runs[0].folder / table).read_bytes(), (runs[1].folder / table).read_bytes(), table)

    def test_rows_are_bounded_and_counts_stay_exact(self):
        run = self.call("simulate", CONFIG, "--twin", "--set", "record.fabric_rows=500")
        doubled = run.summary["queues"]["interval_ps"]
        self.assertLessEqual(run.summary["queues"]["rows"], 500)
        self.assertGreater(doubled, INTERVAL_PS)
        self.assertEqual(doubled // INTERVAL_PS & (doubled // INTERVAL_PS - 1), 0)
        self.assertEqual(sum(int(row["marks"]) for row in run.rows("queues")), sum(int(row["marked"]) for row in self.switch_ports(run).values()))

    def test_a_row_for_every_queue_is_missed(self):
        run = self.call("simulate", CONFIG, "--twin", "--set", "record.fabric_rows=2")
        queues = run.summary["queues"]
        self.assertEqual(queues["rows"], 2)
        self.assertGreater(queues["rows_lost"], 0)
        self.assertLess(queues["interval_ps"], run.summary["emulated"]["completion_time_ps"] * 2)
        self.assertTrue([text for text in run.summary["warnings"] if "raise record.fabric_rows" in text], run.summary["warnings"])

    def test_it_is_off_unless_asked_for(self):
        run = self.call("simulate", CONFIG, "--twin", "--set", "record.fabric_interval=none")
        self.assertIsNone(run.summary["queues"])
        self.assertEqual(run.rows("queues"), [])
        self.assertNotIn("<h2>Queues</h2>", (run.folder / "report.html").read_text(encoding="utf-8"))
        with contextlib.closing(sqlite3.connect(run.folder / "run.sqlite")) as connection:
            self.assertEqual(connection.execute("SELECT count(*) FROM queue_sampling").fetchone(), (0,))

    def test_the_switch_without_fabric_has_queues_too(self):
        run = self.call("simulate", SOURCE / "configs/congestion.yaml", "--twin", "--set", "record.fabric_interval=50us")
        rows = run.rows("queues")
        self.assertEqual({row["priority"] for row in rows}, {"0"})
        # The ring sends at 25 Gb/s to a port of 10.
        longest = max(rows, key=lambda row: int(row["queue_bytes"]))
        self.assertEqual(longest["name"], "switch.p3")
        marked = {row["name"]: int(row["marked"]) for row in self.switch_ports(run).values()}
        self.assertEqual(sum(int(row["marks"]) for row in rows), sum(marked.values()))

    def test_values_out_of_range_are_errors(self):
        for setting, text in (
            ("record.fabric_interval=0us", "record.fabric_interval"),
            ("record.fabric_interval=2s", "record.fabric_interval"),
            ("record.fabric_rows=1", "record.fabric_rows"),
            ("record.rate_interval=0us", "record.rate_interval"),
            ("record.rate_interval=fast", "record.rate_interval"),
            ("record.rate_rows=1", "record.rate_rows"),
            ("record.capture=10B", "record.capture"),
        ):
            with self.subTest(setting=setting):
                self.assert_one_line_error(rankwire("check", CONFIG, "--set", setting), USAGE, text)


if __name__ == "__main__":
    unittest.main()

"""Where the time of each operation went, and who held it up: tables, summary and record. Virtual time.

Four ranks carry out `grads` and `acts` twice, all-gathers of 256 KiB a rank by a ring: three messages an operation from each
rank to the next, which take 214 us each at 10 Gbps. One rank's way is paused, or loses a packet, in one operation.
"""

import collections
import sqlite3
import unittest

import chakra
from rankwire import RankwireTest, rankwire

RANKS, SIZE = 4, 256 << 10
CAUSES = ("transmitting", "window", "congestion_control", "paused", "rnr", "recovering", "port", "acknowledgement")
COLUMNS = [f"{cause}_ps" for cause in CAUSES]
HELD_UP = ("acts", 0, 1)  # operation, iteration, rank


class TimeByCause(RankwireTest):
    def run_with(self, *rules, out, causes="on"):
        prefix = self.folder / "gathers"
        nodes = [
            chakra.collective(chakra.ALL_GATHER, SIZE, id=i, name=name, after=range(i))
            for i, name in enumerate(("grads", "acts"))
        ]
        chakra.write_ranks(prefix, [nodes] * RANKS)
        config = {
            "workload": {"traces": str(prefix), "iterations": 2},
            "collectives": {"algorithms": {"all_gather": "ring"}},
            "hosts": {"count": RANKS, "npus": 1},
            "ports": {"count": RANKS, "rate": "10Gbps"},
            "fabric": {"topology": "star", "lossless": [3], "buffer": {"xoff": "16KiB", "headroom": "64KiB"}},
            "transport": {"checking": True, "window": 1024},
            "record": {"causes": causes, "messages": "all"},
            "impairments": list(rules),
        }
        run = self.call("simulate", config, "--twin", out=out)
        self.assert_delivered(run)
        return run

    def operations(self, run):
        """The time by cause, a dictionary, by (operation, iteration, rank)."""
        rows = run.rows("operations")
        return {
            (row["name"], int(row["iteration"]), int(row["rank"])): {column: int(row[column]) for column in COLUMNS}
            for row in rows
        }

    def assert_sums(self, run):
        """Of an operation: all the time in which a message of its was posted and not acknowledged. Of a flow: its own."""
        with sqlite3.connect(run.folder / "run.sqlite") as database:
            (twin,) = database.execute("SELECT run FROM runs WHERE fidelity='twin'").fetchone()
            messages = database.execute(
                "SELECT sequence, iteration, source, posted_ps, acked_ps FROM messages WHERE run=? ORDER BY posted_ps",
                (twin,),
            ).fetchall()
            names = dict(database.execute("SELECT DISTINCT sequence, name FROM nodes"))
            flows = database.execute(
                f"SELECT connection, sum({'+'.join(COLUMNS)}) FROM operation_causes WHERE run=? GROUP BY connection", (twin,)
            ).fetchall()
        self.assertEqual(len(messages), run.summary["messages"])
        posted = collections.Counter()
        until = collections.Counter()
        for sequence, iteration, source, begin, end in messages:
            key = (names[sequence], iteration, source)
            posted[key] += max(0, end - max(begin, until[key]))
            until[key] = max(until[key], end)
        self.assertEqual({key: sum(causes.values()) for key, causes in self.operations(run).items()}, posted)
        totals = {int(row["connection"]): sum(int(row[c]) for c in COLUMNS) for row in run.rows("flows", fidelity="twin")}
        self.assertEqual(dict(flows), totals)

    def assert_held_up(self, run, cause):
        for key, causes in self.operations(run).items():
            self.assertEqual(causes[cause] > 0, key == HELD_UP, (key, causes))
        self.assert_sums(run)
        name, iteration, rank = HELD_UP
        # What comes next may take longer, since others wait for this.
        (slow,) = (entry for entry in run.summary["slow_operations"] if entry["name"] == name)
        self.assertEqual(slow["iteration"], iteration)
        culprit = slow["connections"][0]
        self.assertEqual((culprit["source"], culprit["destination"], culprit["port"]), (rank, rank + 1, f"p{rank}"))
        self.assertEqual(max((culprit[column], column) for column in COLUMNS if column != "transmitting_ps")[1], cause)
        self.assertEqual({column: culprit[column] for column in COLUMNS}, self.operations(run)[HELD_UP])
        self.assertTrue(all(other[cause] == 0 for other in slow["connections"][1:]))
        self.assertIn("Who held the slowest communication up", (run.folder / "report.html").read_text(encoding="utf-8"))
        return culprit

    def test_a_pause_of_one_way(self):
        free = self.run_with(out="free")
        for key, causes in self.operations(free).items():
            self.assertEqual(causes["paused_ps"] + causes["recovering_ps"], 0, key)
        self.assert_sums(free)
        (operation,) = free.rows("operations", name="acts", iteration="0", rank="2")
        begin = int(operation["emulated_start_ps"]) + 10_000_000
        # Rank 2's port pauses the switch for 512 us, whose queue towards it grows until rank 1 is paused.
        rule = {"action": "pause", "priorities": [3], "port": "p2", "from": f"{begin}ps", "quanta": 10_000}
        run = self.run_with(rule, out="paused")
        culprit = self.assert_held_up(run, "paused_ps")
        # But for what the queue takes before it pauses rank 1: 16 KiB, and what is on its way meanwhile.
        self.assertGreater(culprit["paused_ps"], 450_000_000)
        self.assertLess(culprit["paused_ps"], 512_000_000)

    def test_a_loss_of_one_rank(self):
        # Behind the last packet of its last message nothing shows the loss, so it waits for a time-out.
        name, iteration, rank = HELD_UP
        where = {"operation": name, "iteration": iteration, "rank": rank, "step": RANKS - 2, "packet": "last"}
        run = self.run_with({"action": "drop", "class": "data"} | where, out="lost")
        self.assertEqual(run.transport["timeouts"], 1)
        culprit = self.assert_held_up(run, "recovering_ps")
        self.assertGreater(culprit["recovering_ps"], culprit["transmitting_ps"])

    def test_not_recorded_it_is_nowhere(self):
        run = self.run_with(out="off", causes="off")
        self.assertIsNone(run.summary["slow_operations"])
        self.assertTrue(all(row[column] == "" for row in run.rows("operations") for column in COLUMNS))
        with sqlite3.connect(run.folder / "run.sqlite") as database:
            self.assertEqual(database.execute("SELECT count(*) FROM operation_causes").fetchone(), (0,))
        self.assertNotIn("most held up", rankwire("report", run.folder).stdout)


if __name__ == "__main__":
    unittest.main()

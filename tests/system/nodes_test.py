"""Workloads written node by node: the cases that are ready end when they should, and what is wrong is named."""

import json
import re
import unittest

from rankwire import OK, SOURCE, USAGE, RankwireTest, rankwire

RANKS, SIZE, D = 4, 1 << 17, 200e-6  # bytes, seconds
PORTS = {"count": 4, "device": "memory", "rate": "100Gbps"}
PLAIN = {
    "channels": 1,
    "chunk": "1GiB",
    "algorithms": {
        "all_reduce": "ring", "all_gather": "ring", "reduce_scatter": "ring", "broadcast": "ring", "reduce": "ring",
        "all_to_all": "direct", "gather": "direct", "scatter": "direct",
    },
}  # fmt: skip
REFUSED = {"sizes_disagree", "message_lost"}


class MicroCases(RankwireTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        listed = rankwire("trace", "generate", "micro", "--list", "--json")
        cls.listed = {case["case"]: case["expected"] for case in json.loads(listed.stdout)}

    def assert_line(self, seconds, size, steps=1):
        """That many messages of `size` bytes one after the other: at least their bits at 100 Gbps; up to 3 % of headers
        (82 of 4096 bytes), and of each the links and the switch twice, for its data and its acknowledgement, and a
        frame that is stored and forwarded."""
        bits = steps * size * 8 / 100e9
        self.assertGreaterEqual(seconds, bits)
        self.assertLessEqual(seconds, 1.03 * bits + steps * 3.5e-6)

    def test_each_ends_as_its_description_says(self):
        micro = {"duration": "200us", "size": "128KiB"}
        config = {
            "workload": {"generate": {"kind": "micro", "case": "message", "micro": micro}},
            "ports": PORTS, "collectives": PLAIN, "record": {"messages": "none"}, "simulation": {"ensemble": "off"},
        }  # fmt: skip
        cases = [case for case in self.listed if case not in REFUSED]
        self.assertGreaterEqual(len(cases), 30)
        process = rankwire("simulate", self.configuration(config), "--out", self.folder / "sweep", "--json", "--twin",
                           "--sweep", "workload.generate.case=" + ",".join(cases))  # fmt: skip
        self.assertEqual(process.returncode, OK, process.stderr)
        points = json.loads(process.stdout)["points"]
        ends, twins = {}, {}
        for point in points:
            runs = {run["run"]: run["completion_time_ps"] / 1e12 for run in point["runs"]}
            case = point["settings"]["workload.generate.case"]
            ends[case], twins[case] = runs["reference"], runs["twin"]
        # Packets end as the reference says, where they do not meet those of others at several ports.
        for case, seconds in twins.items():
            with self.subTest(case):
                self.assertGreaterEqual(seconds, ends[case])
                self.assertLessEqual(seconds, ends[case] + (12e-6 if case == "all_pairs" else 0.5e-6))
        # What one operation takes, from bytes and rate.
        for case, size, steps in (
            ("message", SIZE, 1), ("all_reduce", SIZE / 4, 6), ("all_gather", SIZE, 3), ("reduce_scatter", SIZE / 4, 3),
            ("all_to_all", SIZE * 3 / 4, 1), ("broadcast", SIZE, 3), ("reduce", SIZE, 3), ("gather", SIZE * 3, 1),
            ("scatter", SIZE * 3 / 4, 1), ("two_groups", SIZE / 2, 2), ("fan_out", SIZE * 3, 1),
            ("incast", SIZE * 3, 1), ("incast_uneven", SIZE * 6, 1), ("all_pairs", SIZE * 3, 1), ("incast_then_fan_out", SIZE * 3, 2),
            ("message_empty", 0, 1), ("barrier", 0, 6),
        ):  # fmt: skip
            with self.subTest(case):
                self.assert_line(ends[case], size, steps)
                if case not in ("message", "all_reduce", "barrier"):
                    del ends[case]
        # What several take, from what one does. A chain of messages is shorter by their acknowledgements.
        message, all_reduce, barrier = ends.pop("message"), ends.pop("all_reduce"), ends.pop("barrier")
        expected = {
            "compute_one": D, "compute_all": D, "compute_chain": 4 * D, "compute_fan_out": 5 * D,
            "compute_fan_in": 5 * D, "compute_skew": RANKS * D, "barrier_after_skew": RANKS * D + barrier,
            "barrier_between": all_reduce + barrier + D, "all_reduce_after_skew": RANKS * D + all_reduce,
            "all_reduce_chain": 4 * all_reduce, "all_reduce_beside_compute": max(D, all_reduce),
            "iterations": 4 * (D + all_reduce), "cross_iteration": 4 * D + all_reduce, "ping_pong": 2 * message,
            "exchange": message, "relay": (RANKS - 1) * message, "ring_shift": message,
            "pipeline": (RANKS + 3) * D + (RANKS - 1) * message,
        }  # fmt: skip
        self.assertEqual(set(ends), set(expected))
        for case, seconds in expected.items():
            with self.subTest(case):
                self.assertAlmostEqual(ends[case], seconds, delta=5e-6)

    def test_wrong_traces_are_refused(self):
        for case, text in (("sizes_disagree", "call"), ("message_lost", "message.send")):
            config = {"workload": {"generate": {"kind": "micro", "case": case}}, "ports": PORTS | {"count": 2}}
            process = rankwire("check", self.configuration(config), "--no-measure")
            self.assertEqual(process.returncode, USAGE)
            self.assertIn(text, process.stderr)

    def test_the_document_has_each(self):
        document = (SOURCE / "docs/traces.md").read_text(encoding="utf-8")
        rows = re.findall(r"^\| `(\w+)` \| (.+) \|$", document.split("### Micro cases")[1], re.MULTILINE)
        self.assertEqual(dict(rows), self.listed)

    def test_traces_of_a_case(self):
        process = rankwire("trace", "generate", "micro", "incast", "--out", self.folder / "incast")
        self.assertEqual(process.returncode, OK, process.stderr)
        # Rank 0 receives three messages, and the three others send one each.
        self.assertIn("4 ranks, 6 nodes", process.stdout)
        process = rankwire("trace", "generate", "micro", "inkast", "--out", self.folder / "x")
        self.assert_one_line_error(process, USAGE, "'inkast' is no case", "--list")


class Nodes(RankwireTest):
    NODES = """\
    - {name: work, ranks: 0-3, duration: 200us}
    - {name: sum, ranks: 0-3, kind: all_reduce, bytes: 4MiB, after: work}
    - {name: result, ranks: 1-3, kind: send, to: 0, bytes: 64KiB, after: sum}
    - {name: collect, ranks: 0, kind: recv, from: 1-3, bytes: 64KiB}
    - {name: store, ranks: 0, kind: host, duration: 50us, after: [sum, collect], iterations: 2}
"""

    def written(self, nodes):
        path = self.folder / "nodes.yaml"
        ports = "ports: {count: 4, device: memory, rate: 10Gbps}"
        path.write_text(f"workload:\n  nodes:\n{nodes}  iterations: 2\n{ports}\n", encoding="utf-8")
        return path

    def test_they_run(self):
        run = self.call("simulate", self.written(self.NODES), "--twin")
        self.assert_delivered(run)
        # Two iterations of a ring over four ranks, 2 x 3 / 4 of 4 MiB of each rank, and three messages.
        self.assertEqual(run.summary["bytes_wire"], 2 * (6 * (4 << 20) + 3 * (64 << 10)))
        names = [row["name"] for row in run.rows("operations", rank="0", iteration="1")]
        self.assertEqual(sorted(names), sorted(["work", "sum", "collect", "collect", "collect", "store.0", "store.1"]))

    def test_what_is_wrong_is_named(self):
        for line, old, new, text in (
            (3, "ranks: 0-3, duration", "ranks: 3-0, duration", "'3-0' ends before it begins; write 0-3"),
            (3, "200us", "200ns", "no whole number of microseconds"),
            (3, "duration: 200us", "duration: 200us, bytes: 1KiB", "bytes: is not for 'kind: compute'"),
            (4, "after: work", "after: wrok", "rank 0 has no node 'wrok' before this one; it has work"),
            (4, "after: work", "after: store", "'store' does not stand before this node"),
            (4, "all_reduce", "allreduce", "'allreduce' is not one of compute, host, send"),
            (4, "4MiB, after", "4MiB, group: 1-3, after", "group: 1-3 is without rank 0"),
            (4, "4MiB, after", "4MiB, group: 0-4, after", "rank 4 of 0-4 calls it 0 time(s), rank 0 1"),
            (5, "to: 0", "from: 0", "from: is for 'kind: recv', not for send"),
            (5, "to: 0", "to: 1", "to: has rank 1 itself"),
            (5, "1-3, kind: send", "2-3, kind: send", "rank 0 waits for 1 message(s) with tag 0 from rank 1"),
            (6, "64KiB", "65KiB", "66560 B are received, but entry [2] sends 65536 B"),
            (7, "name: store", "name: sum", "'sum' is of entry [1] already, which has rank 0, too"),
        ):
            with self.subTest(text):
                lines = self.NODES.split("\n")
                lines[line - 3] = lines[line - 3].replace(old, new)
                process = rankwire("check", self.written("\n".join(lines)), "--no-measure")
                self.assert_one_line_error(process, USAGE, "nodes.yaml:", text)


if __name__ == "__main__":
    unittest.main()

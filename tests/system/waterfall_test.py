"""The critical path and the parts of the gap to the reference: a cause that was put there is the largest part. Virtual time.

Eight ranks compute and all-reduce through a star, so that the reference is as fast as an undisturbed twin within 0.1 %.
"""

import csv
import unittest

import chakra
from rankwire import RankwireTest, transformer

SEEDS = (1, 2, 3)
CAUSES = {
    "recovering": {"impairments": [{"action": "drop", "port": "p3", "direction": "receive", "every": 200}]},
    "window": {"transport": {"window": 4}},
    "congestion_control": {"transport": {"congestion_control": {"algorithm": "static", "rate": "40Gbps"}}},
        # Each packet comes 20 us later, and stays in order.
    "path_latency": {
        "impairments": [
            {"action": "delay", "delay": "20us", "every": 1, "direction": "receive", "port": f"p{port}"} for port in range(8)
        ],
    },
    # The formulas of collectives know no background, and all but one rank send to it at once.
    "queueing_others": {
        "simulation": {"fidelity": "alpha_beta"},
        "background": [{"name": "noise", "pattern": "incast", "to": 3, "size": "256KiB", "outstanding": 4}],
    },
    "paused": {
        "fabric": {"topology": "star", "lossless": [3], "buffer": {"xoff": "64KiB", "headroom": "64KiB"}},
        "impairments": [{"action": "pause", "priorities": [3], "port": "p2", "quanta": 40_000, "interval": "400us"}],
    },
}


class Waterfall(RankwireTest):
    def run_with(self, changes, out, seed=1):
        step = transformer(layers=2, hidden=512, sequence=512, tensor_parallel=1, pipeline_parallel=1, data_parallel=8)
        config = {
            "seed": seed,
            "workload": {"generate": step},
            "hosts": {"count": 8, "npus": 1},
            "ports": {"count": 8, "rate": "100Gbps"},
            "record": {"causes": "on"},
        }
        for key, value in changes.items():
            config[key] = config.get(key, {}) | value if isinstance(value, dict) and key != "workload" else value
        return self.call("simulate", config, "--twin", out=out)

    def assert_adds_up(self, run):
        """Parts to the gap, and steps to the completion time, to the picosecond."""
        completion = run.summary["emulated"]["completion_time_ps"]
        waterfall = dict(run.summary["waterfall"])
        gap = waterfall.pop("gap_ps")
        self.assertEqual(gap, completion - run.summary["reference"]["completion_time_ps"])
        self.assertEqual(sum(waterfall.values()), gap)
        path = run.summary["critical_path"]["emulated"]
        self.assertEqual(path["compute_ps"] + path["communication_ps"] + path["between_ps"], completion)
        # All of it is somebody's; what communicates is of a group, behind a port and held up at a connection. The eight
        # with the most are told, of eight ranks all.
        sums = {of: sum(entry["time_ps"] for entry in path[of]) for of in ("ranks", "groups", "ports", "connections")}
        self.assertEqual(sums["ranks"], path["compute_ps"] + path["communication_ps"])
        self.assertEqual(sums["groups"], path["communication_ps"])
        self.assertEqual(sums["ports"], path["communication_ps"])
        self.assertLessEqual(sums["connections"], path["communication_ps"])
        self.assertGreater(sums["connections"], 0)
        with (run.folder / "critical_path.csv").open(encoding="utf-8") as file:
            at = 0
            of_steps = dict.fromkeys(waterfall, 0)
            for row in csv.DictReader(file):
                for part in of_steps:
                    of_steps[part] += int(row[part])
                self.assertEqual(int(row["from_ps"]), at + int(row["before_ps"]))
                at = int(row["to_ps"])
        self.assertEqual(at, completion)
        self.assertEqual(of_steps, waterfall)
        self.assert_operations_add_up(run)
        return gap, waterfall

    def assert_operations_add_up(self, run):
        """Each slow operation's parts to its own gap, whether it is on the path or not."""
        rows = run.rows("slow_operations")
        self.assertGreaterEqual(len(rows), len(run.summary["slow_operations"] or []))
        for entry, row in zip(run.summary["slow_operations"] or [], rows):
            parts = dict(entry["gap"])
            gap, whom = parts.pop("gap_ps"), parts.pop("waited_for_rank")
            self.assertEqual(gap, entry["emulated_ps"] - entry["reference_ps"])
            self.assertEqual(sum(parts.values()), gap)
            self.assertEqual({part: int(row[part]) for part in parts}, parts)
            self.assertEqual(row["waited_for_rank"], "" if whom is None else str(whom))

    def send(self, pairs, fabric, out):
        """Each rank of `pairs` sends 16 MiB to the other, all at once and as one job, of which the reference's formulas know
        nothing: each send takes as long as alone. The run, and the part of its gap that is waiting behind the own job."""
        ranks = [[chakra.Node(1, "idle", chakra.COMPUTE, [], 1)] for _ in range(8)]
        for source, destination in pairs.items():
            for number in range(4):
                message = {"comm_src": source, "comm_dst": destination, "comm_tag": number, "comm_size": 4 << 20}
                after = [100 * source + number + 9] if number else []
                ranks[source].append(chakra.Node(100 * source + number + 10, f"send {number}", chakra.SEND, after, 0, message))
                ranks[destination].append(chakra.Node(100 * source + number + 10, f"receive {number} of {source}",
                                                      chakra.RECEIVE, after, 0, message))  # fmt: skip
        chakra.write_ranks(self.folder / f"{out}-traces", ranks)
        traces = {"traces": str(self.folder / f"{out}-traces")}
        run = self.run_with({"workload": traces, "simulation": {"fidelity": "alpha_beta"}, "fabric": fabric}, out)
        gap, waterfall = self.assert_adds_up(run)
        self.assertEqual(waterfall["queueing_others_ps"], 0)
        return waterfall["queueing_own_job_ps"] / gap

    def test_queueing_behind_the_own_job(self):
        # Seven ranks send to one port, so that each gets a seventh of it.
        self.assertGreater(self.send({rank: 7 for rank in range(7)}, {"topology": "star"}, "incast"), 0.5)
        # Four send over one cable between two leaves, each to a rank that nobody else sends to.
        tree = {"topology": "leaf_spine", "leaves": 2, "spines": 1}
        self.assertGreater(self.send({rank: rank + 4 for rank in range(4)}, tree, "cable"), 0.5)
        # The same pairs at one switch do not meet.
        self.assertLess(self.send({rank: rank + 4 for rank in range(4)}, {"topology": "star"}, "apart"), 0.01)

    def test_undisturbed(self):
        gap, _ = self.assert_adds_up(self.run_with({}, "free"))
        self.assertLess(gap, 0.002 * self.run_with({}, "free2").summary["reference"]["completion_time_ps"])

    def test_losses_between_send_and_receive(self):
        """Messages wait behind the repair of those before them, on their connection and on others of a chain of ranks."""
        for case in ("pipeline", "relay"):
            for seed in SEEDS:
                with self.subTest(case=case, seed=seed):
                    changes = {
                        "workload": {"iterations": 4, "generate": {"kind": "micro", "case": case}},
                        "hosts": {"count": 4},
                        "ports": {"count": 4, "rate": "10Gbps"},
                        "switch": {"loss": "2%"},
                    }
                    run = self.run_with(changes, f"{case}{seed}", seed)
                    gap, waterfall = self.assert_adds_up(run)
                    self.assertGreater(waterfall["recovering_ps"], 0.6 * gap, waterfall)
                    self.assertLess(waterfall["unexplained_ps"], 0.1 * gap, waterfall)
                    blame = run.summary["blame"][0]
                    self.assertEqual(blame["kind"], "lossy_cable", blame)
                    self.assertGreater(blame["share"], 0.6, blame)

    def test_the_cause_that_was_put_there_is_the_largest_part(self):
        for cause, changes in CAUSES.items():
            for seed in SEEDS:
                with self.subTest(cause=cause, seed=seed):
                    run = self.run_with(changes, f"{cause}{seed}", seed)
                    gap, waterfall = self.assert_adds_up(run)
                    self.assertEqual(max(waterfall, key=waterfall.get), f"{cause}_ps", waterfall)
                    self.assertGreater(waterfall[f"{cause}_ps"], 0.5 * gap)


if __name__ == "__main__":
    unittest.main()

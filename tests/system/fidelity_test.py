"""How far the twin's packets are from the reference's flows where both have the same paths: public traces on a star and on
a fat-tree, and where flows meet, what the record says of the time that congestion costs. Virtual time."""

import unittest

import chakra
from rankwire import RankwireTest

MIB = 1 << 20
RANKS = 8
# Training steps of STAGE's, which counts elements: tensor, pipeline and data parallel, with experts, tensor parallel.
TRACES = ("gpt3_8r_tp2pp2dp2", "moe_8r_ep4dp2", "llama8b_8r_tp8")
CAUSES = ("transmitting", "window", "congestion_control", "paused", "rnr", "recovering", "port", "acknowledgement")


class Fidelity(RankwireTest):
    def config(self, workload, **fabric):
        return {
            "workload": workload,
            "hosts": {"count": RANKS, "npus": 1},
            "ports": {"count": RANKS, "device": "memory", "rate": "10Gbps"},
            "fabric": fabric,
            "record": {"causes": True},
        }

    def corpus(self, name, bytes_scale="1/50"):
        folder = self.unpack(f"traces/stage/{name}.tar.xz") / name
        return {
            "traces": str(folder / "w"),
            "groups": str(folder / "w.json"),
            "element_size": "2B",
            "scale": {"bytes": bytes_scale, "compute": "1/1000"},
        }

    def ratio(self, workload, name, *arguments, **fabric):
        run = self.call("simulate", self.config(workload, **fabric), "--twin", *arguments)
        self.assert_delivered(run)
        self.assertEqual(run.transport["retransmitted"], 0)
        print(f"{name} on {fabric}: twin / reference {run.summary['ratio']:.4f}; {self.causes(run)}")
        return run.summary["ratio"]

    def causes(self, run):
        """Where the time of all queue pairs' sources went, the largest parts first."""
        rows = run.rows("flows", fidelity="twin")
        sums = {cause: sum(int(row[f"{cause}_ps"] or 0) for row in rows) for cause in CAUSES}
        self.assertEqual(sums, {cause: run.summary["time_by_cause"][f"{cause}_ps"] for cause in CAUSES})
        largest = sorted(CAUSES, key=sums.get, reverse=True)[:4]
        return ", ".join(f"{cause} {100 * sums[cause] / sum(sums.values()):.0f} %" for cause in largest)


class WithoutCollisions(Fidelity):
    """The bound is 5 %, and what is measured is below 2 %."""

    # Messages of tens of KiB and more, and of few packets, where what each hop stores and forwards counts. Small ones run
    # alone at each NIC; see `test_turns_of_small_messages`.
    SCALES = (("1/50", ()), ("1/1000", ("--set", "concurrency.communication=1")))

    def test_star(self):
        rows = []
        for name in TRACES:
            workload = self.corpus(name)
            for scale, alone in self.SCALES:
                workload["scale"]["bytes"] = scale
                config = self.config(workload, topology="star")
                summary = self.call("simulate", config, "--twin", *alone).summary
                times = [summary[side]["completion_time_ps"] for side in ("reference", "emulated")]
                rows.append((name, scale, *times, times[1] / times[0]))
        print(f"{'trace':20} {'scale':6} {'flow, us':>12} {'twin, us':>12} {'ratio':>7}")
        for name, scale, flow, twin, ratio in rows:
            print(f"{name:20} {scale:6} {flow / 1e6:12.1f} {twin / 1e6:12.1f} {ratio:7.4f}")
        self.assertEqual(len(rows), len(TRACES) * len(self.SCALES))
        for name, scale, _, _, ratio in rows:
            with self.subTest(name=name, scale=scale):
                self.assertLess(abs(ratio - 1), 0.05)

    def test_turns_of_small_messages(self):
        # A queue pair sends up to 16 packets before the next has its turn. A ring's message of 5 packets that is posted
        # while another ring's of 25 leaves the same NIC waits for a run of up to 16, then goes out at once; as a flow it
        # has half of the line from the start. With turns of one packet it has that here, too, as far as packets are small
        # beside messages; and where collectives do not overlap at a NIC the difference is gone. So it is nothing else.
        # The bounds are wide of what is measured: 1.108, 1.059, 1.018 and 1.004.
        name = "gpt3_8r_tp2pp2dp2"
        workload = self.corpus(name, "1/1000")
        ratios = {}
        for how, *settings in (
            ("overlapping",),
            ("turns of 1 packet", "transport.turn=1"),
            ("turns of 1 packet of 1 KiB", "transport.turn=1", "transport.mtu=1024B"),
            ("one at a time", "concurrency.communication=1"),
        ):
            options = [part for setting in settings for part in ("--set", setting)]
            ratios[how] = self.ratio(workload, f"{name} at 1/1000, {how}", *options, topology="star")
        self.assertLess(ratios["overlapping"], 1.15)
        self.assertLess(ratios["turns of 1 packet"], ratios["overlapping"] - 0.03)
        self.assertLess(ratios["turns of 1 packet of 1 KiB"], ratios["turns of 1 packet"] - 0.02)
        for how in ("turns of 1 packet of 1 KiB", "one at a time"):
            self.assertLess(abs(ratios[how] - 1), 0.05)

    def test_fat_tree(self):
        # Cables that carry what all ports send: flows that meet in one do not slow each other down.
        for name in TRACES:
            with self.subTest(name=name):
                ratio = self.ratio(self.corpus(name), name, topology="fat_tree", k=4, link_rate=f"{10 * RANKS}Gbps")
                self.assertLess(abs(ratio - 1), 0.05)


class WithCollisions(Fidelity):
    """Flows that the hash puts on one cable are slow in both; what the twin adds is queueing. No bound is promised, but the
    twin is a model of the same network: it is not twice as slow, and it cannot be much faster."""

    def assert_same_network(self, ratio):
        self.assertGreater(ratio, 0.9)
        self.assertLess(ratio, 2)

    def test_ecmp_on_a_fat_tree(self):
        for name in TRACES:
            with self.subTest(name=name):
                self.assert_same_network(self.ratio(self.corpus(name), name, topology="fat_tree", k=4))

    def test_what_makes_the_difference(self):
        # What takes longer than flows on the same cables, and what makes the difference go: a queue pair whose 64 packets
        # wait in front of a crowded cable has none for the time in which that is free, and in turns of 16 packets small
        # messages wait for large ones. Measured: 1.061 and 0.996; 1.028 and 1.008.
        for name, setting in (("moe_8r_ep4dp2", "transport.window=1024"), ("gpt3_8r_tp2pp2dp2", "transport.turn=1")):
            with self.subTest(name=name, setting=setting):
                fabric = {"topology": "fat_tree", "k": 4}
                ratio = self.ratio(self.corpus(name), name, **fabric)
                without = self.ratio(self.corpus(name), f"{name}, {setting}", "--set", setting, **fabric)
                self.assertGreater(ratio, 1.015)
                self.assertLess(abs(without - 1), 0.015)

    def test_incast_on_a_fat_tree(self):
        prefix = self.folder / "incast"
        chakra.write_ranks(prefix, [[chakra.collective(chakra.GATHER, 8 * MIB)]] * RANKS)
        self.assert_same_network(self.ratio({"traces": str(prefix)}, "gather", topology="fat_tree", k=4))


if __name__ == "__main__":
    unittest.main()

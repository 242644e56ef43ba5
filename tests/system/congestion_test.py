"""Congestion control from the configuration to the record, in virtual time: configs/congestion.yaml."""

import unittest

from rankwire import SOURCE, USAGE, RankwireTest, rankwire

CONFIG = SOURCE / "configs/congestion.yaml"
CONTROL = "transport.congestion_control"


class Congestion(RankwireTest):
    def simulate(self, *settings, out):
        arguments = [argument for setting in settings for argument in ("--set", setting)]
        run = self.call("simulate", CONFIG, "--twin", *arguments, out=out)
        self.assert_delivered(run)
        return run

    def dropped(self, run):
        return sum(int(row["dropped"] or 0) for row in run.rows("ports"))

    def test_notifications_slow_the_ring_down_to_its_slow_port(self):
        free = self.simulate(f"{CONTROL}.algorithm=none", out="free")
        self.assertEqual(free.transport["cnp_tx"], 0)
        run = self.simulate(out="dcqcn")
        # The comment in the file derives the bytes: 4 x 37,748,736 and 6,144,000.
        self.assertEqual(run.summary["bytes_wire"], 157_138_944)
        self.assertGreater(run.transport["cnp_tx"], 0)
        self.assertEqual(run.transport["cnp_rx"], run.transport["cnp_tx"])
        self.assertEqual(run.transport["retransmitted"], 0)
        self.assertEqual(self.dropped(run), 0)
        # What the queue pairs no longer send is not marked either.
        self.assertLess(run.transport["ecn_ce_rx"], free.transport["ecn_ce_rx"] / 2)
        # The slow port is the bottleneck before and after.
        times = [each.summary["emulated"]["completion_time_ps"] for each in (free, run)]
        print(f"marks {free.transport['ecn_ce_rx']} -> {run.transport['ecn_ce_rx']}, time x {times[1] / times[0]:.3f}")
        self.assertLess(times[1], 1.3 * times[0])

    def test_equal_seeds_give_equal_notifications(self):
        first, second = (self.simulate(out=out) for out in ("first", "second"))
        self.assertEqual(first.transport, second.transport)

    def test_static_rate_bounds_the_run(self):
        # Each rank sends a quarter of the bytes on one queue pair at 1 Gbps, 4178 bytes on the line for 4096.
        run = self.simulate(f"{CONTROL}.algorithm=static", f"{CONTROL}.rate=1Gbps", out="static")
        least = 157_138_944 / 4 * 4178 / 4096 * 8 * 1000
        self.assertGreater(run.summary["emulated"]["completion_time_ps"], least)
        self.assertLess(run.summary["emulated"]["completion_time_ps"], 1.05 * least)

    def test_every_algorithm_delivers(self):
        for algorithm in ("dctcp", "swift"):
            with self.subTest(algorithm=algorithm):
                run = self.simulate(f"{CONTROL}.algorithm={algorithm}", out=algorithm)
                self.assertEqual(run.transport["retransmitted"], 0)
                self.assertEqual(run.transport["cnp_rx"] > 0, algorithm == "dctcp")

    def test_profile_without_ecn_is_a_contradiction(self):
        process = rankwire("check", CONFIG, "--set", "transport.profile=rxe")
        self.assert_one_line_error(process, USAGE, f"{CONTROL}.algorithm", "'transport.ecn: on'")


if __name__ == "__main__":
    unittest.main()

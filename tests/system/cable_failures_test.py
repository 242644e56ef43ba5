"""Cables that fail and come back: the reference beside the packets, in virtual time.

Both know when the cable is down, when routes follow and which way each queue pair then takes. What the reference does not
know is that what was queued or on the way is lost, and that it is sent again when a retransmission timer runs out.
"""

import unittest

import chakra
from rankwire import FAILED, OK, RankwireTest

MIB = 1 << 20
SIZE = 16 * MIB
MS = 1_000_000_000  # in picoseconds
# `timeout: 9` is 4.096 us x 2^9, of which eight are longer than a flap. At most one is lost each time that packets are, and
# what was lost is sent again.
TIMEOUT = 4_096_000 << 9
SLACK = TIMEOUT + MS // 2


def pairs(source_ranks, destination_ranks):
    """A SEND of the size from each to its partner."""
    ranks = {}
    for source, destination in zip(source_ranks, destination_ranks, strict=True):
        message = {"comm_src": source, "comm_dst": destination, "comm_size": SIZE}
        ranks[source] = [chakra.Node(0, "send", chakra.SEND, attributes=message)]
        ranks[destination] = [chakra.Node(0, "receive", chakra.RECEIVE, attributes=message)]
    return [ranks[rank] for rank in sorted(ranks)]


class CableFailures(RankwireTest):
    def simulate(self, fabric, failures, out, *arguments, status=OK):
        prefix = self.folder / "pairs"
        chakra.write_ranks(prefix, pairs((0, 1), (2, 3)))
        config = {
            "workload": {"traces": str(prefix)},
            "ports": {"count": 4, "rate": "10Gbps"},
            "switch": {"latency": "500ns", "link_latency": "500ns"},
            "fabric": {"link_rate": "10Gbps", "convergence": "100us", "failures": failures} | fabric,
            "transport": {"timeout": 9, "retry_count": 7},
            "run": {"stall_timeout": "10s"},
            "seed": 2,  # the two pairs do not share a spine at first
        }
        return self.call("simulate", config, *arguments, status=status, out=out)

    def times(self, run):
        """Completion times of the twin and of the reference."""
        self.assert_delivered(run)
        return tuple(run.summary[side]["completion_time_ps"] for side in ("emulated", "reference"))

    def compare(self, fabric, failures, out, cuts=None):
        """How much longer the reference takes than without the failures; the twin must be a little slower than it, by the
        time-outs of the cuts, or as fast where nothing is cut."""
        _, undisturbed = self.times(self.simulate(fabric, [], out + ".whole", "--twin"))
        twin, reference = self.times(self.simulate(fabric, failures, out, "--twin"))
        print(f"{out}: whole {undisturbed / MS:.3f} ms, reference {reference / MS:.3f} ms, twin {twin / MS:.3f} ms")
        if cuts == 0:
            self.assertAlmostEqual(twin / MS, reference / MS, delta=0.01)
            return reference - undisturbed
        self.assertGreaterEqual(twin, reference)
        self.assertLessEqual(twin - reference, (cuts or len(failures)) * SLACK)
        return reference - undisturbed

    def test_flows_share_what_is_left(self):
        # Of four equal ways two are left at 4 ms, and one at 8 ms: both pairs are behind it then.
        failures = [{"a": "leaf0", "b": f"spine{s}", "down": f"{4 + 2 * s}ms"} for s in range(3)]
        longer = self.compare({"topology": "leaf_spine", "leaves": 2, "spines": 4}, failures, "reroute")
        # Alone 13.7 ms; from 8.1 ms on at half of the rate.
        self.assertGreater(longer, 3 * MS)

    def test_a_flap_stops_what_has_no_other_way(self):
        line = {
            "topology": "graph",
            "switches": ["s0", "s1"],
            "links": [{"a": "s0", "b": "s1"}],
            "hosts": [{"port": f"p{p}", "switch": f"s{p // 2}"} for p in range(4)],
        }
        longer = self.compare(line, [{"a": "s0", "b": "s1", "down": "5ms", "up": "15ms"}], "flap")
        # Down for 10 ms, and 100 us until routes follow.
        self.assertAlmostEqual(longer / MS, 10.1, delta=0.01)

    def test_a_host_whose_cable_fails_waits_for_it(self):
        longer = self.compare({"topology": "star"}, [{"a": "p2", "down": "5ms", "up": "15ms"}], "host")
        # Its routes are the same all the time.
        self.assertAlmostEqual(longer / MS, 10, delta=0.01)

    def test_a_cable_that_flaps_stops_traffic_each_time(self):
        flap = {"a": "p2", "down": "2ms", "up": "3ms", "period": "4ms", "times": 3}
        longer = self.compare({"topology": "star"}, [flap], "flaps", cuts=3)
        self.assertAlmostEqual(longer / MS, 3, delta=0.01)

    def test_a_switch_that_fails_takes_all_its_cables_along(self):
        four = {"topology": "leaf_spine", "leaves": 2, "spines": 4}
        failures = [{"a": f"spine{s}", "down": f"{4 + 2 * s}ms"} for s in range(3)]
        longer = self.compare(four, failures, "spines")
        # As when the cables of one leaf to these spines fail.
        self.assertEqual(longer, self.compare(four, [failure | {"b": "leaf0"} for failure in failures], "cables"))
        self.assertGreater(longer, 3 * MS)

    def test_failures_of_one_cable_add_up(self):
        overlapping = [{"a": "p2", "down": "2ms", "up": "8ms"}, {"a": "p2", "down": "5ms", "up": "12ms"}]
        longer = self.compare({"topology": "star"}, overlapping, "overlap")
        self.assertAlmostEqual(longer / MS, 10, delta=0.01)

    def test_a_degraded_cable_is_slower_for_a_while(self):
        line = {
            "topology": "graph",
            "switches": ["s0", "s1"],
            "links": [{"a": "s0", "b": "s1"}],
            "hosts": [{"port": f"p{p}", "switch": f"s{p // 2}"} for p in range(4)],
        }
        # Both pairs share the cable all the time: what 4 ms at a quarter of its rate leave undone, 3 ms of it, comes later.
        slow = {"a": "s0", "b": "s1", "down": "2ms", "up": "6ms", "rate": "2.5Gbps"}
        longer = self.compare(line, [slow], "slow", cuts=0)
        self.assertAlmostEqual(longer / MS, 3, delta=0.01)
        # Of two at once the slower one counts, and the latency of the other: 5 ms at a fifth of the rate leave 4 ms.
        both = [slow, slow | {"up": "7ms", "rate": "2Gbps"}]
        longer = self.compare(line, both, "both", cuts=0)
        self.assertAlmostEqual(longer / MS, 4, delta=0.01)
        # 20 us more each way for the last message, whose acknowledgement has not come when it ends.
        far = {"a": "s0", "b": "s1", "down": "0ms", "latency": "20us"}
        longer = self.compare(line, [far], "far", cuts=0)
        self.assertAlmostEqual(longer / MS, 0.04, delta=0.001)

    def test_a_degraded_cable_of_a_port_is_slow_either_way(self):
        # To the switch and from it: 3 ms of what is sent in 4 ms come later, of one pair of the two.
        for port in ("p0", "p1"):
            slow = {"a": port, "down": "2ms", "up": "6ms", "rate": "2.5Gbps"}
            longer = self.compare({"topology": "star"}, [slow], port, cuts=0)
            self.assertAlmostEqual(longer / MS, 3, delta=0.01)

    def test_a_cable_that_loses_frames_makes_them_be_sent_again(self):
        for name, lossy in (("between", {"a": "leaf0", "b": "spine0"}), ("host", {"a": "p2"})):
            failures = [lossy | {"down": "1ms", "up": "8ms", "loss": "0.1%"}]
            run = self.simulate({"topology": "leaf_spine", "leaves": 2, "spines": 1}, failures, name, "--twin")
            self.assert_delivered(run)
            lost = run.transport["retransmitted"]
            # 7 ms of 10 Gbit/s are about 2,090 packets of 4096 bytes, of which 2.1 are lost on the average, and as many of the
            # acknowledgements; each loss repeats what is on the way.
            self.assertGreater(lost, 0, name)

    def test_a_cable_that_stays_down_ends_the_run_with_the_reason(self):
        line = {
            "topology": "graph",
            "switches": ["s0", "s1"],
            "links": [{"a": "s0", "b": "s1"}],
            "hosts": [{"port": f"p{p}", "switch": f"s{p // 2}"} for p in range(4)],
        }
        run = self.simulate(line, [{"a": "s0", "b": "s1", "down": "5ms"}], "down", status=FAILED)
        self.assertEqual(run.summary["verdict"], "stalled")
        self.assertIn("waits for a cable to come back", run.summary["reason"])


if __name__ == "__main__":
    unittest.main()

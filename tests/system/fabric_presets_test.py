"""The published switches of `fabric.preset`, from the configuration to queues, marks and pauses: every figure that is
expected follows from the published ones alone. Virtual time.

N hosts send to one as fast as their lines allow and heed no marks. The queue to it then grows by (N - 1) times the line's
rate, and what is charged to each sender's input port by (N - 1) / N of it, u = t (N - 1) / N * rate, out of a buffer B. A
port asks for a pause when u > alpha (B - N u): at u = B / (N + 1 / alpha).
"""

import unittest

import chakra
from rankwire import RankwireTest

MIB = 1 << 20
HEADERS, OVERHEAD = 58, 24  # bytes of a packet beside its payload, without FCS, and what the line adds
DATA = 3  # DSCP 26
ANSWERS = 6  # DSCP 48
MICROSECOND = 1_000_000


class Presets(RankwireTest):
    def incast(self, preset, senders, rate, message, mtu=4096):
        self.frame, self.line = mtu + HEADERS, mtu + HEADERS + OVERHEAD
        prefix = self.folder / "gather"
        chakra.write_ranks(prefix, [[chakra.collective(chakra.GATHER, message)]] * (senders + 1))
        config = {
            "workload": {"traces": str(prefix)},
            "hosts": {"count": senders + 1, "npus": 1},
            "ports": {"count": senders + 1, "rate": f"{rate}Gbps"},
            "switch": {"latency": "100ns", "link_latency": "1us"},
            "fabric": {"topology": "star", "preset": preset},
            "transport": {
                "mtu": f"{mtu}B",
                "window": 1 << 14,
                "timeout": 18,
                "markings": {kind: {"dscp": 48} for kind in ("ack", "nak", "cnp")},
            },
            "record": {"fabric_interval": "1us", "fabric_rows": 1_000_000},
        }
        run = self.call("simulate", config, "--twin", out=f"{preset}{senders}")
        self.assert_delivered(run)
        self.assertEqual(sum(int(row["dropped"]) for row in run.rows("ports")), 0)
        self.assertEqual(run.transport["retransmitted"], 0)
        return run

    def assert_marks(self, run, least, most, at_most):
        """While the queue grows: no mark up to `least` bytes, every frame above `most`, and in between the share that rises
        to `at_most`, in the mean."""
        rows = run.rows("queues", name="switch.p0", priority=str(DATA))
        expected = marked = 0.0
        above = 0
        before = 0
        for row in rows:
            length, marks = int(row["queue_bytes"]), int(row["marks"])
            if length < before:
                break  # the senders pause
            arrived = self.arrived(length - before)
            if length <= least:
                self.assertEqual(marks, 0, row)
            elif before > most:
                # All that come in the interval, or leave: one frame more or less at either end.
                self.assertLessEqual(abs(marks - self.seen(arrived)), 2, row)
                above += 1
            elif before > least and length <= most:
                middle = (before + length) / 2
                expected += self.seen(arrived) * at_most * (middle - least) / (most - least)
                marked += marks
            before = length
        self.assertGreater(above, 10)
        # A sum of draws: its variance is below its mean; five standard deviations.
        print(f"between the thresholds {marked:.0f} marks, {expected:.1f} expected; {above} intervals above them")
        self.assertGreater(expected, 10)
        self.assertLess(abs(marked - expected), 5 * expected**0.5)

    def first_pause(self, run, senders):
        """When the ports of the senders first ask for a pause, after the first frame was queued, in ps."""
        rows = run.rows("queues", priority=str(DATA))
        begin = min(int(row["time_ps"]) for row in rows if int(row["queue_bytes"]) > 0)
        asked = [row for row in rows if int(row["xoff_tx"]) > 0]
        self.assertEqual({row["name"] for row in asked}, {f"switch.p{port + 1}" for port in range(senders)})
        return int(asked[0]["time_ps"]) - begin

    def test_tomahawk5(self):
        """SONiC for an Arista 7060X6: shared pool 165,660,324 B, alpha 1, WRED 1 MiB .. 2 MiB with 5 %, at enqueue."""
        byte_ps = 20
        run = self.incast("tomahawk5", 2, 400, 8 * MIB)
        # Between two samples what has left in 1 us has arrived besides; marks are made on what arrives.
        self.arrived = lambda growth: (growth + MICROSECOND / (self.line * byte_ps) * self.frame) / self.frame
        self.seen = lambda arrived: arrived
        self.assert_marks(run, 1 * MIB, 2 * MIB, 0.05)
        senders = 7
        run = self.incast("tomahawk5", senders, 400, 32 * MIB)
        charged = 165_660_324 / (senders + 1)
        expected = charged * self.line / self.frame * byte_ps * senders / (senders - 1)
        first = self.first_pause(run, senders)
        print(f"first pause after {first / 1e6:.1f} us, {expected / 1e6:.1f} expected")
        # The reserve, 18,796 B a port, comes before the shared pool.
        self.assertLess(abs(first / expected - 1), 0.01)

    def test_hpcc_ns3(self):
        """HPCC's simulator at 100 Gb/s: 12 MiB less 4 KiB and 3 x rate x latency a port, alpha 1/8; RED 400 KB .. 1600 KB
        with 20 %, at dequeue. That headroom is for packets of 1000 B, as it has them, and switches without latency."""
        senders, byte_ps = 4, 80
        run = self.incast("hpcc_ns3", senders, 100, 4 * MIB, mtu=1024)
        # Marks are made on what leaves, a frame in 88 ns.
        self.arrived = lambda growth: MICROSECOND / (self.line * byte_ps)
        self.seen = lambda left: left
        self.assert_marks(run, 400_000, 1_600_000, 0.2)
        buffer = 12 * MIB - (senders + 1) * (4096 + 3 * 12_500)
        charged = buffer / (senders + 8) + 4096
        expected = charged * self.line / self.frame * byte_ps * senders / (senders - 1)
        first = self.first_pause(run, senders)
        print(f"first pause after {first / 1e6:.1f} us, {expected / 1e6:.1f} expected")
        # The first sample is a microsecond wide, and so are frames and turns of 16 packets.
        self.assertLess(abs(first / expected - 1), 0.05)

    def test_the_watchdog_of_tomahawk5(self):
        """SONiC's pfcwd: 200 ms until it takes a queue, looking every quarter of that, and 200 ms until it gives it back."""
        prefix = self.folder / "pair"
        chakra.write_ranks(prefix, [[chakra.collective(chakra.ALL_GATHER, MIB)]] * 2)
        storm = {"action": "pause", "port": "p1", "priorities": [DATA], "interval": "50us", "until": "600ms"}
        config = {
            "workload": {"traces": str(prefix)},
            "hosts": {"count": 2, "npus": 1},
            "ports": {"count": 2, "rate": "400Gbps"},
            "fabric": {"topology": "star", "preset": "tomahawk5"},
            "transport": {"timeout": 17, "markings": {"ack": {"dscp": 48}, "nak": {"dscp": 48}}},
            "impairments": [storm],
            "run": {"stall_timeout": "10s"},
        }
        run = self.call("simulate", config, "--twin")
        (storm,) = run.summary["storms"]
        print(storm)
        self.assertEqual((storm["name"], storm["priority"]), ("switch.p1", DATA))
        self.assertGreaterEqual(storm["begin_ps"] - storm["stuck_ps"], 200_000 * MICROSECOND)
        self.assertLessEqual(storm["begin_ps"] - storm["stuck_ps"], 250_000 * MICROSECOND)
        # 65535 quanta at 400 Gb/s are 84 us beyond the last frame.
        self.assertGreaterEqual(storm["end_ps"], 799_000 * MICROSECOND)
        self.assertLessEqual(storm["end_ps"], 851_000 * MICROSECOND)


if __name__ == "__main__":
    unittest.main()

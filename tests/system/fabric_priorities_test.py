"""How switches of the fabric tell priorities, what they do to frames that cannot be marked, and how long they pause for.

Virtual time. Four ranks send a MiB each to a fifth behind the same switch, at 10 Gb/s.
"""

import collections
import unittest

import chakra
import pcapng
from rankwire import RankwireTest

MIB = 1 << 20
SENDERS = 4
MAC_CONTROL, PFC = b"\x88\x08", b"\x01\x01"
QUANTUM_PS = 51_200  # 512 bits at 10 Gb/s
BY_DSCP, BY_TAG = 3, 5  # the priority of data: DSCP 26, and that of the VLAN tag


class Incast(RankwireTest):
    def run_with(self, out, fabric, **sections):
        prefix = self.folder / "gather"
        chakra.write_ranks(prefix, [[chakra.collective(chakra.GATHER, MIB)]] * (SENDERS + 1))
        config = {
            "workload": {"traces": str(prefix)},
            "hosts": {"count": SENDERS + 1, "npus": 1},
            "ports": {"count": SENDERS + 1, "rate": "10Gbps"},
            "fabric": {"topology": "star"} | fabric,
            "transport": {"checking": True, "timeout": 12} | sections.pop("transport", {}),
            "record": {"fabric_interval": "10us", "capture": "64MiB"},
        } | sections
        run = self.call("simulate", config, "--twin", out=out)
        self.assert_delivered(run)
        return run

    def switch_ports(self, run, column):
        return sum(int(row[column]) for row in run.rows("ports") if row["name"].startswith("switch."))

    def paused(self, run):
        """The priorities in which the senders were paused."""
        senders = [row for row in run.rows("ports") if row["name"] in {f"p{p}" for p in range(1, SENDERS + 1)}]
        return {p for row in senders for p in range(8) if int(row[f"paused_{p}_ps"]) > 0}


class Priorities(Incast):
    LOSSLESS = {"shared": "2MiB", "xoff": "32KiB", "headroom": "64KiB"}

    def assert_lossless(self, out, priority, fabric, **sections):
        """Data is queued and paused in this priority alone, and nothing is lost."""
        run = self.run_with(out, {"lossless": [priority], "buffer": self.LOSSLESS} | fabric, **sections)
        queued = {int(row["priority"]) for row in run.rows("queues", name="switch.p0")}
        self.assertEqual(queued, {priority})
        self.assertEqual(self.paused(run), {priority})
        self.assertEqual(self.switch_ports(run, "dropped"), 0)
        self.assertEqual(run.transport["retransmitted"], 0)

    def test_trust_decides_the_queue_and_what_hosts_hold_back(self):
        """Data of DSCP 26 in frames with a VLAN tag of priority 5."""
        tagged = {"addresses": {"vlan": 7}, "transport": {"markings": {"data": {"dscp": 26, "priority": BY_TAG}}}}
        for trust, priority in (("dscp", BY_DSCP), ("pcp", BY_TAG)):
            with self.subTest(trust):
                self.assert_lossless(trust, priority, {"trust": trust}, **tagged)

    def test_without_a_tag_trust_in_tags_is_priority_0(self):
        self.assert_lossless("untagged", 0, {"trust": "pcp"})

    def test_a_map_of_dscp(self):
        self.assert_lossless("mapped", 6, {"dscp": [{"dscp": 26, "priority": 6}]})


class NotCapable(Incast):
    """Queues far above the thresholds of RED."""

    def run_with_red(self, out, not_capable, ecn, lossless=()):
        red = {"minimum": "20KB", "maximum": "40KB", "not_capable": not_capable}
        headroom = {"buffer": {"xoff": "200KiB", "headroom": "64KiB"}} if lossless else {}
        return self.run_with(out, {"ecn": red, "lossless": list(lossless)} | headroom, transport={"ecn": ecn})

    def counts(self, run):
        return [self.switch_ports(run, "marked"), self.switch_ports(run, "dropped"), run.transport["ecn_ce_rx"]]

    def test_pass(self):
        run = self.run_with_red("pass", "pass", ecn=False)
        self.assertEqual(self.counts(run), [0, 0, 0])
        self.assertEqual(run.transport["retransmitted"], 0)
        self.assertGreater(max(int(row["queue_bytes"]) for row in run.rows("queues")), 40_000)

    def test_drop(self):
        run = self.run_with_red("drop", "drop", ecn=False)
        marked, dropped, arrived = self.counts(run)
        self.assertEqual((marked, arrived), (0, 0))
        self.assertGreater(dropped, 0)
        self.assertGreaterEqual(run.transport["retransmitted"], dropped)
        # Above the maximum nothing gets in any more: the frame that comes below it, and a frame of 4154 B, at most.
        self.assertLess(max(int(row["queue_bytes"]) for row in run.rows("queues")), 40_000 + 4154)
        # It is RED that drops them, in the output queue.
        self.assertEqual(sum(int(row["drops"]) for row in run.rows("queues", name="switch.p0")), dropped)

    def test_what_can_be_marked_is_not_dropped(self):
        marked, dropped, arrived = self.counts(self.run_with_red("capable", "drop", ecn=True))
        self.assertEqual(dropped, 0)
        self.assertGreater(marked, 0)
        self.assertEqual(arrived, marked)

    def test_lossless_priorities_lose_nothing(self):
        self.assertEqual(self.counts(self.run_with_red("lossless", "drop", ecn=False, lossless=[BY_DSCP])), [0, 0, 0])


class PauseQuanta(Incast):
    def run_with_quanta(self, quanta):
        """The run, and by sender the PFC frames that went to it: (time in ps, quanta of the priority of data)."""
        buffer = {"shared": "2MiB", "xoff": "32KiB", "headroom": "64KiB"}
        run = self.run_with(f"quanta{quanta}", {"lossless": [BY_DSCP], "buffer": buffer, "pause_quanta": quanta})
        self.assertEqual(self.switch_ports(run, "dropped"), 0)
        interfaces, packets = pcapng.read(run.folder / "capture.pcapng")
        unit = {name: 10 ** (12 - exponent) for name, exponent in interfaces}
        frames = collections.defaultdict(list)
        for packet in packets:
            frame = packet.data
            if packet.direction != pcapng.OUTBOUND or frame[12:16] != MAC_CONTROL + PFC:
                continue
            self.assertEqual(int.from_bytes(frame[16:18], "big"), 1 << BY_DSCP)
            asked = int.from_bytes(frame[18 + 2 * BY_DSCP : 20 + 2 * BY_DSCP], "big")
            frames[packet.interface.removeprefix("switch.")].append((packet.time * unit[packet.interface], asked))
        self.assertEqual(set(frames), {f"p{p}" for p in range(1, SENDERS + 1)})
        self.assertEqual(sum(map(len, frames.values())), run.transport["pause_rx"])
        return run, frames

    def test_an_xoff_asks_for_them_and_is_repeated_in_time(self):
        completed, repeated = set(), {}
        for quanta in (65535, 1000, 200):
            run, frames = self.run_with_quanta(quanta)
            half = quanta * QUANTUM_PS // 2
            gaps = collections.Counter()
            for port, told in frames.items():
                self.assertEqual({asked for _, asked in told}, {quanta, 0})
                paused = 0
                for (begin, asked), (end, next_asked) in zip(told, told[1:]):
                    if asked == 0:
                        continue
                    # Until it is told so again or that it may go on, so that no pause ends by itself.
                    self.assertLessEqual(end - begin, half)
                    paused += end - begin
                    gaps[end - begin] += next_asked > 0
                (row,) = run.rows("ports", name=port)
                self.assertEqual(told[-1][1], 0)
                self.assertEqual(int(row[f"paused_{BY_DSCP}_ps"]), paused)
            repeated[quanta] = gaps.total()
            if quanta == 200:
                self.assertEqual(gaps.most_common(1)[0][0], half)
            completed.add(run.summary["emulated"]["completion_time_ps"])
        print(f"frames that repeat an XOFF: {repeated}")
        # Half of them are 1.68 ms, and the run takes 3.43.
        self.assertLessEqual(repeated[65535], 2 * SENDERS)
        self.assertGreater(repeated[1000], repeated[65535])
        self.assertGreater(repeated[200], repeated[1000])
        self.assertEqual(len(completed), 1, "how long they ask for changes nothing else")


if __name__ == "__main__":
    unittest.main()

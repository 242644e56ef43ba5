"""Shares of an output port by deficit round robin and strict priority, of a buffer by dynamic thresholds, and flowlets: from
the configuration to the frames that left the switches. Virtual time.
"""

import bisect
import collections
import unittest

import chakra
import ecmp
import pcapng
from rankwire import RankwireTest

KIB, MIB = 1 << 10, 1 << 20
DATA, ANSWERS = 3, 6  # DSCP 26 and 48
LINE_OVERHEAD = 24  # FCS, preamble and gap, which captured lengths leave out


class Shares(RankwireTest):
    """Rank 0 sends to rank 1 while ranks 2 and 3 send to rank 0, in packets of 256 B that are all acknowledged.

    The port to rank 0 then has more data than it can carry. On the line a packet is 338 B and an acknowledgement 86. If the
    port gives acknowledgements the part a of the line, it gives data 1 - a; for that rank 0 sends (1 - a) 86/338 of
    acknowledgements, beside which it has 1 - (1 - a) 86/338 for data, whose acknowledgements take 86/338 of that. So they
    never want more than WANTED. Where the scheduler gives them less they wait, and the weights decide.
    """

    RATE = 10_000_000_000
    RATIO = 86 / 338
    WANTED = RATIO * (1 - RATIO) / (1 - RATIO**2)

    def shares(self, out, **fabric):
        """What data and acknowledgements have of the port to rank 0 while everybody sends: part of the line, and bytes."""
        prefix = self.folder / "streams"
        pairs = [(0, 1), (2, 0), (3, 0)]
        ranks = []
        for rank in range(4):
            nodes = []
            for source, destination in pairs:
                if rank in (source, destination):
                    ends = {"comm_src": source, "comm_dst": destination, "comm_size": 4 * MIB}
                    kind = chakra.SEND if rank == source else chakra.RECEIVE
                    nodes.append(chakra.Node(len(nodes), f"from{source}", kind, attributes=ends))
            ranks.append(nodes)
        chakra.write_ranks(prefix, ranks)
        config = {
            "workload": {"traces": str(prefix)},
            "hosts": {"count": 4, "npus": 1},
            "ports": {"count": 4, "rate": f"{self.RATE}bps"},
            "fabric": {"topology": "star"} | fabric,
            "transport": {
                "mtu": "256B",
                "window": 4096,
                "ack_every": 1,
                "timeout": 18,
                "markings": {kind: {"dscp": 48} for kind in ("ack", "nak", "cnp")},
            },
            "record": {"capture": "64MiB"},
        }
        run = self.call("simulate", config, "--twin", out=out)
        self.assert_delivered(run)
        self.assertEqual(run.transport["retransmitted"], 0)
        _, packets = pcapng.read(run.folder / "capture.pcapng")
        left = [p for p in packets if p.interface == "switch.p0" and p.direction == pcapng.OUTBOUND and ecmp.parse(p.data)]
        self.assertEqual([p.time for p in left], sorted(p.time for p in left))
        # 3 ms in the middle of everything: a round of the scheduler takes 16 KiB times the sum of the weights, 13 us each.
        left = [p for p in left if 500_000_000 <= p.time < 3_500_000_000]
        line, size = collections.Counter(), collections.Counter()
        for packet in left:
            priority = packet.data[15] >> 5
            line[priority] += (packet.length + LINE_OVERHEAD) * 8 / (self.RATE * 3e-3)
            size[priority] += packet.length
        self.assertLessEqual(line.keys(), {DATA, ANSWERS})
        return line, size

    def test_weights(self):
        for data, answers in ((9, 1), (19, 1), (1, 1)):
            with self.subTest(data=data, answers=answers):
                weights = [1] * 8
                weights[DATA], weights[ANSWERS] = data, answers
                line, size = self.shares(f"weights{data}", weights=weights)
                share = size[ANSWERS] / size.total()
                print(f"weights {data}:{answers}: {share:.4f} of the bytes and {line[ANSWERS]:.4f} of the line answer")
                self.assertGreater(line.total(), 0.999)
                if answers / (data + answers) < self.WANTED:
                    # Half a per cent of the bytes is one turn, 16 KiB.
                    self.assertLess(abs(share - answers / (data + answers)), 0.01)
                else:
                    self.assertLess(abs(line[ANSWERS] - self.WANTED), 0.002)

    def test_strict_priority(self):
        line, _ = self.shares("strict", strict=[ANSWERS])
        self.assertLess(abs(line[ANSWERS] - self.WANTED), 0.002)
        self.assertGreater(line.total(), 0.999)
        # The other way round acknowledgements have to wait until the data has been sent.
        line, _ = self.shares("starved", strict=[DATA])
        self.assertGreater(line[DATA], 0.999)
        self.assertEqual(line[ANSWERS], 0)


class DynamicThreshold(RankwireTest):
    """Three ranks send to one through a lossy switch: its queue may hold alpha times what is free of the buffer."""

    SHARED, FRAME = MIB, 4154

    def longest(self, alpha, out):
        prefix = self.folder / "gather"
        chakra.write_ranks(prefix, [[chakra.collective(chakra.GATHER, 2 * MIB)]] * 4)
        config = {
            "workload": {"traces": str(prefix)},
            "hosts": {"count": 4, "npus": 1},
            "ports": {"count": 4, "rate": "10Gbps"},
            "fabric": {"topology": "star", "buffer": {"shared": f"{self.SHARED}B", "egress_alpha": alpha}},
            "transport": {"window": 1024},
            "record": {"fabric_interval": "1us", "fabric_rows": 100_000},
        }
        run = self.call("simulate", config, "--twin", out=out)
        self.assert_delivered(run)
        self.assertGreater(sum(int(row["dropped"]) for row in run.rows("ports")), 0)
        return max(int(row["queue_bytes"]) for row in run.rows("queues", name="switch.p0"))

    def test_a_queue_alone_settles_where_the_formula_says(self):
        # q = alpha (B - q), from which it follows that q = B alpha / (1 + alpha).
        for alpha, share in (("1/4", 1 / 5), ("1", 1 / 2), ("4", 4 / 5)):
            with self.subTest(alpha=alpha):
                longest = self.longest(alpha, f"alpha{share}")
                print(f"alpha {alpha}: {longest} of {self.SHARED * share:.0f} B")
                # The limit and the queue move by whole frames.
                self.assertLess(abs(longest - self.SHARED * share), 3 * self.FRAME)


class Flowlets(RankwireTest):
    """Two leaves and four spines; eight ranks send to the other leaf, four times each with a pause of 200 us before it."""

    SPINES, HOSTS, GAP_PS = 4, 8, 50_000_000

    def uplinks_of_flows(self, out, **balancing):
        """By flow: when each of its frames came to its leaf, and by which uplink it left."""
        prefix = self.folder / "phases"
        ranks = []
        for rank in range(self.HOSTS):
            to = (rank + self.HOSTS // 2) % self.HOSTS
            nodes = []
            for phase in range(16):
                pause = chakra.Node(3 * phase, f"pause{phase}", chakra.COMPUTE, list(range(3 * phase)), 200)
                send = {"comm_src": rank, "comm_dst": to, "comm_size": 64 * KIB, "comm_tag": phase}
                receive = {"comm_src": to, "comm_dst": rank, "comm_size": 64 * KIB, "comm_tag": phase}
                nodes += [
                    pause,
                    chakra.Node(3 * phase + 1, f"send{phase}", chakra.SEND, [3 * phase], attributes=send),
                    chakra.Node(3 * phase + 2, f"receive{phase}", chakra.RECEIVE, [3 * phase], attributes=receive),
                ]
            ranks.append(nodes)
        chakra.write_ranks(prefix, ranks)
        config = {
            "seed": 3,
            "workload": {"traces": str(prefix)},
            "hosts": {"count": self.HOSTS, "npus": 1},
            "ports": {"count": self.HOSTS, "rate": "10Gbps"},
            "fabric": {"topology": "leaf_spine", "leaves": 2, "spines": self.SPINES, "balancing": balancing},
            "record": {"capture": "64MiB"},
        }
        run = self.call("simulate", config, "--twin", out=out)
        self.assert_delivered(run)
        _, packets = pcapng.read(run.folder / "capture.pcapng")
        # A packet is known by its flow, its opcode and its PSN: nothing is sent again.
        self.assertEqual(run.transport["retransmitted"], 0)
        came, left = {}, {}
        for packet in packets:
            flow = ecmp.parse(packet.data)
            if flow is None:
                continue
            key = (flow, packet.data[42:54])
            if packet.direction == pcapng.INBOUND:
                came[key] = packet.time
            elif packet.interface.startswith("leaf") and ".spine" in packet.interface:
                left[key] = packet.interface
        self.assertEqual(came.keys(), left.keys())
        flows = collections.defaultdict(list)
        for key, time in came.items():
            bisect.insort(flows[key[0]], (time, left[key]))
        return flows

    def test_a_flow_moves_only_after_a_gap(self):
        flows = self.uplinks_of_flows("flowlets", spreading="flowlet", flowlet_gap=f"{self.GAP_PS}ps")
        gaps = moves = 0
        for frames in flows.values():
            for (before, old), (after, new) in zip(frames, frames[1:]):
                if after - before < self.GAP_PS:
                    self.assertEqual(old, new)
                else:
                    gaps += 1
                    moves += old != new
        print(f"{len(flows)} flows, {gaps} gaps, {moves} moves to another uplink")
        # Data and acknowledgements of eight pairs, with 15 pauses each.
        self.assertEqual(gaps, 2 * self.HOSTS * 15)
        # At random to one of four: 3/4 of them move, 180 of 240, with a standard deviation of 6.7; five of them.
        self.assertLess(abs(moves - gaps * 3 / 4), 34)

    def test_a_gap_that_is_never_reached(self):
        for name, balancing in (("long", {"spreading": "flowlet", "flowlet_gap": "1s"}), ("flow", {"spreading": "flow"})):
            with self.subTest(name):
                flows = self.uplinks_of_flows(name, **balancing)
                self.assertTrue(all(len({uplink for _, uplink in frames}) == 1 for frames in flows.values()))


if __name__ == "__main__":
    unittest.main()

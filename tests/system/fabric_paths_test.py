"""Which way frames go through a fabric: captured frames, and the paths that they must take, computed apart from rankwire.

Two leaves and four spines with two cables each, so that a leaf has eight uplinks; eight ranks, four behind each leaf, send
everything to everybody. Virtual time; nothing is lost, so what entered is what passed the links.
"""

import collections
import unittest

import chakra
import ecmp
import pcapng
from rankwire import RankwireTest

MIB = 1 << 20
LEAVES, SPINES, CABLES, HOSTS = 2, 4, 2, 8
SEED = 11


def leaf_of(host):
    return host // (HOSTS // LEAVES)


def uplinks(leaf):
    """In the order of the cables: spine by spine, from each leaf in turn its parallel cables."""
    return [f"leaf{leaf}.spine{spine}#{cable}" for spine in range(SPINES) for cable in range(CABLES)]


def downlinks(spine, leaf):
    return [f"spine{spine}.leaf{leaf}#{cable}" for cable in range(CABLES)]


def fairness(loads):
    """Jain, Chiu and Hawe 1984."""
    return sum(loads) ** 2 / (len(loads) * sum(load * load for load in loads))


class Paths(RankwireTest):
    def config(self, neighbours="static", **fabric):
        prefix = self.folder / "all_to_all"
        chakra.write_ranks(prefix, [[chakra.collective(chakra.ALL_TO_ALL, 4 * MIB)]] * HOSTS)
        return {
            "seed": SEED,
            "workload": {"traces": str(prefix)},
            "hosts": {"count": HOSTS, "npus": 1},
            "ports": {"count": HOSTS, "rate": "10Gbps"},
            "fabric": {"topology": "leaf_spine", "leaves": LEAVES, "spines": SPINES, "parallel": CABLES} | fabric,
            "transport": {"queue_pairs": 4, "checking": True, "neighbours": neighbours},
            "record": {"capture": "64MiB"},
        }

    def twin(self, verb="simulate", neighbours="static", **fabric):
        """The run and what its hosts sent, as (host, frame, flow), without what is flooded: where addresses are resolved,
        announcements and requests."""
        run = self.call(verb, self.config(neighbours, **fabric), *(["--twin"] if verb == "simulate" else []))
        self.assert_delivered(run)
        self.assertEqual(run.summary["warnings"], [])
        interfaces, packets = pcapng.read(run.folder / "capture.pcapng")
        self.assertEqual({exponent for _, exponent in interfaces}, {12})
        names = [row["name"] for row in run.rows("ports") if "." in row["name"]]
        self.assertEqual([name for name, _ in interfaces], names)
        entered = [packet for packet in packets if packet.direction == pcapng.INBOUND]
        hosts = [name for name in names if name.split(".")[1].startswith("p")]
        sent = [(hosts.index(p.interface), p, ecmp.parse(p.data)) for p in entered]
        others = sum(flow is None for _, _, flow in sent)
        if neighbours == "static":  # the fabric is told its stations
            self.assertEqual(others, 0)
        else:  # one announcement a host, and what it asks
            self.assertGreater(others, HOSTS)
        sent = [entry for entry in sent if entry[2] is not None]
        self.assertEqual(len(sent), run.transport["packets_tx"])
        return run, packets, sent

    def loads(self, run):
        """Frames and bytes that each port of a switch sent, floods included."""
        return {row["name"]: (int(row["tx_frames"]), int(row["tx_bytes"])) for row in run.rows("ports") if "." in row["name"]}

    def predicted(self, sent, with_queue_pair, shared):
        """Frames and bytes by port, from the frames that hosts sent."""
        host_of = {packet.data[6:12]: host for host, packet, _ in sent}
        frames, size = collections.Counter(), collections.Counter()
        for source, packet, flow in sent:
            target = host_of[flow.destination_mac]
            here, there = leaf_of(source), leaf_of(target)
            path = [f"leaf{there}.p{target}"]
            if here != there:
                up = uplinks(here)[ecmp.member(flow, SEED, here, SPINES * CABLES, with_queue_pair, shared)]
                spine = int(up.split(".spine")[1].split("#")[0])
                down = downlinks(spine, there)
                path += [up, down[ecmp.member(flow, SEED, LEAVES + spine, CABLES, with_queue_pair, shared)]]
            for port in path:
                frames[port] += 1
                size[port] += packet.length
        return frames, size

    def assert_as_predicted(self, run, packets, sent, with_queue_pair, shared=False):
        frames, size = self.predicted(sent, with_queue_pair, shared)
        # What is no packet of the run, as the capture has it on the way out.
        flooded, flooded_bytes = collections.Counter(), collections.Counter()
        carried = collections.Counter()
        for packet in packets:
            if packet.direction != pcapng.OUTBOUND:
                continue
            if ecmp.parse(packet.data) is None:
                flooded[packet.interface] += 1
                flooded_bytes[packet.interface] += packet.length
            else:
                carried[packet.interface] += 1
        self.assertFalse(carried - frames, "frames where they should not be")
        if run.transport["retransmitted"] > 0:  # in real time: copies may have been on their way when the run ended
            return []
        self.assertEqual(carried, frames)
        for name, (tx_frames, tx_bytes) in self.loads(run).items():
            self.assertEqual(tx_frames - flooded[name], frames[name], name)
            self.assertEqual(tx_bytes - flooded_bytes[name], size[name], name)
        used = [frames[name] for leaf in range(LEAVES) for name in uplinks(leaf)]
        print(f"hash_queue_pair {with_queue_pair}: {sum(frames.values())} hops as predicted, uplinks {used}")
        return used

    def test_flows_take_the_paths_of_their_hashes(self):
        for with_queue_pair in (False, True):
            with self.subTest(hash_queue_pair=with_queue_pair):
                run, packets, sent = self.twin(balancing={"hash_queue_pair": with_queue_pair})
                used = self.assert_as_predicted(run, packets, sent, with_queue_pair)
                # 2 x 16 pairs of hosts on different leaves, 4 queue pairs each, and their answers.
                flows = {flow for host, _, flow in sent}
                self.assertEqual(len(flows), 2 * 8 * 7 * 4)
                self.assertLess(fairness(used), 0.999)

    def test_shared_seeds_polarise(self):
        """A spine repeats the choice that a leaf made by the same number: of its two cables it uses one."""
        run, packets, sent = self.twin(balancing={"seeds": "shared"})
        self.assert_as_predicted(run, packets, sent, False, shared=True)
        loads = self.loads(run)
        for spine in range(SPINES):
            for leaf in range(LEAVES):
                used = [loads[name][0] > 0 for name in downlinks(spine, leaf)]
                self.assertEqual(used, [spine < SPINES // 2, spine >= SPINES // 2])

    def test_in_real_time_too(self):
        run, packets, sent = self.twin("run", "resolve")
        self.assert_as_predicted(run, packets, sent, False)

    def test_spraying_uses_all_uplinks_alike(self):
        run, packets, sent = self.twin(balancing={"spreading": "packet"})
        loads = self.loads(run)
        for leaf in range(LEAVES):
            frames, size = ([loads[name][unit] for name in uplinks(leaf)] for unit in (0, 1))
            print(f"leaf{leaf}: frames {frames}, Jain {fairness(frames):.6f}; bytes {size}, Jain {fairness(size):.4f}")
            self.assertGreaterEqual(fairness(frames), 0.99)
            self.assertGreaterEqual(fairness(size), 0.99)

    def test_sprayed_writes_are_placed_out_of_order(self):
        """Uplinks that are too slow have queues of different lengths, so packets of one flow overtake each other."""
        ratios = []
        for reach in (0, 512):
            config = self.config(balancing={"spreading": "packet"}, link_rate="4Gbps")
            config["transport"] |= {"queue_pairs": 1, "out_of_order": reach}
            run = self.call("simulate", config, "--twin")
            self.assert_delivered(run)
            details = run.summary["transport_details"]
            ratios.append(run.summary["ratio"])
            print(f"out_of_order {reach}: {run.transport['retransmitted']} packets sent again, "
                  f"{details['placed_out_of_order']} placed out of order, ratio {ratios[-1]:.3f}")
            self.assertEqual(run.transport["retransmitted"] > 0, reach == 0)
            self.assertEqual(details["placed_out_of_order"] > 0, reach > 0)
        self.assertLess(ratios[1], ratios[0])

    def test_a_capture_that_is_full_says_so(self):
        path = self.configuration(self.config())
        run = self.call("simulate", path, "--twin", "--set", "record.capture=1MiB")
        _, packets = pcapng.read(run.folder / "capture.pcapng")
        (warning,) = run.summary["warnings"]
        left_out = int(warning.split(" frames")[0].split()[-1])
        self.assertIn("record.capture", warning)
        # Hosts send once; a switch sends on each hop.
        hops = sum(frames for frames, _ in self.loads(run).values())
        entered = sum(int(row["rx_frames"]) for row in run.rows("ports") if row["name"].split(".")[-1].startswith("p") and "." in row["name"])
        self.assertEqual(len(packets) + left_out, hops + entered)
        self.assertLessEqual(sum(32 + (len(packet.data) + 3) // 4 * 4 + 12 for packet in packets), 1 << 20)


class Rails(RankwireTest):
    """Eight NICs on two rails, four to a group: what two of a leaf send each other stays there, all else takes a spine."""

    RAILS, GROUP, SPINES = 2, 2, 2

    def leaf(self, port):
        return f"group{port // (self.RAILS * self.GROUP)}.rail{port % self.RAILS}"

    def test_traffic_within_a_rail_and_group_stays_below_the_spines(self):
        prefix = self.folder / "all_to_all"
        chakra.write_ranks(prefix, [[chakra.collective(chakra.ALL_TO_ALL, MIB)]] * HOSTS)
        config = {
            "workload": {"traces": str(prefix)},
            "hosts": {"count": HOSTS, "npus": 1},
            "ports": {"count": HOSTS, "rate": "10Gbps"},
            "fabric": {"topology": "rail", "rails": self.RAILS, "group": self.GROUP, "spines": self.SPINES},
            "record": {"capture": "64MiB"},
        }
        run = self.call("simulate", config, "--twin")
        self.assert_delivered(run)
        _, packets = pcapng.read(run.folder / "capture.pcapng")
        entered = [p for p in packets if p.direction == pcapng.INBOUND]
        # The port of a host is the last part of its interface's name, and its MAC address that of what it sends.
        port_of = {packet.data[6:12]: int(packet.interface.split(".p")[1]) for packet in entered}
        up, down, below = collections.Counter(), collections.Counter(), collections.Counter()
        for packet in entered:
            here, there = self.leaf(port_of[packet.data[6:12]]), self.leaf(port_of[packet.data[:6]])
            if here == there:
                below[here] += 1
            else:
                up[here] += 1
                down[there] += 1
        # Seven of eight pairs of ports; each NIC has one neighbour on its leaf.
        self.assertEqual(sum(up.values()), 6 * sum(below.values()))
        rows = {row["name"]: int(row["tx_frames"]) for row in run.rows("ports", fidelity="twin")}
        for leaf in {self.leaf(port) for port in range(HOSTS)}:
            spines = [f"spine{spine}" for spine in range(self.SPINES)]
            self.assertEqual(sum(rows[f"{leaf}.{spine}"] for spine in spines), up[leaf])
            self.assertEqual(sum(rows[f"{spine}.{leaf}"] for spine in spines), down[leaf])
        self.assertEqual(len(rows), 2 * HOSTS + 2 * 4 * self.SPINES)


if __name__ == "__main__":
    unittest.main()

"""Conservation of frames: what leaves one end of a wire arrives at the other, and the switch loses what it says.

Exact in virtual time. Over all ports of the switch, rx + flood copies = tx + dropped (dataplane/switch/virtual_fabric.h): the
only frames it floods are the announcements (one gratuitous ARP a NIC), each to all ports but its own, so that P ports
add P - 2 copies to each.
"""

import unittest

import chakra
from rankwire import RankwireTest

MIB = 1 << 20


class FrameAccounting(RankwireTest):
    def run_twin(self, kind, ranks, **switch):
        prefix = self.folder / f"{kind}.{ranks}"
        chakra.write_ranks(prefix, [[chakra.collective(kind, 4 * MIB)]] * ranks)
        config = {
            "workload": {"traces": str(prefix)},
            "hosts": {"count": ranks, "npus": 1},
            "ports": {"count": ranks, "rate": "10Gbps"},
            "switch": switch,
            "transport": {"checking": True, "timeout": 11},
        }
        run = self.call("simulate", config, "--twin")
        self.assert_delivered(run)
        return run

    def ports(self, run, side):
        """Frame counters by port number, of the generator's or of the switch's side."""
        rows = run.rows("ports", fidelity="twin")
        rows = [row for row in rows if row["name"].startswith("switch.") == (side == "switch")]
        return {int(row["port"]): {name: int(text) for name, text in row.items() if text.isdigit()} for row in rows}

    def assert_conserved(self, run, ranks, copies):
        generator, switch = self.ports(run, "generator"), self.ports(run, "switch")
        self.assertEqual(sorted(generator), list(range(ranks)))
        self.assertEqual(sorted(switch), list(range(ranks)))
        for port in range(ranks):
            for unit in ("frames", "bytes"):
                self.assertEqual(generator[port][f"tx_{unit}"], switch[port][f"rx_{unit}"], f"port {port}")
                self.assertEqual(generator[port][f"rx_{unit}"], switch[port][f"tx_{unit}"], f"port {port}")
            self.assertEqual(generator[port]["rx_missed"], 0)
        of_switch = {name: sum(row[name] for row in switch.values()) for name in switch[0]}
        self.assertEqual(of_switch["rx_frames"] + copies, of_switch["tx_frames"] + of_switch["dropped"])
        # Beside RoCEv2 packets there are the announcements only, and their copies.
        self.assertEqual(sum(row["tx_frames"] for row in generator.values()), run.transport["packets_tx"] + ranks)
        return of_switch["dropped"]

    def test_without_loss(self):
        for kind, ranks in ((chakra.ALL_REDUCE, 4), (chakra.ALL_TO_ALL, 4), (chakra.ALL_GATHER, 2)):
            with self.subTest(kind=kind, ranks=ranks):
                run = self.run_twin(kind, ranks)
                self.assertEqual(self.assert_conserved(run, ranks, copies=ranks * (ranks - 2)), 0)
                # Every packet that is sent arrives.
                self.assertEqual(run.transport["packets_rx"], run.transport["packets_tx"])
                self.assertEqual(run.transport["retransmitted"], 0)
                # 4 MiB of 4096 B: each of the parts is a whole number of packets.
                self.assertEqual(run.transport["data_packets_tx"], run.summary["bytes_wire"] // 4096)

    def test_with_random_loss(self):
        # Two ports: whatever is flooded because its announcement was lost goes to one port, and adds no copy.
        run = self.run_twin(chakra.ALL_REDUCE, 2, loss="1%")
        dropped = self.assert_conserved(run, 2, copies=0)
        sent = run.transport["packets_tx"]
        # Binomial with p = 1 %: 6 standard deviations about the mean.
        self.assertLess(abs(dropped - 0.01 * sent), 6 * (0.01 * 0.99 * sent) ** 0.5)
        self.assertGreater(run.transport["retransmitted"], 0)

    def test_with_tail_drop(self):
        # Three ranks send windows of 64 x 4 KiB to the root's port, whose queue holds one of them.
        run = self.run_twin(chakra.GATHER, 4, buffer="256KiB")
        dropped = self.assert_conserved(run, 4, copies=4 * 2)
        self.assertGreater(dropped, 0)
        self.assertGreaterEqual(run.transport["retransmitted"], dropped)
        root = [int(row["dropped"]) for row in run.rows("ports", fidelity="twin", name="switch.p0")]
        self.assertEqual(root, [dropped])


if __name__ == "__main__":
    unittest.main()

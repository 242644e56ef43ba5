"""Ports that pause and are paused, and what switches make of frames, from the configuration to the record. Virtual time."""

import unittest

import chakra
from rankwire import RankwireTest

MIB = 1 << 20
FRAME = 4154  # bytes of a full packet without FCS
DATA = 3  # DSCP 26
BYTE_PS = 800  # at 10 Gb/s


class SlowReceiver(RankwireTest):
    """Rank 0 sends 4 MiB to rank 1, whose NIC takes 4 of 10 Gb/s."""

    DRAIN = 4_000_000_000

    def run_with(self, out, pfc="auto", **fabric):
        prefix = self.folder / "send"
        ends = {"comm_src": 0, "comm_dst": 1, "comm_size": 4 * MIB}
        chakra.write_ranks(
            prefix, [[chakra.Node(0, "stream", kind, attributes=ends)] for kind in (chakra.SEND, chakra.RECEIVE)]
        )
        slow = {"drain_rate": f"{self.DRAIN}bps", "receive_buffer": "256KiB", "pfc": pfc}
        config = {
            "workload": {"traces": str(prefix)},
            "hosts": {"count": 2, "npus": 1},
            "ports": [{"name": "fast", "rate": "10Gbps"}, {"name": "slow", "rate": "10Gbps"} | slow],
            "fabric": {"topology": "star", "lossless": [DATA], "buffer": {"xoff": "64KiB", "headroom": "64KiB"}},
            "transport": {"checking": True, "window": 1024, "timeout": 12},
        }
        run = self.call("simulate", config, "--twin", out=out)
        self.assert_delivered(run)
        return run, {row["name"]: row for row in run.rows("ports", fidelity="twin")}

    def test_it_pauses_its_sender(self):
        run, ports = self.run_with("paused")
        for name in ("retransmitted", "naks", "timeouts"):
            self.assertEqual(run.transport[name], 0, name)
        self.assertNotIn("receive_buffer_drops", run.summary["transport_details"])
        # It pauses the switch, whose queue grows until it pauses the sender, each in the priority of data alone.
        self.assertGreater(int(ports["slow"]["pause_tx"]), 0)
        self.assertEqual(ports["switch.slow"]["pause_rx"], ports["slow"]["pause_tx"])
        self.assertGreater(int(ports["fast"]["pause_rx"]), 0)
        self.assertEqual(ports["fast"]["pause_rx"], ports["switch.fast"]["pause_tx"])
        for name in ("switch.slow", "fast"):
            self.assertEqual([p for p in range(8) if int(ports[name][f"paused_{p}_ps"]) > 0], [DATA], name)
        # All but what the buffer holds in the end, 256 KiB at most, has drained: 34.0 Mbit at 4 Gb/s.
        drained = 1024 * FRAME * 8e12 / self.DRAIN
        held = (256 << 10) * 8e12 / self.DRAIN
        completion = run.summary["emulated"]["completion_time_ps"]
        print(f"completed after {completion / 1e9:.3f} ms; drained after {drained / 1e9:.3f} ms")
        self.assertGreater(completion, drained - held)
        self.assertLess(completion, 1.02 * drained)

    def test_without_flow_control_its_buffer_overflows(self):
        run, ports = self.run_with("overflow", pfc="off")
        self.assertEqual(ports["slow"]["pause_tx"], "0")
        self.assertEqual(ports["fast"]["pause_rx"], "0")
        dropped = run.summary["transport_details"]["receive_buffer_drops"]
        print(f"{dropped} frames dropped, {run.transport['retransmitted']} packets sent again")
        self.assertGreater(dropped, 0)
        self.assertGreater(run.transport["retransmitted"], 0)


class Forwarding(RankwireTest):
    """One packet from one leaf to another: three switches, each 1 us, and four cables of 100 ns at 10 Gb/s."""

    def delivered(self, forwarding):
        prefix = self.folder / "packet"
        ends = {"comm_src": 0, "comm_dst": 1, "comm_size": 4096}
        chakra.write_ranks(
            prefix, [[chakra.Node(0, "packet", kind, attributes=ends)] for kind in (chakra.SEND, chakra.RECEIVE)]
        )
        config = {
            "workload": {"traces": str(prefix)},
            "hosts": {"count": 2, "npus": 1},
            "ports": {"count": 2, "rate": "10Gbps"},
            "fabric": {"topology": "leaf_spine", "leaves": 2, "spines": 1, "forwarding": forwarding},
        }
        run = self.call("simulate", config, "--twin", out=forwarding)
        self.assert_delivered(run)
        (flow,) = run.rows("flows", fidelity="twin")
        return int(flow["max_ps"])

    def test_store_and_forward_and_cut_through(self):
        # Ethernet 14, IPv4 20, UDP 8, BTH 12, RETH 16, immediate 4, 4096 of payload, ICRC 4. On the line 24 more: FCS,
        # preamble and gap.
        frame = 14 + 20 + 8 + 12 + 16 + 4 + 4096 + 4
        cables, switches = 4 * 100_000, 3 * 1_000_000
        times = {forwarding: self.delivered(forwarding) for forwarding in ("store_and_forward", "cut_through")}
        print(times)
        whole, beginning = (frame + 24) * BYTE_PS, (64 + 24) * BYTE_PS
        self.assertEqual(times["store_and_forward"], 4 * whole + cables + switches)
        # A switch begins to count when it has 64 bytes.
        self.assertEqual(times["cut_through"], whole + 3 * beginning + cables + switches)


if __name__ == "__main__":
    unittest.main()

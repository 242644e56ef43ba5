"""rankwire over RDMA devices alone, in a guest: every rank behind a port of its own, all ports the same soft-RoCE
device, whose queue pairs the kernel connects with each other. Payloads are compared at the receiving end."""

import unittest

from rankwire_guest import LINK_MTU, RANKS, GuestTest, chakra, collectives, gpt3
from verbs_matrix import MTUS, WAYS, VerbsMatrix

ADDRESSES = {"IPv4": "10.7.0.{}/24", "IPv6": "2001:db8:7::{}/64"}
TIMEOUT = 18  # 4.096 us x 2^18 = 1.1 s: the guest is slow
DEVICE = "rxe0"

# A queue that several share, and queues that are nearly empty.
OWN_WAYS = {
    "send_imm, a shared receive queue": {"verb": "send_imm", "verbs": {"shared_receive_queue": True}},
    "write_imm, 2 receives, few signalled": {"receive_queue": 2, "verbs": {"signal_every": 64}},
}


class Verbs(VerbsMatrix, GuestTest):
    axes = {"family": ADDRESSES, "mtu": MTUS}
    ways = WAYS | OWN_WAYS

    @classmethod
    def make_network(cls, guest):
        guest.do("ip link add d0 mtu " + str(LINK_MTU) + " type dummy", "ip link set d0 up")
        addresses = [text.format(rank + 1) for text in ADDRESSES.values() for rank in range(RANKS)]
        guest.make_rdma_device(DEVICE, "d0", addresses)
        # Uneven parts, messages shorter than a packet, and several packets in each.
        cls.all_reduce = collectives(guest, "all_reduce", (chakra.ALL_REDUCE, 1 << 20), (chakra.ALL_REDUCE, 12_347))
        cls.all_to_all = collectives(guest, "all_to_all", (chakra.ALL_TO_ALL, 1 << 20), (chakra.ALL_TO_ALL, 12_347))
        cls.small = collectives(guest, "small", (chakra.ALL_REDUCE, 300_001), (chakra.ALL_TO_ALL, 100_003))
        cls.gpt3 = gpt3(guest, "1/8000")

    def config(self, workload, family="IPv4", mtu=4096, **transport):
        return {
            "workload": workload.section,
            "addresses": {"ip": ADDRESSES[family].format(1)},
            "hosts": {"count": RANKS, "npus": 1},
            "ports": [{"name": f"p{i}", "verbs": DEVICE, "rate": "1Gbps"} for i in range(RANKS)],
            "transport": {"mtu": f"{mtu}B", "checking": True, "timeout": TIMEOUT} | transport,
            "run": {"deadline": "60s", "stall_timeout": "20s"},
        }

    def check_run(self, name, workload, family="IPv4", mtu=4096, **transport):
        before = self.guest.hardware_counter(DEVICE, "sent_pkts")
        run = self.run_in_guest(self.config(workload, family, mtu, **transport))
        self.assert_delivered(run)
        self.assertEqual((run.summary["bytes_wire"], run.summary["bytes_local"]), (workload.bytes, 0))
        flows = run.rows("flows", fidelity="emulated")
        self.assertEqual(sum(int(row["bytes"]) for row in flows), workload.bytes)
        packets = self.guest.hardware_counter(DEVICE, "sent_pkts") - before
        # A packet holds one path MTU at most.
        self.assertGreaterEqual(packets, workload.bytes // mtu)
        seconds = run.summary["emulated"]["completion_time_ps"] / 1e12
        self.table.append((name, family, mtu, run.summary["messages"], f"{workload.bytes / 1e6:.1f} MB",
                           f"{packets} packets", f"{seconds:.2f} s"))
        return run

    def test_ring_all_reduce(self):
        self.check_workload(self.all_reduce, ("IPv4", 1024))

    def test_all_to_all(self):
        self.check_workload(self.all_to_all, ("IPv6", 1024))

    def test_traffic_without_a_trace(self):
        noise = {"name": "noise", "pattern": "pairs", "from": ["p0", "p2"], "to": ["p1", "p3"], "size": "16KiB",
                 "rate": "20Mbps"}
        run = self.run_in_guest(self.config(self.small) | {"background": [noise]})
        self.assert_delivered(run)
        self.assertEqual(run.summary["bytes"], self.small.bytes, "the background counts apart")
        told, = run.rows("background", fidelity="emulated")
        self.assertGreater(int(told["messages_delivered"]), 2)
        self.assertEqual(int(told["bytes_delivered"]), int(told["messages_delivered"]) << 14)

    def test_gpt3(self):
        self.check_workload(self.gpt3, ("IPv4", 4096))


if __name__ == "__main__":
    unittest.main()

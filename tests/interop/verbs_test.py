"""rankwire over RDMA devices alone, in a guest: every rank behind a port of its own, all ports the same soft-RoCE
device, whose queue pairs the kernel connects with each other. Payloads are compared at the receiving end."""

import itertools
import os
import unittest

from rankwire_guest import LINK_MTU, RANKS, GuestTest, chakra, collectives, gpt3

ADDRESSES = {"IPv4": "10.7.0.{}/24", "IPv6": "2001:db8:7::{}/64"}
MTUS = (1024, 4096)
TIMEOUT = 18  # 4.096 us x 2^18 = 1.1 s: the guest is slow
# The whole matrices, or lines through them in which everything stands once.
LONG = os.environ.get("RANKWIRE_INTEROP_LONG") == "1"
DEVICE = "rxe0"

# The ways in which a message may travel.
WAYS = {
    "write_then_imm, split, 5000 B": {"verb": "write_then_imm", "queue_pairs": 2, "verbs": {"max_message": "5000B"}},
    "read, split, 10000 B": {"verb": "read", "queue_pairs": 2, "verbs": {"max_message": "10000B"}},
    "send_imm, dealt to 4": {"verb": "send_imm", "queue_pairs": 4, "spread": "deal"},
    "send_imm, a shared receive queue": {"verb": "send_imm", "verbs": {"shared_receive_queue": True}},
    "write_imm, 2 receives, few signalled": {"receive_queue": 2, "verbs": {"signal_every": 64}},
}
MORE_WAYS = {
    "write_imm": {},
    "write_then_imm": {"verb": "write_then_imm"},
    "send_imm": {"verb": "send_imm"},
    "read": {"verb": "read"},
    "write_imm, split over 3": {"queue_pairs": 3},
    "write_imm, 10000 B": {"verbs": {"max_message": "10000B"}},
}


class Verbs(GuestTest):
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

    def check_workload(self, workload, *cells):
        if workload is None:
            self.skipTest("no gpt3_8r under RANKWIRE_TEST_DATA")
        for family, mtu in itertools.product(ADDRESSES, MTUS) if LONG else cells:
            with self.subTest(family=family, mtu=mtu):
                self.check_run(workload.name, workload, family, mtu)

    def test_ring_all_reduce(self):
        self.check_workload(self.all_reduce, ("IPv4", 1024), ("IPv6", 4096))

    def test_all_to_all(self):
        self.check_workload(self.all_to_all, ("IPv6", 1024))

    def test_gpt3(self):
        self.check_workload(self.gpt3, ("IPv4", 4096))

    def test_ways(self):
        for name, transport in (WAYS | MORE_WAYS if LONG else WAYS).items():
            with self.subTest(way=name):
                self.check_run(name, self.small, **transport)

    def test_nccl(self):
        """Grants travel against the data, as plain WRITEs that the receiver looks for in its memory."""
        config = self.config(self.small) | {"collectives": {"profile": "nccl", "nccl": {"channels": 2}}}
        run = self.run_in_guest(config)
        self.assert_delivered(run)


if __name__ == "__main__":
    unittest.main()

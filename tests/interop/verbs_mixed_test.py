"""One run of rankwire over an RDMA device and a DPDK port, in a guest: soft-RoCE on one end of a veth pair with the
even ranks, af_packet on the other with the odd ones. So each hop of a ring goes from the kernel's stack to rankwire's
or back. What is lost, the kernel drops between them.
"""

import unittest

from rankwire_guest import NETWORKS, MixedTest, chakra, collectives, gpt3
from verbs_matrix import MTUS, VerbsMatrix

LOSSES = (0, 1)  # % of frames, in either direction


class Mixed(VerbsMatrix, MixedTest):
    axes = {"family": NETWORKS, "mtu": MTUS, "loss": LOSSES}

    @classmethod
    def make_network(cls, guest):
        super().make_network(guest)
        cls.all_reduce = collectives(guest, "all_reduce", (chakra.ALL_REDUCE, 1 << 18), (chakra.ALL_REDUCE, 12_347))
        cls.all_to_all = collectives(guest, "all_to_all", (chakra.ALL_TO_ALL, 1 << 19), (chakra.ALL_TO_ALL, 12_347))
        cls.small = collectives(guest, "small", (chakra.ALL_REDUCE, 100_001), (chakra.ALL_TO_ALL, 100_003))
        cls.gpt3 = gpt3(guest, "1/20000")

    def check_run(self, name, workload, family="IPv4", mtu=4096, loss=0, **transport):
        self.guest.lose(loss)
        try:
            run = self.run_in_guest(self.config(workload, family, mtu, **transport))
            dropped = self.guest.dropped()
        finally:
            self.guest.lose(0)
        self.assert_delivered(run)
        self.assertEqual(run.summary["bytes"], workload.bytes)
        self.assertGreater(run.summary["bytes_wire"], workload.bytes // 2)
        if loss == 0:
            self.assertEqual(dropped, 0)
        elif mtu == 1024:  # 1 % of some thousand frames; of long ones there are too few to be sure
            self.assertGreater(dropped, 0)
        flows = run.rows("flows", fidelity="emulated", path="wire")
        self.assertEqual(sum(int(row["bytes"]) for row in flows), run.summary["bytes_wire"])
        # Both ends are known of every queue pair, whichever transport has them.
        self.assertTrue(all(int(row["source_qp"]) and int(row["destination_qp"]) for row in flows))
        seconds = run.summary["emulated"]["completion_time_ps"] / 1e12
        self.table.append((name, family, mtu, f"loss {loss} %", run.summary["messages"],
                           f"{workload.bytes / 1e6:.1f} MB", f"{dropped} lost", f"{seconds:.2f} s"))
        return run

    def test_ring_all_reduce(self):
        self.check_workload(self.all_reduce, ("IPv4", 1024, 1))

    def test_all_to_all(self):
        self.check_workload(self.all_to_all, ("IPv6", 4096, 0))

    def test_gpt3(self):
        self.check_workload(self.gpt3, ("IPv6", 1024, 1))


if __name__ == "__main__":
    unittest.main()

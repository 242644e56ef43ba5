"""Several workers on one DPDK port, in a guest whose kernel steers frames to the queues of a tap by rules of rte_flow,
which net_tap makes filters of (tc-flower). A bridge of the kernel joins two such ports.
"""

import unittest

from rankwire_guest import GuestTest, chakra, collectives

RANKS = 8
MTU = 1024


class Steering(GuestTest):
    @classmethod
    def make_network(cls, guest):
        guest.do("mkdir -p /dev/net", "[ -e /dev/net/tun ] || mknod /dev/net/tun c 10 200",
                 "ip link add b0 mtu 4200 type bridge forward_delay 0 mcast_snooping 0", "ip link set b0 addrgenmode none up")
        for tap in ("t0", "t1"):
            guest.do(f"ip tuntap add dev {tap} mode tap multi_queue", f"ip link set {tap} mtu 4200 addrgenmode none",
                     f"ip link set {tap} master b0 up")
        cls.workload = collectives(guest, "all", (chakra.ALL_REDUCE, 1 << 17), (chakra.ALL_TO_ALL, 100_003))

    def test_queues_of_a_port_are_several_workers(self):
        # Four ranks, each with a NIC of its own, stand behind either port.
        run = self.run_in_guest({
            "workload": self.workload.section,
            "hosts": {"count": RANKS, "npus": 1},
            "ports": [{"name": f"p{i}", "device": f"net_tap{i},iface=t{i}", "rate": "50Mbps", "queues": 2 - i}
                      for i in range(2)],
            "transport": {"mtu": f"{MTU}B", "checking": True, "timeout": 18},
            "workers": {"count": 3},
            "dpdk": {"memory": "320MiB"},
            "run": {"deadline": "60s", "stall_timeout": "20s"},
        })
        self.assert_delivered(run)
        self.assertEqual(run.summary["bytes"], self.workload.bytes)
        rows = run.rows("ports", fidelity="emulated")
        self.assertEqual([row["worker"] for row in rows], ["0", "1", "2"])
        self.assertEqual([row["name"] for row in rows], ["p0", "p0 queue 1", "p1"])
        # A worker drops what is for others' queue pairs, so that nothing would arrive that was steered wrongly.
        for row in rows:
            self.assertGreater(int(row["rx_frames"]), 100, row["name"])
        self.assertIn("obeys no pauses", " ".join(run.summary["warnings"]))


if __name__ == "__main__":
    unittest.main()

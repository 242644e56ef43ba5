"""`rankwire nic-check` of Linux soft-RoCE, in a guest in which rankwire's end of the wire is a DPDK port of the other end
of a pair of interfaces. What soft-RoCE is known not to do is expected by name; everything else must pass or be skipped.
"""

import json
import unittest

from rankwire_guest import DPDK_PORT, GuestTest, PairGuest

NIC_IP, PEER_IP, PEER_MAC = "10.8.0.1", "10.8.0.101/24", "02:00:0a:08:00:65"

# By case, and why.
DEPARTURES = {
    "requester.retry.count_7": "7 is without end for it, as only an RNR retry count of 7 is to be",
    "requester.ack.future": "completes what is under way by an ACK of any later PSN",
    "responder.length.receive": "NAK 0x63 instead of 0x61",
    "congestion.cnp.sent": "does not look at ECN",
    "congestion.reaction.cut": "drops CNPs",
    "flow.pfc.pause": "sends through an interface that knows no PFC",
    "flow.pfc.resume": "likewise",
    "flow.pfc.storm": "likewise",
}


class NicCheck(GuestTest):
    guest_type = PairGuest
    maxDiff = None

    @classmethod
    def make_network(cls, guest):
        guest.make_pair()

    def config(self):
        return {
            "wire": {"port": DPDK_PORT, "mac": PEER_MAC, "ip": PEER_IP, "rate": "1Gbps", "mtu": "4096B"},
            "nic": {"verbs": "rxe0", "ip": NIC_IP, "mac": self.guest.do("cat /sys/class/net/v0/address").strip()},
            "limits": {"timeout_exponent": 14, "answer": "60ms", "quiet": "10ms"},
        }

    def test_soft_roce(self):
        _, output, run = self.guest.call("nic-check", self.config(), "--yes")
        suite = json.loads((run.folder / "suite.json").read_text(encoding="utf-8"))
        found = {case["id"]: case for case in suite["cases"]}
        self.assertGreater(len(found), 60, output)
        failed = {name: case["reason"] for name, case in found.items() if case["verdict"] not in ("pass", "skipped")}
        self.table.append((f"{len(found)} cases", *(f"{v} {n}" for v, n in suite["verdicts"].items())))
        self.assertEqual({name: reason for name, reason in failed.items() if name not in DEPARTURES}, {})
        self.assertEqual(DEPARTURES.keys() - failed.keys(), set(), "known departures that are gone")


if __name__ == "__main__":
    unittest.main()

"""`rankwire nic-check` of Linux soft-RoCE, in a guest in which rankwire's end of the wire is a DPDK port of the other end
of a pair of interfaces. What soft-RoCE is known not to do is expected by name; everything else must pass or be skipped.
"""

import json
import unittest

from rankwire_guest import DPDK_PORT, GuestTest

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

# Of two ranks, each of which sends 64 KiB in an all-reduce, half to be reduced and half that is, twice; and what becomes
# of some packets of rank 1.
RECORDED = {
    "workload": {"generate": {"kind": "collective", "collective": {
        "operation": "all_reduce", "ranks": 2, "min": "64KiB", "max": "64KiB", "warmup": 0, "iterations": 2}}},
    "hosts": {"count": 2, "npus": 1, "nics": 1},
    "ports": {"count": 2, "device": "memory", "rate": "1Gbps"},
    "transport": {"mtu": "1024B"},
    "record": {"messages": "all"},
    "impairments": [
        {"action": "drop", "class": "data", "rank": 1, "packet": 3, "count": 1},
        {"action": "corrupt", "target": "icrc", "class": "data", "rank": 0, "packet": 7, "count": 1},
        {"action": "mark_ce", "class": "data", "rank": 0, "packet": 5, "count": 2},
        {"action": "drop", "class": "ack", "rank": 1, "count": 1},
    ],
}  # fmt: skip

# How reasons begin that are times and rates: an emulated processor beside other work keeps those by chance only. The
# emulated NIC is held to them in virtual time.
TIMED = ("time", "rate")


class NicCheck(GuestTest):
    maxDiff = None

    @classmethod
    def make_network(cls, guest):
        guest.make_pair()

    def config(self, **driver):
        return {
            "wire": {"port": DPDK_PORT, "mac": PEER_MAC, "ip": PEER_IP, "rate": "1Gbps", "mtu": "4096B"},
            "nic": driver | {"ip": NIC_IP, "mac": self.guest.do("cat /sys/class/net/v0/address").strip()},
            "limits": {"timeout_exponent": 14, "answer": "60ms", "quiet": "10ms"},
        }

    def check(self, config, *arguments):
        """What was found, by case, and the table's row of it."""
        _, output, run = self.guest.call("nic-check", config, "--yes", *arguments, file="suite.json")
        self.assertTrue((run.folder / "suite.json").exists(), output)
        suite = json.loads((run.folder / "suite.json").read_text(encoding="utf-8"))
        self.assertFalse(suite["interrupted"], f"it did not end in time: {len(suite['cases'])} cases by then")
        counts = (f"{count} {verdict}" for verdict, count in suite["verdicts"].items())
        self.table.append((f"{len(suite['cases'])} cases", *counts))
        return {case["id"]: case for case in suite["cases"]}

    def assert_nothing_unknown(self, found):
        failed = {name: case["reason"] for name, case in found.items() if case["verdict"] in ("fail", "error")}
        unknown = {name: reason for name, reason in failed.items() if name not in DEPARTURES}
        print("missed in time:", {name: reason for name, reason in unknown.items() if reason.startswith(TIMED)})
        self.assertEqual({name: reason for name, reason in unknown.items() if not reason.startswith(TIMED)}, {})

    def test_soft_roce(self):
        # A quarter of the usual queue pairs: it is the processor that more of them keep busy.
        found = self.check(self.config(verbs="rxe0"), "--queue-pairs 64")
        self.assertGreater(len(found), 60)
        self.assert_nothing_unknown(found)
        # What a slow guest leaves undecided is not gone.
        gone = {name for name in DEPARTURES if found[name]["verdict"] in ("pass", "skipped")}
        self.assertEqual(gone, set(), "known departures that are gone")

    def test_an_agent(self):
        self.guest.do(
            "echo secret >/run/agent.token",
            "rankwire agent --listen 127.0.0.1:7791 --token-file /run/agent.token --device rxe0 "
            f"--ip {NIC_IP} >/run/agent.log 2>&1 & "
            "echo $! >/run/agent.pid",
            "for i in $(seq 100); do grep -q served /run/agent.log && break; usleep 50000; done",
        )
        try:
            patterns = ("requester.loss.write.*", "responder.write.*", "responder.send*")
            only = (f"--only '{pattern}'" for pattern in patterns)
            found = self.check(self.config(agent="127.0.0.1:7791", token="secret"), *only)
        finally:
            self.guest.do("kill $(cat /run/agent.pid)", "while [ -d /proc/$(cat /run/agent.pid) ]; do usleep 20000; done")
        self.assertGreater(len(found), 10)
        self.assert_nothing_unknown(found)
        self.assertEqual({case["verdict"] for case in found.values()} - {"pass", "fail"}, set())

    def test_a_recorded_job(self):
        """Soft-RoCE is rank 1's NIC: what the peer loses of it, and what comes to it wrong, is sent again."""
        (self.guest.share / "recorded.yaml").write_text(json.dumps(RECORDED), encoding="utf-8")
        self.guest.do("rankwire simulate /share/recorded.yaml --twin --quiet --out /run/recorded")
        found = self.check(self.config(verbs="rxe0"), "--replay /run/recorded --rank 1")
        case = found["job.replay"]
        self.assertEqual(case["verdict"], "pass", case["reason"])
        values = {m["name"]: m["value"] for m in case["measurements"]}
        # Two calls of two steps either way.
        self.assertEqual((values["messages that the NIC sent"], values["messages that it received"]), (4, 4))
        self.assertEqual(values["impairments"], 5, case["anomalies"])
        (capture,) = case["artefacts"]
        self.assertGreaterEqual(len(capture["frames"]), 2, "what was lost on its way from the NIC is marked")


if __name__ == "__main__":
    unittest.main()

"""Two RDMA devices in one run, back to back."""

import json
import unittest

from back_to_back import ADDRESSES, BackToBackTest
from rankwire_guest import rankwire

PORTS = {"left": "eth2", "right": "eth3"}
RANKS, QUEUE_PAIRS, MTU = 4, 4, 4096


class BackToBack(BackToBackTest):
    def link(self, interface):
        """What `ip -s link` counts."""
        (link,) = json.loads(self.guest.do(f"ip -s -j link show dev {interface}"))
        return {(way, name): link["stats64"][way][name]
                for way in ("tx", "rx") for name in ("packets", "bytes", "dropped")}

    def config(self):
        """The guide's, with less to do and slower ports."""
        return {
            "workload": {"generate": {"layers": 2, "hidden": 128, "vocabulary": 1000}},
            "hosts": {"count": RANKS, "npus": 1},
            "addresses": {"ip": "10.9.0.1/24"},
            "ports": [
                {"name": "left", "verbs": "rxe2", "rate": "1Gbps"},
                {"name": "right", "verbs": "netdev eth3", "rate": "1Gbps"},
            ],
            "transport": {
                "mtu": f"{MTU}B",
                "queue_pairs": QUEUE_PAIRS,
                "checking": True,
                "timeout": 18,  # 4.096 us x 2^18 = 1.1 s: the guest is slow
                "verbs": {"signal_every": 16},
            },
            "run": {"deadline": "60s", "stall_timeout": "20s"},
        }

    def counted_run(self):
        """The run, and by interface what its link counted meanwhile."""
        before = {interface: self.link(interface) for interface in ADDRESSES}
        run = self.run_in_guest(self.config())
        after = {interface: self.link(interface) for interface in ADDRESSES}
        return run, {i: {key: after[i][key] - before[i][key] for key in before[i]} for i in ADDRESSES}

    def test_both_directions(self):
        one, other = ADDRESSES.values()
        with self.routed():
            self.assertEqual((self.way(one, other), self.way(other, one)), ("eth2", "eth3"))
            run, links = self.counted_run()
        self.assert_delivered(run)
        flows = run.rows("flows", fidelity="emulated", path="wire")
        self.assertEqual(sum(int(row["bytes"]) for row in flows), run.summary["bytes_wire"])
        self.check_queue_pairs(flows)
        ports = {row["name"]: row for row in run.rows("ports", fidelity="emulated")}
        for source, destination in (("left", "right"), ("right", "left")):
            with self.subTest(source=source, destination=destination):
                sent, received = links[PORTS[source]], links[PORTS[destination]]
                moved = self.bytes_between(run, flows, ports[source], ports[destination])
                self.assertGreater(moved, 0)
                # A packet holds one path MTU at most.
                self.assertGreaterEqual(int(ports[source]["tx_frames"]), moved // MTU)
                self.assertGreaterEqual(int(ports[destination]["rx_frames"]), moved // MTU)
                self.assertGreaterEqual(sent["tx", "bytes"], moved)
                self.assertGreaterEqual(received["rx", "bytes"], moved)
                # No packet of the device took another way.
                self.assertGreaterEqual(sent["tx", "packets"] + sent["tx", "dropped"], int(ports[source]["tx_frames"]))
                self.assertGreaterEqual(received["rx", "packets"], int(ports[destination]["rx_frames"]))
                self.table.append((f"{source} to {destination}", f"{moved / 1e6:.1f} MB",
                                   f"{ports[source]['tx_frames']} sent", f"{ports[destination]['rx_frames']} received",
                                   f"{sent['tx', 'packets']} on the link"))

    def check_queue_pairs(self, flows):
        """Every connection has them all, and each carried a message."""
        members = {}
        for row in flows:
            self.assertGreater(int(row["messages"]), 0)
            members.setdefault(row["connection"], set()).add(int(row["member"]))
        for connection, seen in members.items():
            self.assertEqual(seen, set(range(QUEUE_PAIRS)), connection)

    def bytes_between(self, run, flows, source, destination):
        port_of = {row["rank"]: row["port"] for row in run.rows("ranks", fidelity="emulated")}
        self.assertEqual(len(port_of), RANKS)
        return sum(int(row["bytes"]) for row in flows
                   if (port_of[row["source"]], port_of[row["destination"]]) == (source["port"], destination["port"]))

    def test_without_the_routes(self):
        """The kernel drops the question for a link address that comes from an address of its own."""
        links = [self.link(interface) for interface in ADDRESSES]
        status, output, run = self.guest.call("run", self.config())
        self.assertEqual(status, rankwire.FAILED, output)
        self.assertEqual(len(output.strip().splitlines()), 1, output)
        self.assertRegex(output, r"\d+ of \d+ connections failed; the first, from rank \d to rank \d: rxe[23]: ")
        self.assertRegex(output, r"the kernel found no link address of 10\.9\.0\.[12] in time; .*ip neigh replace")
        self.assert_no_result(run, "not_connected")
        for interface, before in zip(ADDRESSES, links):
            # Questions for the link address may have been asked, but no data went.
            self.assertLess(self.link(interface)["tx", "bytes"] - before["tx", "bytes"], MTU)


if __name__ == "__main__":
    unittest.main()

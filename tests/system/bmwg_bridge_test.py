"""The benchmarks of the IETF's drafts against a Linux bridge, reached over net_af_packet."""

import unittest

from bmwg_device import BmwgDevice, tests
from bridge import BridgeTest

RATE = 200_000_000

# What the device has sent on each of its ports, as the kernel counts it.
COUNTERS = """#!/usr/bin/env python3
import json, subprocess
text = subprocess.run(["ip", "-n", "{far}", "-s", "-j", "link"], capture_output=True, text=True, check=True).stdout
sent = {{link["ifname"]: link["stats64"]["tx"] for link in json.loads(text) if link["ifname"].startswith("dut")}}
print(json.dumps({{"links": {{name: tx["bytes"] for name, tx in sent.items()}},
                  "frames sent": sum(tx["packets"] for tx in sent.values())}}))
"""


class BmwgOverABridge(BmwgDevice, BridgeTest):
    def test_each_test_comes_to_a_verdict(self):
        ports = [{"name": f"p{port}", "device": f"net_af_packet{port},iface=rw{port}", "rate": f"{RATE}bps"}
                 for port in range(self.PORTS)]  # fmt: skip
        base = {
            "hosts": {"count": self.PORTS, "npus": 2, "nics": 1},
            "ports": ports,
            "switch": {"latency": "20us"},
            "transport": {"mtu": "1024B", "checking": True},
            "dpdk": {"eal_arguments": ["--no-pci"]},
        }
        cases = self.benchmark("Linux bridge", base, tests("T6.jct T8.soak T4.spray"),
                               COUNTERS.format(far=self.far), self.inside())  # fmt: skip
        if "T8.soak" in cases:
            self.assert_soak_was_seen(cases["T8.soak"])
        if "T6.jct" in cases:
            self.assert_jct(cases["T6.jct"], RATE)

    def assert_soak_was_seen(self, case):
        """Each sample's traffic has crossed the device."""
        (curve,) = (curve for curve in case["curves"] if curve["name"] == "frames sent")
        counts = [y for _, y in curve["points"]]
        self.assertEqual(len(counts), 4)
        self.assertEqual(counts, sorted(set(counts)))


if __name__ == "__main__":
    unittest.main()

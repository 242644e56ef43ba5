"""The benchmarks of the IETF's drafts against a device that is not ours: a Linux bridge, reached over net_af_packet.

Some of them; RANKWIRE_BMWG_TESTS names others by their patterns, such as '*' for all.
"""

import json
import os
import unittest

import yaml

from bridge import BridgeTest
from rankwire import FAILED, INCONCLUSIVE, OK, rankwire

TESTS = os.environ.get("RANKWIRE_BMWG_TESTS", "T6.jct T8.soak T4.spray").split()

# What the device has sent on each of its ports, as the kernel counts it.
COUNTERS = """#!/usr/bin/env python3
import json, subprocess
text = subprocess.run(["ip", "-n", "{far}", "-s", "-j", "link"], capture_output=True, text=True, check=True).stdout
sent = {{link["ifname"]: link["stats64"]["tx"] for link in json.loads(text) if link["ifname"].startswith("dut")}}
print(json.dumps({{"links": {{name: tx["bytes"] for name, tx in sent.items()}},
                  "frames sent": sum(tx["packets"] for tx in sent.values())}}))
"""


class BmwgOverABridge(BridgeTest):
    def suite(self):
        ports = [{"name": f"p{port}", "device": f"net_af_packet{port},iface=rw{port}", "rate": "200Mbps"}
                 for port in range(self.PORTS)]  # fmt: skip
        base = {
            "name": "bridge",
            "hosts": {"count": self.PORTS, "npus": 2, "nics": 1},
            "ports": ports,
            "switch": {"latency": "20us"},
            "transport": {"mtu": "1024B", "checking": True},
            "dpdk": {"eal_arguments": ["--no-pci"]},
        }
        (self.folder / "base.yaml").write_text(yaml.safe_dump(base), encoding="utf-8")
        counters = self.folder / "counters"
        counters.write_text(COUNTERS.format(far=self.far), encoding="utf-8")
        counters.chmod(0o755)
        suite = {"name": "bridge", "base": "base.yaml", "dut": {"model": "Linux bridge"},
                 "hooks": {"counters": str(counters)}, "hook_patience": "60s"}  # fmt: skip
        path = self.folder / "suite.yaml"
        path.write_text(yaml.safe_dump(suite), encoding="utf-8")
        return path

    def test_each_test_comes_to_a_verdict(self):
        only = [argument for pattern in TESTS for argument in ("--only", pattern)]
        process = rankwire("bmwg", "run", self.suite(), "--quick", "--yes", "--out", self.folder / "out", *only,
                           prefix=self.inside(), timeout=1500)  # fmt: skip
        self.assertIn(process.returncode, (OK, FAILED, INCONCLUSIVE), process.stdout + process.stderr)
        result = json.loads((self.folder / "out/suite.json").read_text(encoding="utf-8"))
        cases = {case["id"]: case for case in result["cases"]}
        print(*(f"{name}: {case['verdict']} {case['reason']}" for name, case in cases.items()), sep="\n", flush=True)
        # Of one switch with four ports, without congestion control, that has no cables between switches, and no hook to pull
        # one. It marks nothing, so that T3.ecn has its answer; anything else is the device's if the generator kept pace.
        skipped = {"T2.ultra_ethernet", "T3.dcqcn", "T6.interference", "T7.link_failure"}
        for name, case in cases.items():
            with self.subTest(test=name):
                wanted = {"skipped"} if name in skipped else {"fail", "inconclusive"} if name == "T3.ecn" else {
                    "pass", "inconclusive"}  # fmt: skip
                self.assertIn(case["verdict"], wanted, case["reason"])
        if "T8.soak" in cases:
            (curve,) = (curve for curve in cases["T8.soak"]["curves"] if curve["name"] == "frames sent")
            counts = [y for _, y in curve["points"]]
            self.assertEqual(len(counts), 4)
            self.assertEqual(counts, sorted(set(counts)), "each sample's traffic has crossed the bridge")
        if "T6.jct" in cases:
            (jct,) = (m["value"] for m in cases["T6.jct"]["measurements"] if m["name"] == "JCT")
            # 5 iterations of 1 ms and 1.5 x 256 KiB at 200 Mbit/s.
            self.assertGreater(jct, 5 * (1 + 1.5 * 256 * 1024 * 8 / 200e6 * 1e3))


if __name__ == "__main__":
    unittest.main()

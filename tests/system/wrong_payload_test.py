"""A device that alters payloads and makes their ICRC right again: only who compares payloads finds it."""

import subprocess
import sys
import unittest

import yaml

from bridge import BridgeTest, ip
from rankwire import FAILED, OK, SOURCE, Run, rankwire

ALTERED = 3


class WrongPayload(BridgeTest):
    PORTS = 2

    def build(self):
        super().build()
        ip("-n", self.far, "link", "delete", "br0")
        # An all-reduce of two ranks moves halves of its size, each a packet here: of 256 B those of 512 B.
        relay = subprocess.Popen(["ip", "netns", "exec", self.far, sys.executable, "-B",
                                  SOURCE / "tests/system/payload_relay.py", "dut0", "dut1", "256", str(ALTERED)],
                                 stdout=subprocess.PIPE, text=True)  # fmt: skip
        self.addCleanup(relay.communicate)
        self.addCleanup(relay.kill)
        self.assertEqual(relay.stdout.readline(), "ready\n")

    def measure(self, out, *arguments, status):
        config = {
            "ports": [{"name": f"p{port}", "device": f"net_af_packet{port},iface=rw{port}", "rate": "100Mbps"}
                      for port in range(2)],
            "switch": {"latency": "100us"},
            "transport": {"mtu": "1024B"},
            "dpdk": {"eal_arguments": ["--no-pci"]},
        }  # fmt: skip
        path = self.folder / "relay.yaml"
        path.write_text(yaml.safe_dump(config), encoding="utf-8")
        folder = self.folder / out
        process = rankwire("collective", "all_reduce", "--config", path, "--ranks", 2, "-b", "256", "-e", "1K", "-n", "3",
                           "-w", "1", "--out", folder, *arguments, prefix=self.inside())  # fmt: skip
        self.assertEqual(process.returncode, status, process.stdout + process.stderr)
        return process, Run(folder)

    def test_it_is_counted_by_the_size_of_the_call(self):
        process, run = self.measure("checked", "--check", status=FAILED)
        self.assertEqual([(row["size"], row["wrong"]) for row in run.rows("collective")],
                         [("256", "0"), ("512", str(ALTERED)), ("1024", "0")])  # fmt: skip
        self.assertRegex(process.stdout, rf"\n +512 +128 +float +sum +-1 +\S+ +\S+ +\S+ +{ALTERED} ")
        self.assertIn(f"# Wrong messages       : {ALTERED} FAILED", process.stdout)
        self.assertEqual((run.summary["verdict"], run.summary["reason_code"]), ("failed", "wrong_delivery"))
        self.assertEqual((run.transport["payload_errors"], run.transport["icrc_errors"]), (ALTERED, 0))

    def test_nobody_else_sees_it(self):
        _, run = self.measure("unchecked", status=OK)
        self.assertEqual({row["wrong"] for row in run.rows("collective")}, {""})
        self.assertEqual(run.transport["icrc_errors"], 0)


if __name__ == "__main__":
    unittest.main()

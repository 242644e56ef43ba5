"""The benchmarks of the IETF's drafts against a Linux bridge, reached over net_af_packet."""

import json
import signal
import time
import unittest

from bmwg_device import BmwgDevice, tests
from bridge import BridgeTest, ip
from rankwire import FAILED, INCONCLUSIVE, OK, rankwire, start

RATE = 200_000_000

# What the device has sent on each of its ports, as the kernel counts it.
COUNTERS = """#!/usr/bin/env python3
import json, subprocess
text = subprocess.run(["ip", "-n", "{far}", "-s", "-j", "link"], capture_output=True, text=True, check=True).stdout
sent = {{link["ifname"]: link["stats64"]["tx"] for link in json.loads(text) if link["ifname"].startswith("dut")}}
print(json.dumps({{"links": {{name: tx["bytes"] for name, tx in sent.items()}},
                  "frames sent": sum(tx["packets"] for tx in sent.values())}}))
"""


# The second time that it is asked a port is gone.
VANISH = """#!/bin/sh
echo x >>"$0.calls"
[ "$(wc -l <"$0.calls")" -lt 2 ] || ip link delete rw0
echo '{"calls": 1}'
"""


class BmwgOverABridge(BmwgDevice, BridgeTest):
    def base(self):
        ports = [{"name": f"p{port}", "device": f"net_af_packet{port},iface=rw{port}", "rate": f"{RATE}bps"}
                 for port in range(self.PORTS)]  # fmt: skip
        return {
            "hosts": {"count": self.PORTS, "npus": 2, "nics": 1},
            "ports": ports,
            "switch": {"latency": "20us"},
            "transport": {"mtu": "1024B", "checking": True},
            "dpdk": {"eal_arguments": ["--no-pci"]},
        }

    def test_each_test_comes_to_a_verdict(self):
        cases = self.benchmark("Linux bridge", self.base(), tests("T6.jct T8.soak T4.spray"),
                               COUNTERS.format(far=self.far), self.inside())  # fmt: skip
        if "T8.soak" in cases:
            self.assert_soak_was_seen(cases["T8.soak"])
        if "T6.jct" in cases:
            self.assert_jct(cases["T6.jct"], RATE)

    def test_a_port_that_vanishes_ends_no_suite(self):
        hook = self.folder / "vanish"
        hook.write_text(VANISH, encoding="utf-8")
        hook.chmod(0o755)
        suite = {"name": "x", "base": "base.yaml", "hooks": {"counters": str(hook)},
                 "tests": [{"select": "T8.soak", "duration": "150ms", "interval": "50ms"}]}  # fmt: skip
        for name, document in (("base", {"name": "x"} | self.base()), ("suite", suite)):
            (self.folder / f"{name}.yaml").write_text(json.dumps(document), encoding="utf-8")
        only = (f"--only={test}" for test in ("T2.*", "T8.soak", "I.kv_transfer"))
        process = rankwire("bmwg", "run", self.folder / "suite.yaml", "--quick", "--yes", "--out", self.folder / "out", *only,
                           prefix=self.inside())  # fmt: skip
        self.assertEqual(process.returncode, FAILED, process.stdout + process.stderr)
        result = json.loads((self.folder / "out/suite.json").read_text(encoding="utf-8"))
        cases = {case["id"]: case for case in result["cases"]}
        self.assertEqual([case["verdict"] for case in cases.values()], ["skipped", "error", "error"])
        for test in ("T8.soak", "I.kv_transfer"):
            self.assertIn("there is no network interface rw0", cases[test]["reason"])

    def test_a_port_that_vanishes_during_a_run_is_named(self):
        suite = {"name": "x", "base": "base.yaml", "tests": [{"select": "I.kv_transfer", "sizes": "64KiB", "duration": "4s"}]}
        base = {"name": "x"} | self.base()
        base["transport"] |= {"timeout": 12, "retry_count": 1}
        for name, document in (("base", base), ("suite", suite)):
            (self.folder / f"{name}.yaml").write_text(json.dumps(document), encoding="utf-8")
        out = self.folder / "out"
        with start("bmwg", "run", self.folder / "suite.yaml", "--quick", "--yes", "--only=I.kv_transfer", "--out", out,
                   prefix=self.inside()) as process:  # fmt: skip
            end = time.monotonic() + 60
            while time.monotonic() < end and not list(out.glob("cases/I.kv_transfer/*/run.sqlite")):
                time.sleep(0.02)
            time.sleep(1)
            ip("-n", self.near, "link", "delete", "rw3")
            process.communicate(timeout=120)
        self.assertEqual(process.returncode, FAILED)
        (case,) = json.loads((out / "suite.json").read_text(encoding="utf-8"))["cases"]
        self.assertEqual(case["verdict"], "error", case["reason"])
        self.assertIn("there is no network interface rw3 any more", case["reason"])

    def hook(self, name, *commands):
        file = self.folder / name
        file.write_text("#!/bin/sh -e\n" + "".join(f"{command}\n" for command in commands), encoding="utf-8")
        file.chmod(0o755)
        return str(file)

    def suite_of_cables(self, **parameters):
        """Two bridges with a cable between them, and another one that the device falls back on 50 ms after a hook has pulled
        that."""
        link = ("-n", self.far, "link")
        mtu = ("mtu", str(self.LINK_MTU))
        ip(*link, "add", "br1", *mtu, "type", "bridge")
        for cable in ("x", "y"):
            ip(*link, "add", f"{cable}0", *mtu, "type", "veth", "peer", "name", f"{cable}1", *mtu)
            ip(*link, "set", f"{cable}0", "master", "br0")
            ip(*link, "set", f"{cable}1", "master", "br1", "up")
        for up in ("x0", "br1"):
            ip(*link, "set", up, "up")
        for port in range(self.PORTS // 2, self.PORTS):
            ip(*link, "set", f"dut{port}", "master", "br1")
        command = " ".join(("ip", *link))
        base = {"name": "x"} | self.base()
        base["transport"] |= {"timeout": 14}
        for port in base["ports"]:
            port["rate"] = "40Mbps"
        base["hosts"] |= {"npus": 1}
        suite = {"name": "x", "base": "base.yaml",
                 "hooks": {"link_down": self.hook("down", f"{command} set x0 down", "sleep 0.05", f"{command} set y0 up",
                                                  f"touch {self.folder}/pulled"),
                           "link_up": self.hook("up", f"touch {self.folder}/mending", "sleep 0.5", f"{command} set y0 down",
                                                f"{command} set x0 up")},
                 "tests": [{"select": "T7.link_failure", "size": "16KiB"} | parameters]}  # fmt: skip
        for name, document in (("base", base), ("suite", suite)):
            (self.folder / f"{name}.yaml").write_text(json.dumps(document), encoding="utf-8")
        return ("bmwg", "run", self.folder / "suite.yaml", "--quick", "--yes", "--out", self.folder / "out",
                "--only=T7.link_failure")  # fmt: skip

    def assert_mended(self):
        (cable,) = json.loads(ip("-n", self.far, "-j", "link", "show", "x0"))
        self.assertIn("UP", cable["flags"])

    def test_a_cable_is_pulled_while_calls_go_on(self):
        # Of 5 ms each: far fewer calls than go on until the hook has ended.
        process = rankwire(*self.suite_of_cables(iterations=5), prefix=self.inside())
        self.assertIn(process.returncode, (OK, INCONCLUSIVE), process.stdout + process.stderr)
        self.assert_mended()
        (case,) = json.loads((self.folder / "out/suite.json").read_text(encoding="utf-8"))["cases"]
        values = {m["name"]: m["value"] for m in case["measurements"]}
        if not values:
            self.skipTest(case["reason"])  # a machine that is too busy for any of it
        # What was under way is lost, and the time-out of 4.096 us x 2^14 is longer than the 50 ms.
        self.assertGreater(values["packets lost or sent again"], 0)
        self.assertGreater(values["JCT overhead of the failure"], 50)
        self.assertGreater(values["calls that came to their end"], 5)

    def link_failure(self, hooks, **parameters):
        """The test with other hooks than those of the cables."""
        command = self.suite_of_cables(**parameters)
        file = self.folder / "suite.yaml"
        suite = json.loads(file.read_text(encoding="utf-8"))
        file.write_text(json.dumps(suite | {"hooks": {name: hook or suite["hooks"][name] for name, hook in hooks.items()}}),
                        encoding="utf-8")  # fmt: skip
        process = rankwire(*command, prefix=self.inside())
        (case,) = json.loads((self.folder / "out/suite.json").read_text(encoding="utf-8"))["cases"]
        self.assertEqual((process.returncode, case["verdict"]), (INCONCLUSIVE, "inconclusive"), case["reason"])
        return case

    def test_a_cable_that_nothing_mends_is_pulled_once(self):
        # Of 5 ms each: all have ended before the hook has.
        case = self.link_failure({"link_down": None}, iterations=5)
        self.assertEqual([folder.name for folder in (self.folder / "out/cases/T7.link_failure").glob("failure*/")], ["failure"])
        self.assertRegex(case["reason"], "all calls had ended before the hook `link_down` had|the generator may have set")
        if (self.folder / "pulled").exists():
            self.assertIn("the cable stays pulled: there is no hook `link_up`", "".join(case["anomalies"]))

    def test_a_hook_that_pulls_nothing_is_no_pass(self):
        # Of 5 ms each, so that the run outlasts the 200 ms and more until the record tells that a third has ended.
        case = self.link_failure({"link_down": "true", "link_up": "true"}, iterations=400)
        self.assertRegex(case["reason"], "was a cable pulled that carries the traffic|the generator may have set")

    def test_a_cable_is_mended_when_the_test_is_interrupted(self):
        with start(*self.suite_of_cables(iterations=300), prefix=self.inside()) as process:
            end = time.monotonic() + 60
            while time.monotonic() < end and not (self.folder / "pulled").exists():
                time.sleep(0.02)
            process.send_signal(signal.SIGINT)
            # A second one, as `timeout` sends, while the cable is being mended.
            while time.monotonic() < end and not (self.folder / "mending").exists():
                time.sleep(0.02)
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=60)
        self.assertEqual(process.returncode, FAILED)
        self.assertTrue((self.folder / "pulled").exists())
        self.assert_mended()
        for report in ("suite.md", "junit.xml"):
            self.assertTrue((self.folder / "out" / report).exists(), report)

    def assert_soak_was_seen(self, case):
        """Each sample's traffic has crossed the device."""
        (curve,) = (curve for curve in case["curves"] if curve["name"] == "frames sent")
        counts = [y for _, y in curve["points"]]
        self.assertEqual(len(counts), 4)
        self.assertEqual(counts, sorted(set(counts)))


if __name__ == "__main__":
    unittest.main()

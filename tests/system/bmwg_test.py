"""The benchmarks of the IETF's drafts, over the embedded switches and in virtual time."""

import json
import math
import os
import pathlib
import signal
import time
import unittest
import xml.etree.ElementTree

import yaml

from rankwire import FAILED, INCONCLUSIVE, OK, SOURCE, USAGE, RankwireTest, rankwire, start

QUICK = SOURCE / "configs" / "bmwg" / "quick.yaml"
EMBEDDED = SOURCE / "configs" / "bmwg" / "embedded.yaml"

# Values of parameters, by test.
FEW = {
    "T1.throughput": {"sizes": "64KiB", "queue_pairs": 4, "duration": "20ms", "resolution": "20%"},
    "T1.latency": {"sizes": "4KiB", "duration": "20ms", "repetitions": 2},
    "T1.burst": {"ratios": 2, "repetitions": 1, "size": "32KiB"},
    "T3.pfc_incast": {"ratios": 2},
    "T3.dcqcn": {"flows": 4},
    "T3.storm": {"duration": "100ms"},
    "T4.ecmp": {"queue_pairs": 8},
    "T5.*": {"sizes": "64KiB", "accelerators": 4, "iterations": 2},
    "T6.jct": {"repetitions": 1},
    "T7.scale": {"accelerators": [2, 4]},
    "T8.soak": {"duration": "100ms"},
    "I.kv_transfer": {"sizes": "64KiB"},
    "I.disaggregated": {"compute": "1ms"},
    "I.bursts": {"ratios": 2},
}


class Bmwg(RankwireTest):
    def suite(self, text):
        file = self.folder / "suite.yaml"
        file.write_text(f"name: mine\nbase: {EMBEDDED}\n{text}", encoding="utf-8")
        return file

    def run_suite(self, suite, *arguments, out="out"):
        process = rankwire("bmwg", "run", suite, "--quick", "--out", self.folder / out, *arguments)
        self.assertTrue((self.folder / out / "suite.json").exists(), process.stderr)
        result = json.loads((self.folder / out / "suite.json").read_text(encoding="utf-8"))
        return process, {case["id"]: case for case in result["cases"]}

    @staticmethod
    def ended_tests(out):
        file = out / "suite.json"
        return json.loads(file.read_text(encoding="utf-8"))["cases"] if file.exists() else []

    @staticmethod
    def values(case, name):
        return {m["subject"]: m["value"] for m in case["measurements"] if m["name"] == name}

    def few_runs(self):
        """The quick suite with the fewest values by which each test still does what it does: one run takes longer to begin
        and to be reported than to be simulated."""
        suite = yaml.safe_load(QUICK.read_text(encoding="utf-8")) | {"base": str(EMBEDDED)}
        suite["tests"] += [{"select": select} | parameters for select, parameters in FEW.items()]
        file = self.folder / "few.yaml"
        file.write_text(yaml.safe_dump(suite), encoding="utf-8")
        return file

    def test_overlaps_that_no_placement_has_are_no_pass(self):
        """Jobs of 16 / 4 hosts share none to four leaves: 20 % of four is no leaf."""
        base = self.folder / "base.yaml"
        base.write_text("name: x\nports: {count: 16, device: memory, rate: 1Gbps}\n", encoding="utf-8")
        reasons = []
        for overlaps in ("20%", "[20%, 25%]"):
            (self.folder / "suite.yaml").write_text(
                f"name: x\nbase: base.yaml\ntests: [{{select: T6.interference, overlaps: {overlaps}}}]\n",
                encoding="utf-8")  # fmt: skip
            process = rankwire("bmwg", "plan", self.folder / "suite.yaml", "--quick", "--json")
            self.assertEqual(process.returncode, OK, process.stderr)
            (test,) = (test for test in json.loads(process.stdout)["tests"] if test["id"] == "T6.interference")
            reasons.append(test["skipped"])
        self.assertIn("jobs of 4 hosts share whole leaves, a 25 % each", reasons[0])
        self.assertIsNone(reasons[1])

    def test_all_tests_have_a_verdict_in_virtual_time(self):
        process, cases = self.run_suite(self.few_runs(), "--twin")
        self.assertEqual(process.returncode, OK, process.stdout + process.stderr)
        listed = json.loads(rankwire("bmwg", "list", "--json").stdout)
        self.assertEqual(list(cases), [test["id"] for test in listed])
        skipped = {name: case["reason"] for name, case in cases.items() if case["verdict"] == "skipped"}
        self.assertEqual(list(skipped), ["T2.ultra_ethernet"])
        self.assertIn("RoCEv2", skipped["T2.ultra_ethernet"])
        self.assertEqual({case["verdict"] for name, case in cases.items() if name not in skipped}, {"pass"})
        # What the list says that a test measures, it measures.
        for test in listed:
            names = [m["name"] for m in cases[test["id"]]["measurements"]]
            for kpi in test["kpis"]:
                self.assertTrue(any(name.startswith(kpi["measured"]) for name in names), (test["id"], kpi, names))
        junit = xml.etree.ElementTree.parse(self.folder / "out" / "junit.xml").getroot()
        self.assertEqual(len(list(junit.iter("testcase"))), len(cases))
        for report in ("suite.html", "suite.md"):
            self.assertIn("T4.spray", (self.folder / "out" / report).read_text(encoding="utf-8"))
        # Payload over the line: 4096 of 4096 + 14 + 20 + 8 + 12 + 16 + 4 + 4 + 20 bytes is the most that there can be.
        for efficiency in self.values(cases["T1.throughput"], "throughput efficiency").values():
            self.assertGreater(efficiency, 0.5)
            self.assertLess(efficiency, 4096 / 4194)
        # Packets are dealt out in turn.
        self.assertAlmostEqual(self.values(cases["T4.spray"], "JFI")["4 queue pairs"], 1, 2)
        # Jobs on leaves of their own do not know of each other; on the same they share cables.
        factors = self.values(cases["T6.interference"], "JCT interference factor")
        self.assertAlmostEqual(factors["overlap 0 %"], 1, 2)
        self.assertGreater(factors["overlap 50 %"], 1.2)
        repeated = [m for m in cases["T6.interference"]["measurements"] if m["subject"] == "overlap 50 %"]
        self.assertEqual([m["repetitions"] for m in repeated], [2])
        self.assertIsNotNone(repeated[0]["variation"])
        # An iteration computes for 1 ms and moves 1.5 x 256 KiB at 1 Gbit/s.
        jct = self.values(cases["T6.jct"], "JCT")["C 1ms, S 256KiB, N 4"]
        ratio = self.values(cases["T6.jct"], "JCT ratio")["C 1ms, S 256KiB, N 4"]
        self.assertAlmostEqual(ratio, jct / (5 * (1 + 1.5 * 256 * 1024 * 8 / 1e6)), 6)
        # Where the load takes half of the line what is measured beside it takes longer, and one flow a port is fair.
        times = self.values(cases["I.kv_latency"], "KV transfer time P50")
        self.assertGreater(times["64KiB, load 50 %"], times["64KiB, load 0 %"])
        self.assertAlmostEqual(self.values(cases["I.kv_concurrency"], "JFI")["8 pairs"], 1, 1)
        throughput = self.values(cases["I.kv_concurrency"], "aggregate KV throughput")
        self.assertGreater(throughput["8 pairs"], 2 * throughput["1 pairs"])
        for penalty in ("contention penalty of EP", "contention penalty of KV"):
            self.assertGreater(self.values(cases["I.contention"], penalty)["64KiB, KV load 50 %"], 1, penalty)
        # A failed cable takes packets with it, and no call.
        self.assertEqual(cases["T7.link_failure"]["measurements"][-1]["value"], 10)

    def test_real_time_over_the_embedded_switches(self):
        process, cases = self.run_suite(self.few_runs(), "--only", "T6.jct", "--only", "T1.latency")
        # A machine that others use may be too slow for that, and then nothing is said of the device.
        self.assertIn(process.returncode, (OK, 3), process.stdout + process.stderr)
        self.assertEqual(list(cases), ["T1.latency", "T6.jct"])
        for case in cases.values():
            self.assertIn(case["verdict"], ("pass", "inconclusive"))
        self.assertFalse(math.isnan(self.values(cases["T6.jct"], "JCT ratio")["C 1ms, S 256KiB, N 4"]))

    def test_a_tolerance_is_judged_against_the_reference(self):
        only = ("--twin", "--only", "T5.all_reduce")
        good = "tests:\n  - {select: T5.all_reduce, sizes: 256KiB, accelerators: 4, tolerance: 10%}\n"
        process, cases = self.run_suite(self.suite(good), *only)
        self.assertEqual((process.returncode, cases["T5.all_reduce"]["verdict"]), (OK, "pass"), process.stderr)
        # A hundredth of the packets is lost, which the reference knows nothing of.
        bad = good + "set: {'impairments': [{action: drop, probability: 2%}]}\n"
        process, cases = self.run_suite(self.suite(bad), *only, out="bad")
        self.assertEqual((process.returncode, cases["T5.all_reduce"]["verdict"]), (FAILED, "fail"), process.stderr)
        self.assertIn("BusBW of 256KiB, 4 accelerators", cases["T5.all_reduce"]["reason"])

    def ring(self, **fabric):
        """Five switches, each with a host, joined in a circle: its suite."""
        switches = [f"s{s}" for s in range(5)]
        base = {
            "name": "ring",
            "hosts": {"count": 5, "npus": 1, "nics": 1},
            "ports": {"count": 5, "device": "memory", "rate": "4Gbps"},
            "fabric": {
                "topology": "graph",
                "link_rate": "1Gbps",
                "lossless": [3],
                "buffer": {"shared": "256KiB", "headroom": "64KiB", "ingress_alpha": "1/8"},
                "switches": switches,
                "links": [{"a": switches[s], "b": switches[(s + 1) % 5]} for s in range(5)],
                "hosts": [{"port": f"p{s}", "switch": switches[s]} for s in range(5)],
            } | fabric,
        }
        (self.folder / "base.yaml").write_text(json.dumps(base), encoding="utf-8")
        (self.folder / "suite.yaml").write_text("name: ring\nbase: base.yaml\n", encoding="utf-8")
        return self.folder / "suite.yaml"

    def deadlock(self, **fabric):
        process, cases = self.run_suite(self.ring(**fabric), "--twin", "--only", "T3.deadlock", "--force")
        return process.returncode, cases["T3.deadlock"]

    def test_a_circle_of_switches_deadlocks_and_is_named(self):
        """Each of five switches in a ring sends on what waits for the next."""
        status, case = self.deadlock()
        self.assertEqual((status, case["verdict"]), (FAILED, "fail"), case["reason"])
        for s in range(5):
            self.assertIn(f"s{s}.s{(s + 1) % 5} priority 3", case["reason"])
        status, case = self.deadlock(lossless=[])
        self.assertEqual((status, case["verdict"]), (INCONCLUSIVE, "skipped"), case["reason"])

    def test_a_watchdog_that_frees_a_circle_is_judged_by_what_arrives(self):
        watchdog = {"detection": "20ms", "restoration": "20ms"}
        status, case = self.deadlock(watchdog=watchdog | {"action": "forward"})
        self.assertEqual((status, case["verdict"]), (OK, "pass"), case["reason"])
        # The queues of all five are stuck.
        self.assertGreaterEqual(self.values(case, "queues that a watchdog freed")[""], 5)
        # What it drops is sent again by all senders at the same time, so that they block each other as before.
        status, case = self.deadlock(watchdog=watchdog)
        self.assertEqual((status, case["verdict"]), (FAILED, "fail"), case["reason"])
        self.assertEqual(self.values(case, "PFC deadlocks")[""], 0)
        self.assertRegex(case["reason"], r"deadline of 30 s passed; a watchdog freed \d{3,} queues, and the circle closed")

    def test_hooks_that_go_wrong_are_errors_of_their_test(self):
        hooks = {"fails": "sh -c 'echo no route >&2; exit 7'", "hangs": "sleep 60", "prints rubbish": "echo hello",
                 "counts nothing": "echo {}", "counts no number": "echo '{\\\"b\\\": 1, \\\"c\\\": null}'"}  # fmt: skip
        for name, command in hooks.items():
            suite = self.suite(f"hooks: {{counters: \"{command}\"}}\nhook_patience: 300ms\n"
                               "tests:\n  - {select: T8.soak, duration: 50ms}\n")
            process, cases = self.run_suite(suite, "--only", "T8.soak", "--only", "I.disaggregated", out=name)
            self.assertEqual(process.returncode, FAILED)
            self.assertEqual(cases["T8.soak"]["verdict"], "error", name)
            self.assertIn(command.split()[0], cases["T8.soak"]["reason"])
            self.assertIn(cases["I.disaggregated"]["verdict"], ("pass", "inconclusive"))  # the next

    def test_a_plan_says_what_is_skipped_and_counts_at_the_rate_of_the_ports(self):
        def plan(rate):
            base = self.folder / "base.yaml"
            base.write_text(f"name: x\nports: {{count: 4, device: memory, rate: {rate}}}\n", encoding="utf-8")
            (self.folder / "suite.yaml").write_text("name: x\nbase: base.yaml\n", encoding="utf-8")
            process = rankwire("bmwg", "plan", self.folder / "suite.yaml", "--quick", "--json")
            return {test["id"]: test for test in json.loads(process.stdout)["tests"]}

        tests = plan("1Gbps")
        # One switch with four ports, and no configured congestion control, lossless priority, cable or second leaf.
        self.assertNotIn("mirror", tests["T3.ecn"]["stimulus"])
        for name, reason in (("T2.ultra_ethernet", "RoCEv2"), ("T3.dcqcn", "congestion_control"),
                             ("T3.storm", "fabric.lossless"), ("T3.deadlock", "takes 5 ports"),
                             ("T4.ecmp", "no parallel paths"),
                             ("T6.interference", "take 8 hosts, and there are 4"),
                             ("T7.link_failure", "no cables between switches")):  # fmt: skip
            self.assertIn(reason, tests[name]["skipped"], name)
            self.assertEqual(tests[name]["seconds"], 0)
        # 2 x (64 KiB + 256 KiB) x (5 + 5 calls) x 8 bit at 1 Gbit/s by 4 accelerators; 8 are more than there are.
        self.assertIsNone(tests["T5.all_reduce"]["skipped"])
        self.assertAlmostEqual(tests["T5.all_reduce"]["seconds"], 2 * 320 * 1024 * 10 * 8 / 1e9, delta=0.001)
        self.assertAlmostEqual(plan("100Mbps")["T5.all_reduce"]["seconds"], 2 * 320 * 1024 * 10 * 8 / 1e8, delta=0.001)
        # At 100 Mbit/s 50 messages of 64 KiB are longer than 50 ms, and those of 4 KiB are not; each in two directions and
        # with two numbers of queue pairs, by 1 + log2(1 / 2 %), rounded up, steps of a search.
        self.assertAlmostEqual(plan("100Mbps")["T1.throughput"]["seconds"], 2 * 2 * 7 * (0.05 + 50 * 65536 * 8 / 1e8),
                               delta=0.001)  # fmt: skip
        # Four samples of 50 ms, which are 4 calls of 2 x 64 KiB x 8 bit at 100 Mbit/s, and as many that warm up.
        self.assertAlmostEqual(plan("100Mbps")["T8.soak"]["seconds"], 4 * 8 * 2 * 65536 * 8 / 1e8, delta=0.001)
        # 8 accelerators on four ports: what a list has is left out, one number is cut.
        self.assertIn("accelerators=2,4,8;", tests["T7.scale"]["stimulus"])
        self.assertIn("; 8 accelerators are left out: the hosts hold 4)", tests["T7.scale"]["stimulus"])
        for name in ("T8.soak", "I.moe_dispatch", "I.disaggregated", "I.contention"):
            self.assertIn("accelerators=4;", tests[name]["stimulus"])
            self.assertIn("; 8 accelerators were cut to 4: the hosts hold 4)", tests[name]["stimulus"])
        process = rankwire("bmwg", "plan", self.folder / "suite.yaml", "--quick", "--only", "T4.*")
        self.assertIn("T4.spray             skipped  one switch has no parallel paths (fabric)", process.stdout)
        self.assertIn("3 tests, 3 of them skipped, about 0 s", process.stdout)

    def test_what_the_suite_sets_is_told_apart_from_what_quick_scales(self):
        suite = self.suite("tests:\n  - {select: T7.scale, size: 4KiB}\n")
        plan = rankwire("bmwg", "plan", suite, "--quick", "--only", "T7.scale").stdout
        self.assertIn("(scaled down by --quick: accelerators=2,4,8; iterations=3; of the suite: size=4KiB)", plan)

    def test_force_leaves_nothing_of_what_was_there(self):
        out = self.folder / "out"
        for left in ("cases/T1.burst/old", "cases/mine/keep", "collective.csv", "report.html", "run.sqlite", "mine.txt"):
            (out / left).parent.mkdir(parents=True, exist_ok=True)
            (out / left).write_text("x", encoding="utf-8")
        process, _ = self.run_suite(self.suite("dut: S9 of Acme\n"), "--twin", "--only", "T2.*", "--force")
        self.assertEqual(process.returncode, INCONCLUSIVE, process.stderr)
        self.assertEqual(sorted(path.name for path in out.iterdir()),
                         ["cases", "junit.xml", "mine.txt", "suite.html", "suite.json", "suite.md"])  # fmt: skip
        self.assertEqual([str(path.relative_to(out)) for path in (out / "cases").rglob("*")], ["cases/mine", "cases/mine/keep"])
        report = (out / "suite.md").read_text(encoding="utf-8")
        self.assertIn("S9 of Acme", report)
        self.assertIn("## Host configuration", report)
        self.assertIn(os.uname().release, report)

    def test_counters_of_a_soak_are_curves(self):
        counters = self.folder / "counters"
        counters.write_text(f"#!/bin/sh\necho x >> {self.folder}/calls\n"
                            f"echo \"{{\\\"memory\\\": $(wc -l < {self.folder}/calls)}}\"\n", encoding="utf-8")  # fmt: skip
        counters.chmod(0o755)
        suite = self.suite(f"hooks: {{counters: {counters}}}\n"
                           "tests:\n  - {select: T8.soak, duration: 60ms, interval: 20ms, accelerators: 1024}\n")  # fmt: skip
        process, cases = self.run_suite(suite, "--only", "T8.soak")
        self.assertIn(process.returncode, (OK, INCONCLUSIVE), process.stdout + process.stderr)
        self.assertRegex(cases["T8.soak"]["anomalies"][0], r"^1024 accelerators were cut to (\d+): the hosts hold \1$")
        (curve,) = (curve for curve in cases["T8.soak"]["curves"] if curve["name"] == "memory")
        self.assertEqual(curve["points"], [[0, 1], [0.02, 2], [0.04, 3]])
        self.assertIn("memory", (self.folder / "out" / "suite.html").read_text(encoding="utf-8"))

    def test_a_mirrored_port_is_looked_at_before_and_after_each_run(self):
        # Each look sees 10 packets more, of which 2 are marked: no device marks so few below its threshold.
        mirror = self.folder / "mirror"
        mirror.write_text(f"#!/bin/sh\necho x >> {self.folder}/looks\nn=$(wc -l < {self.folder}/looks)\n"
                          'echo "{\\"packets\\": $((n * 10)), \\"marked\\": $((n * 2))}"\n', encoding="utf-8")  # fmt: skip
        mirror.chmod(0o755)
        suite = self.suite(f"hooks: {{mirror: {mirror}}}\n"
                           "tests:\n  - {select: T3.ecn, thresholds: 64KB, duration: 5ms}\n")  # fmt: skip
        plan = rankwire("bmwg", "plan", suite, "--quick", "--only", "T3.ecn")
        self.assertIn("; marks where they are made by the hook `mirror`, before and after each run", plan.stdout)
        process, cases = self.run_suite(suite, "--only", "T3.ecn")
        self.assertIn(process.returncode, (FAILED, INCONCLUSIVE), process.stderr)
        case = cases["T3.ecn"]
        ratios = [m["value"] for m in case["measurements"] if m["name"] == "mirrored port, ECN marking ratio"]
        self.assertEqual(ratios, [0.2] * 7)
        # Of the seven loads 25, 50 and 90 % of the threshold are below it.
        below = [m for m in case["measurements"] if m["name"] == "packets marked below the threshold, mirrored port"]
        self.assertEqual([(m["value"], m["verdict"]) for m in below], [(6, "fail")])
        self.assertEqual((self.folder / "looks").read_text(encoding="utf-8"), "x\n" * 14)

    def test_a_mirror_that_prints_something_else_is_an_error(self):
        suite = self.suite("hooks: {mirror: 'echo {\\\"mark\\\": 1}'}\n"
                           "tests:\n  - {select: T3.ecn, thresholds: 64KB, duration: 5ms}\n")  # fmt: skip
        process, cases = self.run_suite(suite, "--only", "T3.ecn")
        self.assertEqual((process.returncode, cases["T3.ecn"]["verdict"]), (FAILED, "error"))
        self.assertIn("mirror: 'echo {\\\"mark\\\": 1}': it printed 'mark', which is none of packets, marked", cases["T3.ecn"]["reason"])

    def test_an_interrupt_ends_a_hook_at_once(self):
        suite = self.suite("hooks: {counters: 'sleep 600'}\nhook_patience: 600s\n"
                           "tests:\n  - {select: T8.soak, duration: 20ms, interval: 20ms}\n"
                           "  - {select: T7.scale, accelerators: 2}\n")  # fmt: skip
        out = self.folder / "out"
        with start("bmwg", "run", suite, "--quick", "--out", out, "--only", "T8.soak", "--only",
                   "T7.scale") as process:  # fmt: skip
            end = time.monotonic() + 60
            while time.monotonic() < end and not (out / "cases/T8.soak/sample-1/summary.json").exists():
                time.sleep(0.02)
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=60)
        self.assertEqual(process.returncode, FAILED)
        self.assertEqual([case["id"] for case in self.ended_tests(out)], ["T7.scale"])
        self.assertIn("interrupted", (out / "suite.md").read_text(encoding="utf-8"))

    def test_a_slow_line_carries_enough_messages_to_tell_goodput(self):
        """At 30 % of 40 Mbit/s the 50 ms of --quick have one message of 64 KiB of each pair: what is under way at the end, of
        one or two messages, is a small part of 50 only."""
        suite = self.suite("set: {ports.rate: 40Mbps}\n")
        process, cases = self.run_suite(suite, "--twin", "--only", "T4.spray")
        self.assertEqual(process.returncode, OK, process.stdout + process.stderr)
        self.assertGreaterEqual(self.values(cases["T4.spray"], "effective goodput")["4 queue pairs"], 48 / 50)

    def test_the_twin_asks_no_device(self):
        """What a lab's device counts and does is none of the traffic in virtual time."""
        base = self.folder / "base.yaml"
        ports = ", ".join(f"{{name: p{port}, device: net_null{port}, rate: 1Gbps}}" for port in range(4))
        base.write_text(f"name: x\nports: [{ports}]\n", encoding="utf-8")
        touch = f"touch {self.folder}/asked"
        suite = {"name": "x", "base": "base.yaml", "hooks": {name: touch for name in ("counters", "mirror", "link_down")},
                 "tests": [{"select": "T8.soak", "duration": "20ms", "interval": "20ms"}]}  # fmt: skip
        file = self.folder / "suite.yaml"
        file.write_text(yaml.safe_dump(suite), encoding="utf-8")
        process, cases = self.run_suite(file, "--twin", *(f"--only={test}" for test in ("T4.spray", "T7.*failure", "T8.*")))
        self.assertEqual(process.returncode, OK, process.stdout + process.stderr)
        self.assertEqual([case["verdict"] for case in cases.values()], ["skipped", "skipped", "pass"])
        self.assertIn("counters`, which there is none of, or not with --twin", cases["T4.spray"]["reason"])
        self.assertIn("--twin asks no device, so that what `counters` would have told is left out", cases["T8.soak"]["anomalies"])
        self.assertFalse((self.folder / "asked").exists())

    def test_an_interrupt_is_resumed(self):
        only = ("--twin", "--only", "T5.*", "--only", "T6.jct")
        suite = self.few_runs()
        out = self.folder / "out"
        process = start("bmwg", "run", suite, "--quick", "--out", out, *only)
        end = time.monotonic() + 60
        while time.monotonic() < end and not self.ended_tests(out):
            time.sleep(0.02)
        os.kill(process.pid, signal.SIGINT)
        process.communicate(timeout=60)
        before = json.loads((out / "suite.json").read_text(encoding="utf-8"))
        self.assertTrue(before["interrupted"] or len(before["cases"]) == 4)
        refused = rankwire("bmwg", "run", suite, "--quick", "--out", out, *only)
        self.assert_one_line_error(refused, USAGE, "--resume")
        process, cases = self.run_suite(suite, "--resume", *only)
        self.assertEqual(process.returncode, OK, process.stderr)
        self.assertEqual(list(cases), ["T5.all_reduce", "T5.all_to_all", "T5.all_gather", "T6.jct"])
        self.assertEqual(cases["T5.all_reduce"]["began_unix_ms"], before["cases"][0]["began_unix_ms"])

    def test_a_kill_ends_the_run_at_work_and_is_resumed(self):
        only = ("--twin", "--only", "T6.jct", "--only", "T7.scale", "--only", "I.disaggregated")
        suite = self.few_runs()
        out = self.folder / "out"
        with start("bmwg", "run", suite, "--quick", "--out", out, *only) as process:
            end = time.monotonic() + 60
            while time.monotonic() < end and not self.ended_tests(out):
                time.sleep(0.02)
            process.kill()
            process.communicate(timeout=60)

        def at_work():
            return [file for file in pathlib.Path("/proc").glob("[0-9]*/cmdline") if os.fsencode(out) in contents(file)]

        def contents(file):
            try:
                return file.read_bytes()
            except OSError:  # it has ended
                return b""

        # Nothing may go on sending beside the runs of who goes on.
        end = time.monotonic() + 20
        while time.monotonic() < end and at_work():
            time.sleep(0.02)
        self.assertEqual(at_work(), [])
        before = json.loads((out / "suite.json").read_text(encoding="utf-8"))
        self.assertTrue(before["interrupted"])
        self.assertEqual(before["cases"][0]["id"], "T6.jct")
        process, cases = self.run_suite(suite, "--resume", *only)
        self.assertEqual(process.returncode, OK, process.stderr)
        self.assertEqual({name: case["verdict"] for name, case in cases.items()},
                         {"T6.jct": "pass", "T7.scale": "pass", "I.disaggregated": "pass"})  # fmt: skip
        self.assertEqual(cases["T6.jct"], before["cases"][0])
        after = json.loads((out / "suite.json").read_text(encoding="utf-8"))
        self.assertFalse(after["interrupted"])

    def test_ports_that_are_not_embedded_are_asked_for(self):
        base = self.folder / "base.yaml"
        base.write_text("name: x\nports:\n  - {name: a, device: 'net_null0', rate: 1Gbps}\n"
                        "  - {name: b, device: 'net_null1', rate: 1Gbps}\n", encoding="utf-8")
        suite = self.folder / "suite.yaml"
        suite.write_text("name: x\nbase: base.yaml\n", encoding="utf-8")
        process = rankwire("bmwg", "run", suite, "--quick", "--out", self.folder / "out")
        self.assert_one_line_error(process, USAGE, "net_null0", "--yes")
        self.assertFalse((self.folder / "out").exists())
        self.assertEqual(rankwire("bmwg", "plan", suite, "--quick").returncode, OK)

    def test_wrong_suites_before_anything_runs(self):
        process = rankwire("bmwg", "run", self.suite("tests: [{select: T1.troughput}]\n"), "--out", self.folder / "out")
        self.assert_one_line_error(process, USAGE, "suite.yaml:3", "T1.throughput")
        process = rankwire("bmwg", "run", QUICK, "--only", "T9.*", "--out", self.folder / "out")
        self.assert_one_line_error(process, USAGE, "T9.*")
        for command in ("plan", "run"):
            suite = self.suite("tests:\n  - select: T5.*\n    sizes: [64KiB, 7B]\n")
            process = rankwire("bmwg", command, suite, *(("--out", self.folder / "out") if command == "run" else ()))
            self.assert_one_line_error(process, USAGE, "suite.yaml:5: sizes: 7 B of T5.all_reduce is not a whole number of "
                                       "elements of 4 B (float)")  # fmt: skip
        # 8 accelerators are the most of --quick that there are NPUs for, with an element of 4 B each.
        for test, value, why in (("T5.all_to_all", "sizes: [64KiB, 4B]", "sizes of T5.all_to_all: 4B: each of 8 accelerators has"),
                                 ("T5.all_gather", "sizes: 28B", "takes 32 B"), ("T8.soak", "size: 4B", "takes 32 B"),
                                 ("T7.link_failure", "iterations: 2", "iterations of T7.link_failure: 2: it takes 3 or more"),
                                 ("T1.latency", "load: 0%", "load of T1.latency: 0 %: it takes traffic"),
                                 ("T4.ecmp", "load: 0%", "load of T4.ecmp: 0 %"),
                                 ("I.contention", "loads: [50%, 0%]", "loads of I.contention: 0 %")):  # fmt: skip
            process = rankwire("bmwg", "plan", self.suite(f"tests:\n  - select: {test}\n    {value}\n"), "--quick")
            self.assert_one_line_error(process, USAGE, "suite.yaml:5: ", why)
        process = rankwire("bmwg", "plan", self.suite("set: {transport.mtv: 1024B}\n"))
        self.assert_one_line_error(process, USAGE, "transport.mtu")
        self.assertFalse((self.folder / "out").exists())


if __name__ == "__main__":
    unittest.main()

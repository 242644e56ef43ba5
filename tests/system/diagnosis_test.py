"""Whom a run blames: a Linux bridge that is slow, or dead, towards one of its ports, and limits that decide the verdict."""

import signal
import unittest

from bridge import BridgeTest, command, ip
from rankwire import FAILED, OK, RankwireTest, Run, rankwire, start, transformer, wait_for_operations


class SlowBridge(BridgeTest):
    TOOLS = ("ip", "tc")

    ATTEMPTS = 3  # of a machine that is too busy to send in time

    def configuration_of(self, **keys):
        return {
            "workload": {
                "generate": transformer(
                    tensor_parallel=2, pipeline_parallel=1, data_parallel=4, layers=1, micro_batches=1
                ),
                "scale": {"compute": "1/100"},
            },
            "ports": [
                {"name": f"p{port}", "device": f"net_af_packet{port},iface=rw{port}", "rate": "200Mbps"}
                for port in range(self.PORTS)
            ],
            "transport": {"mtu": "1024B", "timeout": 16},
            "dpdk": {"eal_arguments": ["--no-pci"]},
            "run": {"deadline": "60s"},
        } | keys

    def printed(self, config, status):
        """What a person sees of the run."""
        process = rankwire(
            "run", self.configuration(config), "--force", "--out", self.folder / "run", prefix=self.inside()
        )
        self.assertEqual(process.returncode, status, process.stdout + process.stderr)
        return process.stdout

    def shape(self):
        """The bridge sends no more than 10 Mbit/s to p2, a twentieth of what a port does, and drops what it has no room
        for."""
        command("ip", "netns", "exec", self.far, "tc", "qdisc", "add", "dev", "dut2", "root",
                "tbf", "rate", "10mbit", "burst", "16kb", "limit", "32kb")  # fmt: skip

    def kept_up(self):
        """A run that the bridge held up. Where the machine was too busy, and the run says that its own loop may have taken
        most of the time, there is nothing to say of the bridge."""
        for attempt in range(self.ATTEMPTS):
            run = self.call("run", self.configuration_of(), prefix=self.inside(), status=OK, out=f"run{attempt}")
            gap = run.summary["diagnosis"]["gap"]["gap_ps"]
            reasons = run.summary["fidelity_reasons"]
            slipped = run.summary["generator"]["slipped_ps"]
            if 2 * slipped < gap and not any("of the loop" in reason for reason in reasons):
                return run
        self.skipTest(f"{self.ATTEMPTS} runs were not sent in time: {'; '.join(reasons)}")

    def test_a_slow_way_to_one_port(self):
        self.shape()
        run = self.kept_up()
        self.assertEqual(run.summary["verdict"], "degraded")
        losses = run.summary["diagnosis"]["losses"]
        self.assertGreater(losses["lost"], 50)
        self.assertEqual(losses["where"]["trait"], "destination_port")
        self.assertIn("port p2", losses["where"]["text"])
        self.assertGreater(losses["where"]["part_of_trouble"], 0.99)
        # All that was lost was on its way to p2, from each of the others that sends there.
        lost = [row for row in run.rows("losses") if int(row["lost"]) > 0]
        self.assertEqual({row["destination_name"] for row in lost}, {"p2"})
        self.assertEqual(sum(int(row["lost"]) for row in lost), losses["lost"])
        gap = run.summary["diagnosis"]["gap"]
        self.assertEqual(gap["generator_ps"] + gap["rest_ps"], gap["gap_ps"])
        self.assertGreater(gap["rest_ps"], gap["gap_ps"] / 2, "twenty times the time is the bridge's")

    def test_limits_make_it_a_failure(self):
        self.shape()
        text = self.printed(self.configuration_of(limits={"ratio": 1.5, "loss_ppm": 0}, run={"certify": "off", "deadline": "60s"}), FAILED)
        self.assertIn("limits.ratio: ", text.splitlines()[0])
        self.assertIn("limits.loss_ppm: ", text.splitlines()[0])
        self.assertIn("port p2", text)

    def test_a_dead_port(self):
        ip("-n", self.far, "link", "set", "dut2", "down")
        config = self.configuration_of(transport={"mtu": "1024B", "timeout": 8, "neighbours": "static"},
                                       workers={"count": 2})
        text = self.printed(config, FAILED)
        first = text.splitlines()[:3]
        self.assertTrue(any("port p2" in line for line in first), text)
        self.assertLessEqual(len(text.splitlines()), 20, text)

    def test_a_port_that_vanishes_during_a_run(self):
        # A rank on another port may be the first that nobody hears of. Whether the run stalls or fails, it says what became
        # of p2 before all else.
        config = self.configuration_of(transport={"mtu": "1024B", "timeout": 14, "retry_count": 2, "neighbours": "static"})
        config["workload"]["iterations"] = 1000
        out = self.folder / "run"
        with start("run", self.configuration(config), "--out", out, prefix=self.inside()) as process:
            self.assertGreater(wait_for_operations(process, out), 0)
            ip("-n", self.near, "link", "delete", "rw2")
            text, errors = process.communicate(timeout=120)
        self.assertEqual(process.returncode, FAILED, text + errors)
        gone = "device net_af_packet2,iface=rw2: there is no network interface rw2 any more"
        summary = Run(out).summary
        self.assertTrue(summary["reason"].startswith(f"port p2: {gone}; "), summary["reason"])
        diagnosis = summary["diagnosis"]
        self.assertEqual(diagnosis["lost_links"], [{"port": "p2", "text": gone}])
        self.assertEqual(diagnosis["findings"][0], f"port p2 (host 2): {gone}")
        self.assertEqual(diagnosis["failed_connections"]["where"]["text"], "port p2 (host 2)")
        self.assertEqual(summary["stall"]["class"], "lost_link")
        self.assertIn(summary["stall"]["culprit"], (2, 6), "ranks behind p2")
        self.assertRegex(text.splitlines()[1], f"^stuck +lost_link: port p2: {gone}")

    def assert_names_the_port_of_what_is_not_connected(self, before=""):
        transport = {"mtu": "1024B", "resolve_deadline": "200ms", "resolve_interval": "20ms"}
        text = self.printed(self.configuration_of(transport=transport), FAILED)
        first = text.splitlines()[:3]
        if before:
            self.assertRegex(first.pop(1), f"^found +port p2 .host 2.: {before}")
            first[1] = "found" + first[1]
            before = f"port p2: {before}; "
        self.assertRegex(first[0], rf"^verdict +failed: {before}\d+ of \d+ connections failed; .*no answer to ARP in 0.2 s")
        self.assertRegex(first[1], r"^found +\d+ connections failed; 100 % of them .* port p2 \(host 2\)")
        summary = Run(self.folder / "run").summary
        self.assertEqual((summary["reason_code"], summary["emulated"]["completion_time_ps"]), ("not_connected", None))
        # Every connection that has an end there, and no other.
        failed = summary["diagnosis"]["failed_connections"]
        self.assertEqual(failed["recorded"], len(summary["failures"]))
        self.assertEqual((failed["where"]["text"], failed["where"]["part_of_trouble"]), ("port p2 (host 2)", 1))
        self.assertIn("port p2 (host 2)", (self.folder / "run/report.html").read_text(encoding="utf-8"))

    def test_a_port_that_is_dead_before_the_run(self):
        ip("-n", self.far, "link", "set", "dut2", "down")
        self.assert_names_the_port_of_what_is_not_connected(
            "device net_af_packet2,iface=rw2: the link of the network interface rw2 is down"
        )

    def test_a_device_that_forwards_nothing_to_a_port(self):
        ip("-n", self.far, "link", "set", "dut2", "type", "bridge_slave",
           "learning", "off", "flood", "off", "mcast_flood", "off", "bcast_flood", "off")  # fmt: skip
        self.assert_names_the_port_of_what_is_not_connected()


class Inquiry(RankwireTest):
    def test_a_run_at_work_says_who_waits(self):
        config = {
            "workload": {"generate": transformer(), "iterations": 10_000},
            "ports": {"count": 4, "device": "memory", "rate": "1Gbps"},
        }
        process = start("run", self.configuration(config), "--quiet", "--out", self.folder / "run")
        self.assertGreater(wait_for_operations(process, self.folder / "run"), 0)
        process.send_signal(signal.SIGUSR1)
        first = process.stderr.readline()
        process.send_signal(signal.SIGINT)
        rest = process.communicate(timeout=60)[1]
        self.assertEqual(process.returncode, FAILED, first + rest)
        self.assertRegex(first, r"^emulated run at [0-9.e-]+ s: [0-9]+ operations have ended; (waiting:|nobody waits)$")
        # It went on, until it was stopped.
        self.assertIn("interrupted: stopped by a signal", rest)


class Terminal(RankwireTest):
    """What is printed is short, however much there is to tell, and names what has the rest."""

    def lines(self, **keys):
        config = {
            "workload": {"generate": transformer()},
            "ports": {"count": 4, "rate": "10Gbps"},
            "record": {"causes": True},
        } | keys
        process = rankwire("simulate", self.configuration(config), "--twin", "--force", "--out", self.folder / "run")
        return process.returncode, process.stdout.splitlines()

    def test_a_good_run_and_a_bad_one(self):
        status, lines = self.lines()
        self.assertEqual((status, lines[0].split()), (OK, ["verdict", "ok"]))
        self.assertLessEqual(len(lines), 12, lines)
        self.assertRegex(lines[1], "^completion .* ratio ")
        self.assertRegex(lines[-1], r"^report .*/report\.html, which has more: .*compute")
        status, lines = self.lines(switch={"loss": "2%"}, limits={"ratio": 1.0001}, seed=3)
        self.assertEqual(status, FAILED, lines)
        self.assertLessEqual(len(lines), 20, lines)
        # The culprit comes before all other figures, and the diagnosis is half of what is printed at most.
        self.assertRegex(lines[1], "^found +to blame: ")
        completion = next(i for i, line in enumerate(lines) if line.startswith("completion"))
        self.assertLessEqual(completion, 10)
        self.assertEqual(len(set(lines)), len(lines), "each line once")


class Limits(RankwireTest):
    def test_a_twin_keeps_or_breaks_them(self):
        config = {
            "workload": {"generate": transformer()},
            "ports": {"count": 4, "rate": "10Gbps"},
            "simulation": {"fidelity": ["flow"]},
            "limits": {"ratio": 1000, "timeouts": 0, "busbw": {"all_reduce": "1Kbps"}},
        }
        run = self.call("simulate", config, "--twin")
        self.assertEqual(run.summary["verdict"], "ok")
        self.assertEqual([limit["is_kept"] for limit in run.summary["limits"]], [True] * 3)
        config["limits"] = {"busbw": {"all_reduce": "60Tbps"}}
        run = self.call("simulate", config, "--twin", status=FAILED)
        self.assertEqual(run.summary["reason_code"], "limit_exceeded")
        # A reference alone has nothing to keep, which it says.
        run = self.call("simulate", config)
        self.assertEqual(run.summary["verdict"], "ok")
        self.assertEqual(run.summary["warnings"],
                         ["limits.busbw.all_reduce: not judged, since nothing was emulated (simulate --twin, or run)"])


if __name__ == "__main__":
    unittest.main()

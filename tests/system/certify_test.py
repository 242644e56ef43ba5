"""What the generator says of itself before a run, and what becomes of a verdict that hangs on less."""

import json
import unittest

from bridge import BridgeTest, command, ip
from rankwire import FAILED, INCONCLUSIVE, OK, USAGE, RankwireTest, rankwire, transformer



class Certified(RankwireTest):
    def small(self, **sections):
        return {
            "workload": {"generate": transformer(layers=2, micro_batches=2)},
            "hosts": {"count": 4, "npus": 2},
            "ports": {"count": 4, "device": "ring", "rate": "500Mbps"},
        } | sections

    def assert_measured(self, certification):
        self.assertIsNone(certification["reason"])
        self.assertEqual(len(certification["errors"]), 4)
        # Nothing is earlier in real time than in virtual time by more than a clock can be wrong.
        self.assertGreater(min(certification["errors"]), -0.01)
        self.assertGreaterEqual(certification["resolvable"], max(0, sum(certification["errors"]) / 4))
        self.assertGreater(certification["operations"], 10)
        self.assertGreater(certification["compared_ps"], 10**9)
        self.assertGreater(certification["worst_turn_ps"], 0)
        self.assertLess(abs(certification["clock"]["slew_ppm"]), 1000)  # the most that the kernel slews is 500

    def test_check_measures_without_any_device(self):
        # An interface that does not exist is not looked for, unless its port is to send.
        ports = [{"name": f"p{i}", "device": f"net_af_packet{i},iface=nowhere{i}", "rate": "500Mbps"} for i in range(4)]
        path = self.configuration(self.small(ports=ports))
        process = rankwire("check", path, "--certify", "--json")
        self.assertEqual(process.returncode, OK, process.stderr)
        self.assert_measured(json.loads(process.stdout)["certification"])
        self.assertIsNone(json.loads(rankwire("check", path, "--json").stdout)["certification"])
        self.assertIn("may be the generator's own", rankwire("check", path, "--certify").stdout)
        self.assert_one_line_error(rankwire("check", path, "--certify-ports", "--no-measure"), USAGE, "nowhere0")

    def test_a_run_says_what_it_cannot_tell(self):
        run = self.call("run", self.small(), "--set", "run.certify=on")
        self.assert_measured(run.summary["certification"])
        self.assertEqual(run.summary["verdict"], "ok")
        # A limit where the ratio is, for which a run measures by itself: whether it is kept or broken, and by what, is for
        # the run to say.
        path = self.configuration(self.small(limits={"ratio": round(run.summary["ratio"], 3)}))
        process = rankwire("run", path, "--quiet", "--out", self.folder / "limited")
        summary = json.loads((self.folder / "limited/summary.json").read_text(encoding="utf-8"))
        (limit,) = summary["limits"]
        less, more = sorted((limit["value"], limit["limit"]))
        if more < less * (1 + summary["certification"]["resolvable"]):
            expected = ("inconclusive", "below_resolution", INCONCLUSIVE)
        elif limit["is_kept"]:
            expected = ("ok", "completed", OK)
        else:
            expected = ("failed", "limit_exceeded", FAILED)
        self.assertEqual((summary["verdict"], summary["reason_code"], process.returncode), expected)

    def test_nothing_is_measured_that_no_limit_needs(self):
        for name, limits, choice in (("timeouts", {"timeouts": 10**6}, "auto"), ("ratio", {"ratio": 1000}, "off")):
            with self.subTest(name=name):
                run = self.call("run", self.small(limits=limits), "--set", f"run.certify={choice}", out=name)
                self.assertIsNone(run.summary["certification"])

    def test_what_takes_too_long_is_cut(self):
        # A gradient of a megabyte and more takes minutes.
        work = transformer(tensor_parallel=1, pipeline_parallel=1, data_parallel=4)
        slow = {"hosts": {"count": 4, "npus": 1}, "ports": {"count": 4, "device": "ring", "rate": "100Kbps"}}
        path = self.configuration(self.small(workload={"generate": work}, **slow))
        process = rankwire("check", path, "--certify", "--no-measure", "--json")
        certification = json.loads(process.stdout)["certification"]
        self.assertIsNone(certification["reason"])
        self.assertIn(certification["cut"], (256, 65536))
        self.assertGreater(certification["operations"], 0)

    def test_nothing_to_measure_is_said(self):
        path = self.configuration(self.small(workload={"nodes": [{"name": "work", "ranks": "0-7", "duration": "1ms"}]}))
        certification = json.loads(rankwire("check", path, "--certify", "--no-measure", "--json").stdout)["certification"]
        self.assertIsNone(certification["resolvable"])
        self.assertIn("no communication came to its end", certification["reason"])


class CertifiedPorts(BridgeTest):
    """Ports of devices send to themselves, which a bridge filters, unless it is told to send them back."""

    def test_ports_send_at_their_rate_and_only_to_themselves(self):
        ports = [{"name": f"p{i}", "device": f"net_af_packet{i},iface=rw{i}", "rate": "200Mbps"} for i in range(4)]
        config = {
            "workload": {"generate": transformer(layers=2, micro_batches=2)},
            "hosts": {"count": 4, "npus": 2},
            "ports": ports,
            "transport": {"mtu": "1024B"},
            "dpdk": {"eal_arguments": ["--no-pci"]},
        }
        command("bridge", "-n", self.far, "link", "set", "dev", "dut1", "hairpin", "on")
        path = self.configuration(config)
        process = rankwire("check", path, "--certify-ports", "--no-measure", "--json", prefix=self.inside())
        self.assertEqual(process.returncode, OK, process.stderr)
        self.assert_sent(json.loads(process.stdout)["certification"])
        for workers in (1, 2):
            with self.subTest(workers=workers):
                asked = ("--set", "run.certify=on", "--set", f"workers.count={workers}")
                run = self.call("run", config, *asked, out=f"run{workers}", prefix=self.inside())
                self.assert_delivered(run)
                self.assert_sent(run.summary["certification"])
                # What was sent before the run is none of it: there are packets, and those that look for neighbours.
                sent = sum(int(row["tx_frames"]) for row in run.rows("ports", fidelity="emulated"))
                self.assertLess(sent, run.transport["packets_tx"] + 200)

    def test_a_port_without_a_link_has_no_figures_and_ports_need_no_communication(self):
        ports = [{"name": f"p{i}", "device": f"net_af_packet{i},iface=rw{i}", "rate": "200Mbps"} for i in range(4)]
        config = {
            "workload": {"nodes": [{"name": "work", "ranks": "0-3", "duration": "1ms"}]},
            "hosts": {"count": 4, "npus": 1},
            "ports": ports,
            "transport": {"mtu": "1024B"},
            "dpdk": {"eal_arguments": ["--no-pci"]},
        }
        ip("-n", self.far, "link", "set", "dut1", "down")
        ip("-n", self.near, "link", "set", "rw2", "down")
        check = ("check", self.configuration(config), "--certify-ports", "--no-measure")
        process = rankwire(*check, "--json", prefix=self.inside())
        self.assertEqual(process.returncode, OK, process.stderr)
        certification = json.loads(process.stdout)["certification"]
        self.assertIsNone(certification["resolvable"])
        self.assertIn("no communication came to its end", certification["reason"])
        linked = [port["port"] for port in certification["ports"] if port["link_up"]]
        self.assertEqual(linked, ["p0", "p3"])
        for port in certification["ports"]:
            self.assertEqual(port["frames"] > 0, port["link_up"])
            self.assertEqual(port["resolvable"] is not None, port["link_up"])
            self.assertEqual(port["reason"] is None, port["link_up"])
        self.assertIn("the link of the network interface rw1 is down", certification["ports"][1]["reason"])
        self.assertIn("the network interface rw2 was set down", certification["ports"][2]["reason"])

    def assert_sent(self, certification):
        self.assertIsNone(certification["reason"])
        self.assertEqual([port["port"] for port in certification["ports"]], ["p0", "p1", "p2", "p3"])
        for port in certification["ports"]:
            # Four measurements of 25 ms at 200 Mbit/s: frames of 14 + 1024 bytes and 24 around them take 42.48 us, so 588
            # of them each, unless the machine is four times too slow for that.
            self.assertEqual(len(port["errors"]), 4)
            self.assertGreater(port["frames"], 4 * 588 // 8)
            self.assertLessEqual(port["frames"], 4 * 588)
            self.assertGreater(min(port["errors"]), -0.001)
        returned = [port["returned"] for port in certification["ports"]]
        self.assertEqual([bool(count) for count in returned], [False, True, False, False])
        # What one core adds and what a port adds may come together.
        self.assertGreater(certification["resolvable"], max(port["resolvable"] for port in certification["ports"]))


if __name__ == "__main__":
    unittest.main()

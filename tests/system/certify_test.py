"""What the generator says of itself before a run, and what becomes of a verdict that hangs on less."""

import json
import unittest

from rankwire import FAILED, INCONCLUSIVE, OK, RankwireTest, rankwire, transformer



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
        # An interface that does not exist is not looked for.
        ports = [{"name": f"p{i}", "device": f"net_af_packet{i},iface=nowhere{i}", "rate": "500Mbps"} for i in range(4)]
        path = self.configuration(self.small(ports=ports))
        process = rankwire("check", path, "--certify", "--json")
        self.assertEqual(process.returncode, OK, process.stderr)
        self.assert_measured(json.loads(process.stdout)["certification"])
        self.assertIsNone(json.loads(rankwire("check", path, "--json").stdout)["certification"])
        self.assertIn("may be the generator's own", rankwire("check", path, "--certify").stdout)

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

    def test_nothing_to_measure_is_said(self):
        # A gradient of a megabyte and more takes minutes.
        work = transformer(tensor_parallel=1, pipeline_parallel=1, data_parallel=4)
        slow = {"hosts": {"count": 4, "npus": 1}, "ports": {"count": 4, "device": "ring", "rate": "100Kbps"}}
        path = self.configuration(self.small(workload={"generate": work}, **slow))
        process = rankwire("check", path, "--certify", "--no-measure", "--json")
        certification = json.loads(process.stdout)["certification"]
        self.assertIsNone(certification["resolvable"])
        self.assertIn("no communication came to its end", certification["reason"])


if __name__ == "__main__":
    unittest.main()

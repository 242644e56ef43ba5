"""A job whose time is stretched: as if it were not where all is stretched alike, and what a device keeps where not."""

import json
import re
import time
import unittest

import chakra
from rankwire import OK, SOURCE, RankwireTest, rankwire, transformer

FACTOR = 8


def job(factor, device, **workload):
    return {
        "workload": workload or {"generate": transformer()},
        "hosts": {"count": 4},
        "ports": [{"name": f"p{i}", "device": device.format(i), "rate": "10Gbps"} for i in range(4)],
        "switch": {"latency": "1us", "link_latency": "100ns", "buffer": "1MiB"},
        "dilation": {"factor": factor},
    }


class Dilation(RankwireTest):
    def times(self, config, *arguments, out="run"):
        """Of the emulated side, and the median of the reference's band."""
        summary = self.call("simulate", config, *arguments, out=out).summary
        band = summary["reference"]["band"]
        return [summary["emulated"]["completion_time_ps"], band["median_ps"]], summary["dilation"], band

    def prediction(self, model, on_wires, own, band=None, own_band=None):
        """What `summary.json` says of a model by its runs over the wires and over the job's own network."""
        bound = [(own_band[early] - band[late]) / on_wires if band else None
                 for early, late in (("p5_ps", "p95_ps"), ("p95_ps", "p5_ps"))]
        return {"model": model, "on_wires_ps": on_wires, "stretched_ps": own, "difference": (own - on_wires) / on_wires,
                "difference_low": bound[0], "difference_high": bound[1], "runs_on_wires": band["runs"] if band else 1,
                "runs_stretched": own_band["runs"] if band else 1}

    def ring(self, size):
        """An all-reduce among four: 6 steps, one after the other."""
        prefix = self.folder / f"ring_{size}"
        chakra.write_ranks(prefix, [[chakra.collective(chakra.ALL_REDUCE, size)]] * 4)
        return {"traces": str(prefix)}

    def test_where_all_is_stretched_nothing_differs(self):
        whole, nothing, _ = self.times(job(1, "memory"), "--twin", out="whole")
        stretched, dilation, _ = self.times(job(FACTOR, "memory"), "--twin", out="stretched")
        self.assertEqual(stretched, whole)
        self.assertIsNone(nothing)
        self.assertEqual(dilation, {"factor": FACTOR, "predictions": [], "decided_by": None, "matters": None})

    def test_what_a_device_keeps_is_predicted(self):
        small = self.ring(4 << 10)
        own, _, own_band = self.times(job(1, "net_null{}", **small), "--twin", out="own")
        config = job(FACTOR, "net_null{}", **small)
        wires, dilation, band = self.times(config, "--twin", out="wires")
        self.assertEqual(dilation, {
            "factor": FACTOR,
            "predictions": [self.prediction("flow", wires[1], own[1], band, own_band),
                            self.prediction("twin", wires[0], own[0])],
            "decided_by": "twin",
            "matters": True,
        })
        # Of 1 us in the switch and 100 ns on each of two cables 7/8 are missing, in 6 steps and with the acknowledgements
        # of the last; and the members of the ensemble begin up to some thousandths of a step later.
        self.assertAlmostEqual(own[1] - wires[1], (6 + 1) * 1_200_000 * 7 // 8, delta=20_000)

        # A device that is as slow as it must be.
        config["dilation"]["device"] = {"latency": "8us", "link_latency": "800ns"}
        slow, dilation, _ = self.times(config, "--twin", out="slow")
        self.assertEqual(slow, own)
        self.assertFalse(dilation["matters"])

    def test_a_median_is_compared_with_a_median(self):
        # Groups keep in step in the single run. Over the job's own network that costs more than over the wires, so that
        # single runs differ by more than 1 %.
        own, _, own_band = self.times(job(1, "net_null{}"), out="own")
        wires, dilation, band = self.times(job(FACTOR, "net_null{}"), out="wires")
        self.assertEqual(dilation["predictions"], [self.prediction("flow", wires[1], own[1], band, own_band)])
        self.assertEqual((dilation["decided_by"], dilation["matters"]), ("flow", False))
        single = {model["model"]: model["completion_time_ps"]
                  for model in json.loads((self.folder / "wires/summary.json").read_text(encoding="utf-8"))["models"]}
        self.assertGreater(single["flow, stretched"] / single["flow"], 1.01)
        flow = dilation["predictions"][0]
        self.assertLess(0, flow["difference_low"])
        self.assertLess(flow["difference_low"], flow["difference"])
        self.assertLess(flow["difference"], flow["difference_high"])

    def test_large_messages_do_not_care(self):
        _, dilation, _ = self.times(job(FACTOR, "net_null{}", **self.ring(4 << 20)))
        self.assertEqual([prediction["model"] for prediction in dilation["predictions"]], ["flow"])
        self.assertFalse(dilation["matters"])

    def test_the_buffer_of_a_device_shows_in_the_twin(self):
        prefix = self.folder / "incast"
        chakra.write_ranks(prefix, [[chakra.collective(chakra.GATHER, 1 << 20)]] * 4)
        config = job(FACTOR, "net_null{}", traces=str(prefix))
        config["dilation"]["device"] = {"latency": "8us", "link_latency": "800ns", "buffer": "64KiB"}
        run = self.call("simulate", config, "--twin", out="run")
        flow, twin = run.summary["dilation"]["predictions"]
        self.assertEqual(flow["difference"], 0)
        self.assertLess(twin["difference"], 0, "frames that overflow 64 KiB are sent again")
        self.assertGreater(run.transport["retransmitted"], 0)
        self.assertIn("the device's buffer has 64KiB", " ".join(run.summary["warnings"]))

    def test_the_clock_of_a_run_is_slower(self):
        config = job(FACTOR, "memory", **self.ring(8 << 20))
        begin = time.monotonic()
        run = self.call("run", config)
        took = time.monotonic() - begin
        emulated = run.summary["emulated"]["completion_time_ps"]
        self.assertGreaterEqual(took, FACTOR * emulated / 1e12)
        self.assertGreaterEqual(emulated, 0.98 * run.summary["reference"]["completion_time_ps"])

    def test_the_documented_example_runs(self):
        document = (SOURCE / "docs/dilation.md").read_text(encoding="utf-8")
        (text,) = re.findall(r"```yaml\n(.*?)```", document, re.DOTALL)
        path = self.folder / "documented.yaml"
        path.write_text(text, encoding="utf-8")
        process = rankwire("check", path, "--no-measure")
        self.assertEqual(process.returncode, OK, process.stderr)
        small = ("layers=1", "hidden=512", "sequence=16", "vocabulary=1024", "micro_batches=1")
        changes = [word for key in small for word in ("--set", f"workload.generate.{key}")]
        summary = self.call("simulate", path, "--twin", *changes).summary
        self.assertEqual((summary["ranks"], summary["dilation"]["factor"]), (32, 8))
        self.assertEqual([prediction["model"] for prediction in summary["dilation"]["predictions"]], ["flow", "twin"])

    def test_check_says_what_differs(self):
        process = rankwire("check", self.configuration(job(FACTOR, "net_null{}")), "--no-measure")
        self.assertEqual(process.returncode, OK, process.stderr)
        self.assertIn("the device's latency of 1us is 125ns to the job, whose own network has 1us", process.stderr)


if __name__ == "__main__":
    unittest.main()

"""A job whose time is stretched: as if it were not where all is stretched alike, and what a device keeps where not."""

import time
import unittest

import chakra
from rankwire import OK, RankwireTest, rankwire, transformer

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
        summary = self.call("simulate", config, *arguments, out=out).summary
        return [summary[side]["completion_time_ps"] for side in ("emulated", "reference")], summary["dilation"]

    def ring(self, size):
        """An all-reduce among four: 6 steps, one after the other."""
        prefix = self.folder / f"ring_{size}"
        chakra.write_ranks(prefix, [[chakra.collective(chakra.ALL_REDUCE, size)]] * 4)
        return {"traces": str(prefix)}

    def test_where_all_is_stretched_nothing_differs(self):
        whole, nothing = self.times(job(1, "memory"), "--twin", out="whole")
        stretched, dilation = self.times(job(FACTOR, "memory"), "--twin", out="stretched")
        self.assertEqual(stretched, whole)
        self.assertIsNone(nothing)
        self.assertEqual(dilation, {"factor": FACTOR, "predictions": [], "matters": None})

    def test_what_a_device_keeps_is_predicted(self):
        small = self.ring(4 << 10)
        own, _ = self.times(job(1, "net_null{}", **small), "--twin", out="own")
        config = job(FACTOR, "net_null{}", **small)
        wires, dilation = self.times(config, "--twin", out="wires")
        twin, reference = ({"model": model, "on_wires_ps": wires[i], "stretched_ps": own[i],
                            "difference": (own[i] - wires[i]) / wires[i]} for i, model in enumerate(("twin", "flow")))
        self.assertEqual(dilation, {"factor": FACTOR, "predictions": [reference, twin], "matters": True})
        # Of 1 us in the switch and 100 ns on each of two cables 7/8 are missing, in 6 steps and with the acknowledgements
        # of the last; and the members of the ensemble begin up to some thousandths of a step later.
        self.assertAlmostEqual(own[1] - wires[1], (6 + 1) * 1_200_000 * 7 // 8, delta=20_000)

        # A device that is as slow as it must be.
        config["dilation"]["device"] = {"latency": "8us", "link_latency": "800ns"}
        slow, dilation = self.times(config, "--twin", out="slow")
        self.assertEqual(slow, own)
        self.assertFalse(dilation["matters"])

    def test_large_messages_do_not_care(self):
        _, dilation = self.times(job(FACTOR, "net_null{}", **self.ring(4 << 20)))
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

    def test_check_says_what_differs(self):
        process = rankwire("check", self.configuration(job(FACTOR, "net_null{}")), "--no-measure")
        self.assertEqual(process.returncode, OK, process.stderr)
        self.assertIn("the device's latency of 1us is 125ns to the job, whose own network has 1us", process.stderr)


if __name__ == "__main__":
    unittest.main()

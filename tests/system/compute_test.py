"""Compute models from outside: the same times in every run, stragglers that shift what they should, and the report."""

import json
import unittest

from rankwire import OK, SOURCE, USAGE, RankwireTest, rankwire, transformer

# Every kernel takes 1 ms: 17 of them make an iteration of each of the two ranks.
KERNELS = "pattern,ranks,duration\n*,,1ms\n"


def durations(run, side):
    """Compute times by (iteration, rank, node)."""
    return {
        (row["iteration"], row["rank"], row["node"]): int(row[f"{side}_end_ps"]) - int(row[f"{side}_start_ps"])
        for row in run.rows("operations", kind="compute")
    }


class Compute(RankwireTest):
    def config(self, ports="memory", **compute):
        table = self.folder / "kernels.csv"
        table.write_text(KERNELS, encoding="utf-8")
        model = transformer(layers=1, hidden=64, sequence=16, micro_batches=2, pipeline_parallel=1, tensor_parallel=1)
        return {
            "workload": {"generate": model, "iterations": 2},
            "compute": {"kernels": str(table)} | compute,
            "ports": {"count": 2, "device": ports, "rate": "10Gbps"},
        }

    def assert_same_times(self, run):
        emulated, reference = durations(run, "emulated"), durations(run, "reference")
        self.assertEqual(len(emulated), len(reference))
        self.assertEqual(emulated, reference)
        return reference

    def test_random_times_are_the_same_in_twin_and_reference(self):
        varied = {"jitter": {"distribution": "gamma", "deviation": "20%"}, "noise": {"period": "300us", "duration": "5us"}}
        run = self.call("simulate", self.config(**varied), "--twin")
        times = self.assert_same_times(run)
        # Two iterations and two ranks draw by themselves.
        self.assertEqual(len(set(times.values())), len(times))
        again = self.call("simulate", self.config(**varied), out="again")
        self.assertEqual(durations(again, "reference"), times)
        other = self.call("simulate", self.config(**varied), "--set", "seed=2", out="other")
        self.assertNotEqual(durations(other, "reference"), times)
        compute = run.summary["compute"]
        self.assertEqual(compute["emulated"], compute["reference"])
        planned = sum(model["time_ps"] for model in compute["reference"]["models"])
        self.assertEqual(sum(times.values()), planned + compute["reference"]["jitter_ps"] + compute["reference"]["noise_ps"])
        # 1 ms has three interruptions, or four in one of three.
        self.assertGreaterEqual(compute["reference"]["noise_ps"], len(times) * 15_000_000)
        self.assertLessEqual(compute["reference"]["noise_ps"], len(times) * 30_000_000)

    def test_a_straggler_shifts_what_it_should(self):
        plain = self.call("simulate", self.config(), "--twin", out="plain")
        slow = {"stragglers": [{"ranks": [1], "from": "2ms", "until": "5ms", "factor": 1.5}]}
        run = self.call("simulate", self.config(**slow), "--twin")
        # From 2 ms to 5 ms the rank does 2 ms of work: it is behind by 1 ms, and the other waits for its gradients.
        for side in ("emulated", "reference"):
            before, after = durations(plain, side), durations(run, side)
            extra = {key: after[key] - before[key] for key in after if after[key] != before[key]}
            self.assertEqual({rank for _, rank, _ in extra}, {"1"})
            self.assertEqual(sum(extra.values()), 1_000_000_000)
            later = run.summary[side]["completion_time_ps"] - plain.summary[side]["completion_time_ps"]
            self.assertAlmostEqual(later, 1_000_000_000, delta=300_000_000)  # how messages meet differs
            self.assertEqual(run.summary["compute"][side]["slowed_ps"], 1_000_000_000)
        straggler = run.summary["compute"]["reference"]["stragglers"][0]
        self.assertEqual(straggler["text"], "rank 1 is slowed by 1.5 from 2 ms to 5 ms")
        self.assertEqual(straggler["rank_slowed_ps"], 1_000_000_000)

    def test_a_straggler_in_real_time(self):
        pause = {"stragglers": [{"ports": ["p0"], "from": "10.5ms", "until": "15ms", "pause": True}]}
        run = self.call("run", self.config(ports="ring", **pause))
        self.assert_delivered(run)
        # Rank 0 computes for 17 ms without a gap, so its work stands still for 4.5 ms, however late the loop is.
        for side in ("emulated", "reference"):
            times = durations(run, side)
            self.assertEqual(sum(times.values()), len(times) * 1_000_000_000 + 4_500_000_000)
            self.assertEqual({rank for (_, rank, _), time in times.items() if time > 1_000_000_000}, {"0"})
        report = (run.folder / "report.html").read_text(encoding="utf-8")
        self.assertIn("rank 0 pauses from 10.5 ms to 15 ms", report)

    def test_the_summary_explains(self):
        path = self.configuration(self.config(stragglers=[{"ranks": [0], "from": "0ps", "factor": 2}]))
        process = rankwire("simulate", path, "--out", self.folder / "run")
        self.assertEqual(process.returncode, OK, process.stderr)
        lines = process.stdout.splitlines()
        compute = next(i for i, line in enumerate(lines) if line.startswith("compute"))
        self.assertIn("by table", lines[compute])
        self.assertIn("rank 0 is slowed by 2 from 0 ps on; it computed", lines[compute + 1])

    def test_the_record_says_what_timed_a_node(self):
        run = self.call("simulate", self.config(kernels="none", source="roofline", device="a100"))
        models = {row["timed_by"] for row in run.rows("operations", kind="compute")}
        self.assertLessEqual(models, {"roofline_arithmetic", "roofline_memory"})
        self.assertEqual({row["timed_by"] for row in run.rows("operations", kind="all_reduce")}, {""})

    def test_a_wrong_table_is_one_line(self):
        config = self.config()
        (self.folder / "kernels.csv").write_text("pattern,duration\n*,1\n", encoding="utf-8")
        process = rankwire("check", self.configuration(config))
        self.assert_one_line_error(process, USAGE, "kernels.csv:2: duration: '1' has no unit")

    def test_the_configuration_that_comes_with_it(self):
        run = self.call("simulate", SOURCE / "configs/compute.yaml", "--twin")
        self.assertEqual(durations(run, "emulated").keys(), durations(run, "reference").keys())
        compute = run.summary["compute"]["reference"]
        models = {model["model"]: model["nodes"] for model in compute["models"]}
        self.assertIn("table", models)
        self.assertIn("roofline_arithmetic", models)
        self.assertEqual([s["rank"] for s in compute["stragglers"]], sorted(s["rank"] for s in compute["stragglers"]))
        self.assertGreater(compute["slowed_ps"], 0)
        print(json.dumps(compute["models"]))


if __name__ == "__main__":
    unittest.main()

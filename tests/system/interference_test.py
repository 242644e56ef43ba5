"""The matrix of how much jobs hold each other up, from the command line."""

import csv
import json
import signal
import unittest

from rankwire import FAILED, OK, USAGE, RankwireTest, Run, rankwire, start, transformer, wait_for_operations


def job(name, **changes):
    """Two ranks, one behind each port, that only train in data parallel."""
    return {"name": name, "workload": {"generate": transformer(
        layers=2, hidden=128, micro_batches=1, tensor_parallel=1, pipeline_parallel=1)}} | changes


def config(*jobs, **changes):
    return {"name": "together", "jobs": list(jobs), "hosts": {"count": 2},
            "ports": {"count": 2, "device": "memory", "rate": "1Gbps"}} | changes


class Interference(RankwireTest):
    def interference(self, jobs, *arguments, status=OK):
        path = self.configuration(jobs)
        process = rankwire("interference", path, "--out", self.folder / "matrix", *arguments)
        self.assertEqual(process.returncode, status, process.stdout + process.stderr)
        self.assertEqual(process.stderr if status == OK else "", "", "progress is for a terminal")
        return process

    def rows(self):
        with open(self.folder / "matrix" / "interference.csv", encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))

    def cells(self, side):
        return {(row["victim"], row["aggressor"]): row for row in self.rows() if row["run"] == side}

    def test_emulated_beside_the_reference(self):
        # One start of DPDK serves the run of all and those alone.
        ring = {"count": 2, "device": "ring", "rate": "1Gbps"}
        process = self.interference(config(job("a"), job("b"), ports=ring), "--json")
        matrix = json.loads(process.stdout)
        self.assertEqual(matrix, json.loads((self.folder / "matrix/interference.json").read_text(encoding="utf-8")))
        self.assertEqual(matrix["jobs"], ["a", "b"])
        self.assertEqual([run["jobs"] for run in matrix["runs"]], [["a", "b"], ["a"], ["b"]])
        self.assertLessEqual({run["verdict"] for run in matrix["runs"]}, {"ok", "degraded"})
        # Two that are alike, each time on each side.
        self.assertEqual([(cell["run"], cell["victim"], cell["aggressor"]) for cell in matrix["cells"]],
                         [(side, *pair) for side in ("emulated", "reference") for pair in (("a", "b"), ("b", "a"))])
        for cell in matrix["cells"]:
            self.assertAlmostEqual(cell["interference"], cell["completion_time_ps"] / cell["alone_ps"])
        # A generator that was late, alone or together, says nothing of the other job.
        followed = all(Run(self.folder / "matrix" / run["folder"]).summary["fidelity"] == "ok" for run in matrix["runs"])
        for cell in matrix["cells"] if followed else matrix["cells"][2:]:
            self.assertGreater(cell["interference"], 1.2)
        together = Run(self.folder / "matrix" / matrix["runs"][0]["folder"]).summary["jobs"]
        alone = Run(self.folder / "matrix" / matrix["runs"][1]["folder"]).summary["jobs"]
        for side, cell in (("emulated", matrix["cells"][0]), ("reference", matrix["cells"][2])):
            self.assertEqual(cell["completion_time_ps"], together[0][side]["completion_time_ps"])
            self.assertEqual(cell["alone_ps"], alone[0][side]["completion_time_ps"])
            self.assertIsNone(alone[1][side]["completion_time_ps"], "it was idle")
        # What the reference says of a run with everybody is what its runs say.
        self.assertAlmostEqual(matrix["cells"][2]["interference"], together[0]["reference"]["interference"])

    def test_three_jobs_of_which_one_follows_another(self):
        jobs = config(job("a"), job("b", start="10us"), job("c", after="a", start="5us"))
        process = self.interference(jobs, "--twin")
        self.assertIn("all others", process.stdout)
        self.assertIn("interference.html", process.stdout)
        for side in ("twin", "reference"):
            cells = self.cells(side)
            self.assertEqual(len(cells), 9)
            # The two that follow each other do not meet; b meets both.
            self.assertAlmostEqual(float(cells["a", "c"]["interference"]), 1, delta=1e-3)
            self.assertAlmostEqual(float(cells["c", "a"]["interference"]), 1, delta=1e-3)
            self.assertGreater(float(cells["a", "b"]["interference"]), 1.2)
            self.assertEqual(cells["a", ""]["folder"], "point-1")
        # Without a, c begins when it began beside it.
        matrix = json.loads((self.folder / "matrix/interference.json").read_text(encoding="utf-8"))
        folders = {tuple(run["jobs"]): self.folder / "matrix" / run["folder"] for run in matrix["runs"]}
        together = Run(folders["a", "b", "c"]).summary["jobs"][2]["emulated"]["begin_ps"]
        self.assertEqual(Run(folders["b", "c"]).summary["jobs"][2]["emulated"]["begin_ps"], together)
        self.assertEqual(Run(folders["c",]).summary["jobs"][2]["emulated"]["begin_ps"], together)
        page = (self.folder / "matrix" / "interference.html").read_text(encoding="utf-8")
        self.assertEqual(page.count('<rect class="heat"'), 2 * 9)

    def test_all_together_without_pairs(self):
        self.interference(config(job("a"), job("b"), job("idle", idle=True), job("c")), "--all", "--reference")
        cells = self.cells("reference")
        self.assertEqual(set(cells), {(name, "") for name in "abc"})
        self.assertEqual(len([path for path in (self.folder / "matrix").iterdir() if path.is_dir()]), 4)

    def test_a_run_that_fails_leaves_the_others(self):
        # All together take longer than the deadline; each alone does not.
        self.interference(config(job("a"), job("b"), job("c")), "--reference")
        cells = self.cells("reference")
        deadline = (int(cells["a", ""]["jct_ps"]) + int(cells["a", ""]["alone_ps"])) // 2
        process = self.interference(config(job("a"), job("b"), job("c")), "--all", "--reference", "--force", "--set",
                                    f"run.deadline={deadline}ps", status=FAILED)
        self.assertIn("point-1 (a, b, c): failed", process.stdout)
        for row in self.rows():
            self.assertEqual(row["interference"], "")
            self.assertGreater(int(row["alone_ps"]), 0)
            self.assertIn("point-1: failed", row["missing"])

    def test_an_interrupted_one_keeps_what_it_has(self):
        # Five emulated runs of a second and more each, of which the first ends before the signal.
        long = {"workload": {"generate": transformer(layers=2, hidden=128, micro_batches=1, tensor_parallel=1,
                                                     pipeline_parallel=1), "iterations": 100}}
        path = self.configuration(config(job("a", **long), job("b", **long), job("c", start="100s", **long)))
        folder = self.folder / "matrix"
        with start("interference", path, "--out", folder) as process:
            wait_for_operations(process, folder / "point-1")
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=60)
        self.assertEqual(process.returncode, FAILED)
        matrix = json.loads((folder / "interference.json").read_text(encoding="utf-8"))
        self.assertEqual({run["verdict"] for run in matrix["runs"]}, {"interrupted"})
        self.assertTrue((folder / "point-1" / "summary.json").exists(), "it was asked to end, not killed")
        self.assertFalse((folder / "point-2").exists())
        self.assertTrue(all(cell["missing"] for cell in matrix["cells"]))

    def test_what_is_wrong_is_said_before_anything_runs(self):
        def error(jobs, *arguments):
            process = rankwire("interference", self.configuration(jobs), "--out", self.folder / "matrix", *arguments)
            self.assertFalse((self.folder / "matrix").exists())
            return process

        self.assert_one_line_error(error(config(job("a"))), USAGE, "needs at least two 'jobs'", "there is one, 'a'")
        self.assert_one_line_error(error(config(job("a"), job("b", idle=True))), USAGE, "there is one, 'a'")
        one = config()
        del one["jobs"]
        self.assert_one_line_error(error(one | {"workload": job("a")["workload"]}), USAGE, "one 'workload' instead")
        two = config(job("a"), job("b"))
        without = {key: value for key, value in two.items() if key != "ports"}
        self.assert_one_line_error(error(without), USAGE, "traffic needs at least 2 ports")
        self.assert_one_line_error(error(two, "--processes", "2"), USAGE, "one after the other")
        self.assert_one_line_error(error(two, "--set", "jobs[0].strat=1us"), USAGE, "jobs[0].start")
        self.assertEqual(error(two, "--twin", "--reference").returncode, USAGE)
        self.assertEqual(error(two, "--pairs", "--all").returncode, USAGE)
        shown = rankwire("interference", "--help")
        self.assertEqual(shown.returncode, OK)
        self.assertIn("Example: rankwire interference configs/jobs.yaml", shown.stdout)

    def test_a_matrix_is_not_overwritten_unasked(self):
        two = config(job("a"), job("b"))
        self.interference(two, "--reference")
        process = rankwire("interference", self.configuration(two), "--reference", "--out", self.folder / "matrix")
        self.assert_one_line_error(process, USAGE, "holds an interference matrix", "--force")
        self.interference(two, "--reference", "--quiet", "--force")


if __name__ == "__main__":
    unittest.main()

"""Several jobs in one run, from a configuration to tables and pages."""

import json
import unittest

from rankwire import OK, SOURCE, USAGE, RankwireTest, Run, rankwire


class Jobs(RankwireTest):
    def test_check_counts_the_ranks_of_each_job(self):
        table = rankwire("check", SOURCE / "configs/jobs.yaml", "--no-measure").stdout
        self.assertRegex(table, r"(?m)^ +dense:3 +3 +0 ")
        self.assertRegex(table, r"(?m)^ *experts:0 +0 +1 ")

    def test_the_example_in_the_twin(self):
        run = self.call("simulate", SOURCE / "configs/jobs.yaml", "--twin")
        self.assert_delivered(run)
        jobs = run.summary["jobs"]
        self.assertEqual([job["name"] for job in jobs], ["dense", "experts", "later"])
        self.assertEqual([job["first_rank"] for job in jobs], [0, 4, 8])
        dense, experts, later = jobs
        for side in ("emulated", "reference"):
            self.assertEqual(dense[side]["begin_ps"], 0)
            self.assertEqual(experts[side]["begin_ps"], 1_000_000_000)
            self.assertEqual(later[side]["begin_ps"], dense[side]["end_ps"] + 100_000_000)
            for job in jobs:
                completion = job[side]["end_ps"] - job[side]["begin_ps"]
                self.assertEqual(job[side]["completion_time_ps"], completion)
                alone = job["alone"]["completion_time_ps"]
                self.assertAlmostEqual(job[side]["interference"], completion / alone)
            # The two that are at work together hold each other up.
            self.assertGreater(dense[side]["interference"], 1.05)
            self.assertGreater(experts[side]["interference"], 1.05)
        # Nobody is at work beside the third once the second has ended, or for a part of its time.
        self.assertLess(later["reference"]["interference"], experts["reference"]["interference"])

        rows = run.rows("jobs")
        self.assertEqual([(row["fidelity"], row["name"]) for row in rows],
                         [(side, job["name"]) for side in ("twin", "reference") for job in jobs])
        self.assertEqual(int(rows[1]["jct_ps"]), experts["emulated"]["completion_time_ps"])
        self.check_shared(run.rows("shared"), jobs)
        operations = run.rows("operations")
        for job in jobs:
            ranks = {int(row["rank"]) for row in operations if int(row["job"]) == job["job"]}
            self.assertEqual(ranks, set(range(job["first_rank"], job["first_rank"] + job["ranks"])))
        for row in run.rows("ranks"):
            self.assertEqual(int(row["job"]), int(row["rank"]) // 4)
        page = (run.folder / "report.html").read_text(encoding="utf-8")
        self.assertIn("<h2>Jobs</h2>", page)
        self.assertIn("experts:3 twin", page)
        timeline = json.loads((run.folder / "timeline.json").read_text(encoding="utf-8"))
        names = {event["args"]["name"] for event in timeline["traceEvents"] if event["name"] == "process_name"}
        self.assertIn("rank 0 of job later twin", names)

    def test_alone_is_what_the_run_together_is_compared_with(self):
        """Perfect symmetry keeps the groups of `big` in step, alone and together, as no network does: 14.7 ms instead of
        10.8. The other one is too small to hold it up."""
        step = {"layers": 8, "hidden": 4096, "sequence": 2048, "micro_batches": 4, "tensor_parallel": 8,
                "pipeline_parallel": 1, "data_parallel": 8}
        nodes = [{"name": "t", "ranks": ["0-1"], "kind": "all_reduce", "bytes": "64KiB", "iterations": 2}]
        config = {
            "jobs": [
                {"name": "big", "workload": {"generate": step, "scale": {"bytes": "1/64", "compute": "1/64"}}},
                {"name": "tiny", "workload": {"generate": {"kind": "nodes", "nodes": nodes}}},
            ],
            "hosts": {"count": 8, "npus": 9},
            "mapping": {"policy": "round_robin"},
            "ports": {"count": 8, "device": "memory", "rate": "400Gbps"},
        }
        run = self.call("simulate", config, "--twin", out="symmetric")
        self.assertEqual([model["model"] for model in run.summary["models"]], ["flow", "flow, median"])
        big = run.summary["jobs"][0]
        self.assertGreater(run.summary["reference"]["band"]["symmetric_ps"] / big["alone"]["completion_time_ps"], 1.3)
        self.assertAlmostEqual(big["reference"]["interference"], 1, delta=0.02)
        for table in ("traffic", "jobs", "shared"):
            rows = run.rows(table)
            self.assertFalse(any(None in row for row in rows), table)
            self.assertIn("flow, median", {row["model"] for row in rows}, table)
        matrix = rankwire("interference", self.configuration(config), "--twin", "--out", self.folder / "matrix", "--json")
        cells = json.loads(matrix.stdout)["cells"]
        self.assertEqual([cell["run"] for cell in cells], ["twin", "twin", "reference", "reference"])
        self.assertTrue(all(cell["interference"] for cell in cells), cells)

    def check_shared(self, rows, jobs):
        """All have a rank behind each of the four ports; `later` follows `dense`, so that these two never meet."""
        self.assertEqual({(row["fidelity"], row["model"]) for row in rows}, {("reference", "flow")})
        shared = {(row["link"], row["job"], row["other"]): row for row in rows}
        self.assertEqual(len(shared), len(rows))
        self.assertEqual({row["link"] for row in rows},
                         {f"port{port}.{way}" for port in range(4) for way in ("up", "down")})
        self.assertNotIn({"dense", "later"}, [{row["job"], row["other"]} for row in rows])
        for (link, job, other), row in shared.items():
            self.assertEqual(row["shared_ps"], shared[link, other, job]["shared_ps"])
            for part, whole in (("shared_ps", "time_ps"), ("shared_bytes", "bytes")):
                self.assertGreater(int(row[part]), 0)
                self.assertLessEqual(int(row[part]), int(row[whole]))
        for job in jobs:
            times = [link["shared_ps"] for link in job["shared"]]
            self.assertEqual(times, sorted((int(row["shared_ps"]) for row in rows if row["job"] == job["name"]),
                                           reverse=True)[:16])

    def test_ports_that_were_shared(self):
        run = self.call("simulate", SOURCE / "configs/jobs.yaml", "--twin", "--set", "record.messages=all")
        rows = run.rows("shared_ports")
        shares = {(row["port"], row["direction"], row["job"], row["other"]): row for row in rows}
        self.assertEqual(len(shares), len(rows))
        self.assertEqual({row["fidelity"] for row in rows}, {"twin"})
        self.assertEqual(len({key[:2] for key in shares}), 8)  # four ports, both ways
        met = set()
        for (port, way, job, other), row in shares.items():
            beside = shares[port, way, other, job]
            self.assertEqual(row["other_bytes"], beside["bytes"])
            self.assertEqual(row["shared_ps"], beside["shared_ps"])
            self.assertLessEqual(int(row["shared_ps"]), int(row["time_ps"]))
            self.assertLessEqual(int(row["shared_bytes"]), int(row["bytes"]))
            if int(row["shared_ps"]) > 0:
                met.add(frozenset((job, other)))
            if {job, other} == {"dense", "experts"}:
                self.assertNotEqual(row["link"], "")
            if row["link"]:
                # The job that follows another never meets it, neither here nor in the model.
                self.assertNotEqual({job, other}, {"dense", "later"})
                self.assertRegex(row["link"], rf"port\d\.{'up' if way == 'out' else 'down'}")
                # Headers are the model's alone.
                self.assertLess(int(row["bytes"]), int(row["predicted_bytes"]))
                self.assertGreater(1.1 * int(row["bytes"]), int(row["predicted_bytes"]))
        self.assertIn({"dense", "experts"}, met)
        self.assertNotIn({"dense", "later"}, met)
        # What all of a job's ranks send is what its flows carried.
        for job in run.summary["jobs"]:
            sent = sum({row["port"]: int(row["bytes"]) for row in rows
                        if (row["job"], row["direction"]) == (job["name"], "out")}.values())
            flows = run.rows("flows", fidelity="twin", job=str(job["job"]), path="wire", control="0")
            self.assertEqual(sent, sum(int(row["bytes"]) for row in flows))
            for share in job["shared_ports"]:
                row = shares[share["port"], share["direction"], job["name"], share["other"]]
                self.assertEqual(str(share["shared_ps"]), row["shared_ps"])

    def test_what_ran_beside_a_model_that_cannot_run_is_kept(self):
        # Generated steps say nothing of how long communication took.
        out = self.folder / "run"
        process = rankwire("simulate", SOURCE / "configs/jobs.yaml", "--quiet", "--out", out, "--set",
                           "simulation.fidelity=[recorded, flow]")
        self.assert_one_line_error(process, USAGE, "simulation.fidelity: recorded")
        run = Run(out)
        self.assertEqual((run.summary["verdict"], run.summary["reason_code"]), ("failed", "error"))
        self.assertEqual([(model["model"], model["verdict"]) for model in run.summary["models"]],
                         [("recorded", "failed"), ("flow", "ok")])
        self.assertGreater(len(run.rows("jobs", model="flow")), 0)
        self.assertIn("recorded", (out / "report.html").read_text(encoding="utf-8"))
        # The record says so by itself.
        process = rankwire("report", out)
        self.assertEqual(process.returncode, OK, process.stderr)
        self.assertRegex(process.stdout, "verdict +failed: simulation.fidelity: recorded")

    def test_files_are_the_same_however_many_threads_there_are(self):
        files = []
        for threads in (1, 4):
            run = self.call("simulate", SOURCE / "configs/jobs.yaml", "--twin", "--set",
                            "simulation.fidelity=[flow, alpha_beta]", "--set", f"simulation.threads={threads}",
                            out=f"threads-{threads}")
            self.assertEqual(run.summary["verdict"], "ok")
            files.append({path.name: path.read_bytes() for path in run.folder.iterdir()
                          if path.suffix in (".csv", ".json", ".md")})
        self.assertIn("operations.csv", files[0])
        self.assertEqual(files[0].keys(), files[1].keys())
        for name, content in files[0].items():
            # The summary has the whole configuration.
            other = files[1][name].replace(b'"threads": 4', b'"threads": 1')
            self.assertEqual(content, other, name)

    def test_tables_of_jobs_go_with_the_run(self):
        jobs = self.call("simulate", SOURCE / "configs/jobs.yaml")
        self.assertTrue((jobs.folder / "shared.csv").exists())
        one = self.call("simulate", SOURCE / "configs/quickstart.yaml", "--force")
        self.assertEqual(one.folder, jobs.folder)
        for table in ("jobs.csv", "shared.csv", "shared_ports.csv"):
            self.assertFalse((one.folder / table).exists(), table)

    def test_what_is_printed(self):
        run = self.call("simulate", SOURCE / "configs/jobs.yaml", out="base")
        process = rankwire("report", run.folder)
        self.assertEqual(process.returncode, OK, process.stderr)
        self.assertIn("job completion times", process.stdout)
        self.assertRegex(process.stdout, r"\n  experts +4 ")
        self.assertRegex(process.stdout, r"share longest\n  dense shares port\d\.(up|down) with experts for .* of ")
        other = self.call("simulate", SOURCE / "configs/jobs.yaml", "--set", "jobs[1].start=2s", out="other")
        process = rankwire("compare", run.folder, other.folder)
        self.assertEqual(process.returncode, OK, process.stderr)
        self.assertRegex(process.stdout, r"job experts: .* -> .*, ratio 0\.")
        compared = json.loads(rankwire("compare", run.folder, other.folder, "--json").stdout)
        self.assertEqual([job["name"] for job in compared["jobs"]], ["dense", "experts", "later"])
        self.assertLess(compared["jobs"][1]["ratio"], 1)
        self.assertIn({"key": "jobs[1].start", "base": "1ms", "other": "2s"}, compared["settings"])

    def test_a_wrong_job_is_told_with_its_line(self):
        path = self.folder / "wrong.yaml"
        path.write_text("jobs:\n  - {name: a, workload: {generate: {layers: 2}}, after: b}\nports: {count: 2}\n",
                        encoding="utf-8")
        process = rankwire("check", path)
        self.assertEqual(process.returncode, USAGE)
        self.assertIn("wrong.yaml:2: jobs[0].after: 'b' is not the name of a job", process.stderr)


if __name__ == "__main__":
    unittest.main()

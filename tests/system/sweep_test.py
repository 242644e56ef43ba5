"""One configuration with many values of some of its keys."""

import csv
import json
import signal
import time
import unittest

from rankwire import FAILED, OK, USAGE, RankwireTest, Run, rankwire, start, transformer

CONFIG = {
    "workload": {"generate": transformer(layers=2, pipeline_parallel=1)},
    "ports": {"count": 4, "device": "memory", "rate": "1Gbps"},
}


class Sweeps(RankwireTest):
    def sweep(self, *arguments, config=None):
        path = self.configuration(CONFIG | (config or {}))
        return rankwire("simulate", path, "--out", self.folder / "sweep", *arguments)

    def rows(self):
        with open(self.folder / "sweep" / "sweep.csv", encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))

    def test_each_point_is_what_a_run_of_its_own_is(self):
        process = self.sweep("--sweep", "ports.rate=1Gbps,4Gbps", "--sweep", "collectives.chunk=16KiB,1MiB", "--json",
                             "--set", "seed=7", "--twin")
        self.assertEqual(process.returncode, OK, process.stderr)
        sweep = json.loads(process.stdout)
        self.assertEqual(sweep, json.loads((self.folder / "sweep" / "sweep.json").read_text(encoding="utf-8")))
        self.assertEqual([tuple(point["settings"].values()) for point in sweep["points"]],
                         [("1Gbps", "16KiB"), ("1Gbps", "1MiB"), ("4Gbps", "16KiB"), ("4Gbps", "1MiB")])
        for number, point in enumerate(sweep["points"]):
            alone = self.call("simulate", CONFIG, "--twin", "--set", "seed=7",
                              *(part for key, value in point["settings"].items() for part in ("--set", f"{key}={value}")),
                              out=f"alone{number}").summary
            self.assertEqual(point["verdict"], "ok")
            self.assertEqual(point["ratio"], alone["ratio"])
            times = {run["run"]: run for run in point["runs"]}
            self.assertEqual(times["reference"]["completion_time_ps"], alone["reference"]["completion_time_ps"])
            self.assertEqual(times["twin"]["completion_time_ps"], alone["emulated"]["completion_time_ps"])
            # Compute is the same everywhere; what is left of the slowest rank's time cannot be less than exposed.
            self.assertEqual(times["twin"]["compute_ps"], times["reference"]["compute_ps"])
            self.assertGreater(times["reference"]["exposed_communication_ps"], 0)
            self.assertLessEqual(times["reference"]["compute_ps"] + times["reference"]["exposed_communication_ps"],
                                 times["reference"]["completion_time_ps"])
        rows = self.rows()
        self.assertEqual(len(rows), 8)
        self.assertEqual([int(row["completion_ps"]) for row in rows],
                         [run["completion_time_ps"] for point in sweep["points"] for run in point["runs"]])
        slow, fast = (sweep["points"][i]["runs"][-1]["completion_time_ps"] for i in (1, 3))
        self.assertGreater(slow, fast)
        page = (self.folder / "sweep" / "sweep.html").read_text(encoding="utf-8")
        self.assertIn("4Gbps, 16KiB", page)
        self.assertEqual(page.count('<rect class="ec"'), 4)

    def part(self, number, *arguments, env=None, config=None):
        path = self.configuration(CONFIG | (config or {}))
        out = () if "--out" in arguments else ("--out", self.folder / "sweep")
        environment = [f"{name}={value}" for name, value in (env or {}).items()]
        return rankwire("simulate", path, *out, "--sweep", "seed=1,2,3", "--part", number, *arguments,
                        prefix=("env", *environment))

    def test_parts_of_several_processes_are_the_whole(self):
        first = self.part("2/2")
        self.assertEqual(first.returncode, OK, first.stderr)
        self.assertIn("part 2 of 2; 1 of 3 points have ended", first.stdout)
        self.assertEqual([row["verdict"] for row in self.rows()], ["pending", "ok", "pending"])
        # The first process of two in the only task of an array.
        array = {"SLURM_ARRAY_TASK_ID": "7", "SLURM_ARRAY_TASK_MIN": "7", "SLURM_ARRAY_TASK_COUNT": "1"}
        second = self.part("auto", "--json", env=array | {"OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_SIZE": "2"})
        self.assertEqual(second.returncode, OK, second.stderr)
        of_parts = json.loads(second.stdout)
        path = self.configuration(CONFIG)
        whole = rankwire("simulate", path, "--out", self.folder / "whole", "--sweep", "seed=1,2,3", "--json")
        self.assertEqual(of_parts, json.loads(whole.stdout))
        self.assertEqual(json.loads((self.folder / "sweep" / "sweep.json").read_text(encoding="utf-8")), of_parts)

    def test_wrong_parts_are_refused(self):
        self.assertEqual(self.part("1/3").returncode, OK)
        for arguments, config, text in (
            (("4/3",), None, "part 4 of 3 is none of 1 to 3"),
            (("0/3",), None, "part 0 of 3 is none of 1 to 3"),
            (("three",), None, "'NUMBER/OF', such as 3/8, or 'auto' is expected"),
            (("2/3",), {"seed": 9, "name": "another"}, "holds parts of another sweep or study"),
            (("2/3", "--set", "ports.rate=4Gbps"), None, "holds parts of another sweep or study"),
            (("2/3", "--out", ""), None, "name the folder that all parts share"),
            (("2/3", "--out", self.configuration(CONFIG).parent), None, "holds something else than parts"),
            (("2/3", "--force"), None, "--force"),
        ):
            with self.subTest(text=text, arguments=arguments):
                self.assert_one_line_error(self.part(*arguments, config=config), USAGE, text)
        # A whole sweep does not take the folder of parts either.
        self.assert_one_line_error(self.sweep("--sweep", "seed=1,2,3"), USAGE, "this folder holds")

    def test_emulated_points_run_one_after_the_other(self):
        config = {
            "workload": {"generate": {"kind": "collective", "collective": {
                "operation": "all_reduce", "ranks": 2, "min": "1KiB", "max": "1KiB", "iterations": 2, "warmup": 1}}},
            "ports": {"count": 2, "device": "ring", "rate": "1Gbps"},
        }
        process = rankwire("run", self.configuration(config), "--sweep", "transport.window=4,16",
                           "--out", self.folder / "sweep", "--json")
        self.assertEqual(process.returncode, OK, process.stderr)
        points = json.loads(process.stdout)["points"]
        self.assertEqual([point["settings"] for point in points],
                         [{"transport.window": "4"}, {"transport.window": "16"}])
        for point in points:
            self.assertEqual([run["run"] for run in point["runs"]], ["emulated", "reference"])
            self.assertIsNotNone(point["ratio"])
        # DPDK starts once in a process.
        process = rankwire("run", self.configuration(config), "--sweep", "dpdk.memory=256MiB,512MiB", "--force",
                           "--out", self.folder / "sweep")
        self.assertEqual(process.returncode, OK, process.stderr)
        self.assertIn("in a process of its own: dpdk.memory is not the same for all", process.stderr)
        # What a sweep has no use for is not taken and forgotten.
        for option in ("--live", "--strict"):
            process = rankwire("run", self.configuration(config), "--sweep", "transport.window=4,16", option)
            self.assertEqual(process.returncode, USAGE)

    def test_further_columns(self):
        process = self.sweep("--sweep", "collectives.chunk=16KiB,1MiB", "--twin", "--json",
                             "--columns", "retransmitted,p99,fidelity,transport.data_packets_tx")
        self.assertEqual(process.returncode, OK, process.stderr)
        points = json.loads(process.stdout)["points"]
        packets = []
        for point in points:
            summary = Run(self.folder / "sweep" / point["folder"]).summary
            self.assertEqual(point["columns"], {
                "retransmitted": summary["transport"]["retransmitted"],
                "p99_ps": summary["message_completion_time"]["p99_ps"],
                "fidelity": summary["fidelity"],
                "transport.data_packets_tx": summary["transport"]["data_packets_tx"]})
            packets.append(str(summary["transport"]["data_packets_tx"]))
        self.assertNotEqual(packets[0], "0")
        # In the rows of the side whose summary it is.
        self.assertEqual([(row["run"], row["transport.data_packets_tx"]) for row in self.rows()],
                         [("twin", packets[0]), ("reference", ""), ("twin", packets[1]), ("reference", "")])
        page = (self.folder / "sweep" / "sweep.html").read_text(encoding="utf-8")
        self.assertIn("<th>p99</th><th>fidelity</th>", page)

    def test_wrong_columns_before_anything_runs(self):
        for columns, text in (("transport.ecn_ce", "did you mean 'transport.ecn_ce_rx'?"),
                              ("mark", "did you mean 'marks'?"), ("messages.p99_ps", "'messages' has no parts"),
                              ("transport", "several values"), ("a..b", "is no path"), ("p50,p50", "twice")):
            with self.subTest(columns=columns):
                self.assert_one_line_error(self.sweep("--sweep", "seed=1,2", "--columns", columns), USAGE, text)
                self.assertFalse((self.folder / "sweep").exists())
        self.assertEqual(self.sweep("--columns", "marks").returncode, USAGE)  # of what is no sweep

    def test_a_column_that_no_point_turns_out_to_have(self):
        process = self.sweep("--sweep", "seed=1,2", "--twin", "--columns", "diagnosis.losses.losst,stall.text")
        self.assertEqual(process.returncode, OK, process.stderr)
        self.assertIn("did you mean 'diagnosis.losses.lost'?", process.stderr)
        # That no point has stalled is no mistake in the name.
        self.assertNotIn("stall.text", process.stderr)

    def test_several_processes_have_a_thread_each(self):
        for arguments, threads in ((("--jobs", "2"), 1), (("--jobs", "1"), "auto"),
                                   (("--jobs", "2", "--set", "simulation.threads=3"), 3)):
            with self.subTest(arguments):
                process = self.sweep("--sweep", "seed=1,2", "--force", *arguments)
                self.assertEqual(process.returncode, OK, process.stderr)
                for point in (self.folder / "sweep").glob("point-*"):
                    summary = json.loads((point / "summary.json").read_text(encoding="utf-8"))
                    self.assertEqual(summary["config"]["simulation"]["threads"], threads)

    def test_a_point_that_stalls_says_what_it_had_come_to(self):
        # Timers run for 4.3 s, longer than ranks may stand still: of the second point port p2 is dead.
        config = {
            "hosts": {"count": 8, "npus": 1},
            "ports": {"count": 8, "device": "memory", "rate": "10Gbps"},
            "transport": {"timeout": 20},
            "run": {"stall_timeout": "300ms"},
            "impairments": [{"action": "drop", "port": "p2", "direction": way, "transmissions": "all", "from": "1s"}
                            for way in ("transmit", "receive")],
        }
        process = self.sweep("--twin", "--sweep", "impairments[0].from+impairments[1].from=1s+1s,0ps+0ps", config=config)
        self.assertEqual(process.returncode, FAILED, process.stderr)
        self.assertIn("stalled (dead_peer, rank 2)", process.stdout)
        # The reference beside it did not stall.
        self.assertEqual(process.stdout.count("stalled"), 1)
        self.assertIn("stalled (dead_peer, rank 2)", (self.folder / "sweep" / "sweep.html").read_text(encoding="utf-8"))
        self.assertEqual([(row["run"], row["verdict"], row["stall"], row["culprit"]) for row in self.rows()],
                         [("twin", "ok", "", ""), ("reference", "ok", "", ""), ("twin", "stalled", "dead_peer", "2"),
                          ("reference", "ok", "", "")])
        sweep = json.loads((self.folder / "sweep" / "sweep.json").read_text(encoding="utf-8"))
        self.assertIsNone(sweep["points"][0]["stall"])
        stall = sweep["points"][1]["stall"]
        self.assertEqual((stall["class"], stall["culprit"]), ("dead_peer", 2))
        self.assertEqual(stall["text"], Run(self.folder / "sweep" / "point-2").summary["stall"]["text"])

    def test_a_point_that_fails_leaves_the_others(self):
        process = self.sweep("--sweep", "run.deadline=1us,100s")
        self.assertEqual(process.returncode, FAILED)
        self.assertEqual([row["verdict"] for row in self.rows()], ["failed", "ok"])
        self.assertIn("1us", process.stdout)

    def test_a_smaller_sweep_takes_away_the_runs_of_a_larger_one(self):
        self.assertEqual(self.sweep("--sweep", "collectives.chunk=16KiB,64KiB,1MiB").returncode, OK)
        notes = self.folder / "sweep" / "point-notes"  # holds no run
        notes.mkdir()
        (notes / "mine.txt").write_text("kept", encoding="utf-8")
        self.assertEqual(self.sweep("--sweep", "collectives.chunk=16KiB", "--force").returncode, OK)
        folders = {path.name for path in (self.folder / "sweep").glob("point-*")}
        self.assertEqual(folders, {"point-1", "point-notes"})
        self.assertEqual((notes / "mine.txt").read_text(encoding="utf-8"), "kept")

    def test_a_point_without_a_record_says_why(self):
        # Both are valid configurations, but there are no such traces.
        process = self.sweep("--sweep", "workload.traces=no/such/traces,no/others",
                             config={"workload": {"traces": "x"}})
        self.assertEqual(process.returncode, FAILED)
        points = json.loads((self.folder / "sweep" / "sweep.json").read_text(encoding="utf-8"))["points"]
        self.assertIn("no/such/traces", points[0]["reason"])
        self.assertFalse(points[0]["reason"].startswith("error"), points[0]["reason"])
        self.assertIn("no/others", (self.folder / "sweep" / "point-2.log").read_text(encoding="utf-8"))

    def test_wrong_keys_and_values_before_anything_runs(self):
        for axis, text in (("ports.rate=1Gbps,2Gbs", "2Gbs"), ("ports.rte=1", "ports.rate"), ("seed", "key=value")):
            with self.subTest(axis=axis):
                self.assert_one_line_error(self.sweep("--sweep", axis), USAGE, text)
                self.assertFalse((self.folder / "sweep").exists())

    def test_an_interrupt_keeps_what_there_is(self):
        # The second point would take minutes.
        sweep = start("simulate", self.configuration(CONFIG), "--twin", "--out", self.folder / "sweep", "--jobs", "1",
                      "--sweep", "workload.iterations=1,16000")
        self.addCleanup(sweep.kill)
        deadline = time.monotonic() + 60
        record = self.folder / "sweep" / "point-2" / "run.sqlite"
        while not record.exists():
            self.assertLess(time.monotonic(), deadline, "the second point does not begin")
            time.sleep(0.02)
        sweep.send_signal(signal.SIGINT)
        output, errors = sweep.communicate(timeout=60)
        self.assertEqual(sweep.returncode, FAILED, errors)
        self.assertEqual(self.rows()[0]["verdict"], "ok")
        self.assertEqual(json.loads((self.folder / "sweep" / "sweep.json").read_text(encoding="utf-8"))["points"][1]
                         ["verdict"], "interrupted", output)


if __name__ == "__main__":
    unittest.main()

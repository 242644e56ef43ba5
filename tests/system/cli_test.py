"""The command line: what a user types, and what a script reads."""

import fcntl
import json
import os
import pathlib
import shutil
import unittest

import chakra
from rankwire import FAILED, OK, USAGE, RankwireTest, Run, rankwire, transformer

SPECIFICATION = transformer(layers=2, pipeline_parallel=1)


def verbs(*outer):
    """All verbs that `--help` lists beneath the outer ones, and beneath those."""
    listed = rankwire(*outer, "--help").stdout.partition("\nSubcommands:\n")[2].partition("\n\n")[0]
    for line in listed.splitlines():
        if not line[2:3].isspace():  # what continues a description is indented further
            verb = [*outer, line.split()[0]]
            yield verb
            yield from verbs(*verb)


class Help(unittest.TestCase):
    def test_every_verb_has_an_example(self):
        known = list(verbs())
        for verb in (["run"], ["devices"], ["astra"], ["compare"], ["trace", "draw"], ["convert", "msccl"]):
            self.assertIn(verb, known)
        for verb in known:
            with self.subTest(verb=verb):
                process = rankwire(*verb, "--help")
                self.assertEqual(process.returncode, OK)
                self.assertIn("Example: rankwire " + " ".join(verb), process.stdout)

    def test_version(self):
        process = rankwire("--version")
        self.assertEqual(process.returncode, OK)
        self.assertRegex(process.stdout, r"\b\d+\.\d+\.\d+\b")


class Usage(RankwireTest):
    def test_wrong_arguments(self):
        for arguments, *texts in (
            ([], "a verb is required: one of run, simulate,", "'rankwire --help'"),
            (["runn"], "'rankwire run'"),
            (["run"], "CONFIG is required; 'rankwire run --help'"),
            (["run", "x.yaml", "--frobnicate"], "rankwire run has no option '--frobnicate'"),
            (["run", "x.yaml", "y.yaml"], "not expected: y.yaml; 'rankwire run --help'"),
            (["run", "x.yaml", "--json", "--columns", "p50"], "--columns requires --sweep"),
            (["run", "x.yaml", "--strict", "--sweep", "seed=1"], "--sweep excludes --strict"),
            (["run", "x.yaml", "--json=maybe"], "--json: takes no value, not 'maybe'"),
            (["run", "x.yaml", "--out", "a", "--out", "b"], "--out: takes a value, and is given 2 times"),
            (["study", "x.yaml", "--jobs", "abc"], "--jobs: Value abc not in range 1 to 1024"),
            (["compare", "a", "b", "--most"], "--most: a number is missing; 'rankwire compare --help'"),
            (["report"], "RUN is required"),
            (["report", "x", "--repetition", "0"], "--repetition: Value 0 not in range 1 to 4294967295"),
            (["trace"], "a verb is required: one of ", "check", "'rankwire trace --help'"),
            (["trace", "check"], "is required; 'rankwire trace check --help'"),
        ):
            with self.subTest(arguments=arguments):
                process = rankwire(*arguments)
                self.assert_one_line_error(process, USAGE, *texts)
                self.assertEqual(process.stdout, "")

    def test_a_ratio_is_a_number_above_0(self):
        for text in ("nan", "inf", "-inf", "0", "-1", "one", "1x"):
            with self.subTest(text=text):
                process = rankwire("compare", "a", "b", f"--most={text}")
                self.assertEqual(process.returncode, USAGE)
                self.assertIn(f"--most: '{text}' is no number above 0, such as 1.05", process.stderr)

    def test_unknown_words_are_named_with_the_nearest(self):
        for arguments, *texts in (
            (["rnu"], "no verb 'rnu'", "'rankwire run'"),
            (["inspect", "t"], "no verb 'inspect'", "'rankwire trace inspect'"),
            (["frobnicate"], "no verb 'frobnicate'", "run, simulate, study, interference, check"),
            (["trace", "chekc", "t"], "no trace verb 'chekc'", "'rankwire trace check'"),
            (["trace", "repair", "t"], "no trace verb 'repair'", "'rankwire trace check --repair'"),
            (["trace", "convert"], "no trace verb 'convert'", "'rankwire convert'"),
            (["convert", "pytoch", "t"], "no convert verb 'pytoch'", "'rankwire convert pytorch'"),
            (["run", "x.yaml", "--sett", "seed=1"], "rankwire run has no option '--sett'", "'--set'"),
            (["trace", "check", "t", "--nots"], "rankwire trace check has no option '--nots'", "'--notes'"),
            (["--verison"], "rankwire has no option '--verison'", "'--version'"),
        ):
            with self.subTest(arguments=arguments):
                self.assert_one_line_error(rankwire(*arguments), USAGE, *texts)

    def test_wrong_configurations(self):
        good = {"workload": {"generate": SPECIFICATION}, "ports": {"count": 2}}
        wrong = (
            ({"ports": {"count": 2, "rate": 10}}, "ports.rate"),  # no unit
            ({"ports": {"count": 1}}, "ports.count"),
            ({"ports": {"count": 2, "rate": "10Gbp"}}, "10Gbp"),
            ({"transport": {"windw": 3}}, "transport.window"),  # names the nearest key
            ({"transport": {"mtu": "1500B"}}, "transport.mtu"),
            ({"transport": {"window": 8, "ack_every": 9}}, "ack_every"),
            ({"switch": {"loss": "101%"}}, "switch.loss"),
            ({"hosts": {"count": 2, "npus": 1}}, "npus"),  # 4 ranks
            ({"workload": {"traces": "nowhere/t"}}, "nowhere/t"),
            ({"workload": {"generate": SPECIFICATION | {"layers": 0}}}, "layers"),
            ({"mapping": {"policy": "explicit", "ranks": []}}, "'ranks'"),
        )
        for changes, text in wrong:
            for verb in ("check", "simulate"):
                with self.subTest(verb=verb, changes=changes):
                    arguments = ["--out", self.folder / "run"] if verb == "simulate" else []
                    process = rankwire(verb, self.configuration(good | changes), *arguments)
                    self.assert_one_line_error(process, USAGE, text)

    def test_a_selection_of_nothing_names_its_line(self):
        job = "{layers: 1, hidden: 64, sequence: 16, vocabulary: 100, data_parallel: 2}"
        for number, (head, key) in enumerate([
                (f"workload:\n  generate: {job}\n  select: {{groups: [nobody]}}\n", "workload.select.groups"),
                (f"jobs:\n  - name: a\n    workload: {{generate: {job}, select: {{groups: [nobody]}}}}\n",
                 "workload.select.groups")]):
            with self.subTest(key=key):
                path = self.folder / f"selection{number}.yaml"
                path.write_text(head + "hosts: {count: 2, npus: 2, nics: 1}\nports: {count: 2, device: ring}\n")
                process = rankwire("check", path)
                self.assert_one_line_error(process, USAGE, f"{path}:3: ", key, 'no group is named "nobody"; there are ')

    def test_an_error_names_file_and_line(self):
        path = self.folder / "wrong.yaml"
        path.write_text("workload:\n  traces: t\nports: {count: 2}\ntransport:\n  mtu: 4096B\n  windows: 3\n")
        process = rankwire("check", path)
        self.assert_one_line_error(process, USAGE, f"{path}:6", "transport.windows", "transport.window")

    def test_truncated_trace(self):
        chakra.write_ranks(self.folder / "t", [[chakra.collective(chakra.ALL_REDUCE, 4096)]] * 2)
        whole = (self.folder / "t.1.et").read_bytes()
        (self.folder / "t.1.et").write_bytes(whole[:-3])
        config = {"workload": {"traces": str(self.folder / "t")}, "ports": {"count": 2}}
        self.assert_one_line_error(rankwire("check", self.configuration(config)), USAGE, "t.1.et")


class Check(RankwireTest):
    CONFIG = {
        "workload": {"generate": SPECIFICATION},
        "hosts": {"count": 2, "npus": 2},
        "ports": [
            {"name": "left", "device": "0000:81:00.0", "rate": "100Gbps"},
            {"name": "right", "device": "0000:81:00.1", "rate": "100Gbps"},
        ],
    }

    def test_tables_without_touching_a_device(self):
        process = rankwire("check", self.configuration(self.CONFIG))
        self.assertEqual((process.returncode, process.stderr), (OK, ""))
        lines = [line.split() for line in process.stdout.splitlines()]
        # Round robin: rank r on host r % 2, and host h behind port h.
        ranks = [line for line in lines if len(line) == 7 and line[0].isdigit()]
        self.assertEqual([(line[0], line[1], line[4]) for line in ranks],
                         [("0", "0", "left"), ("1", "1", "right"), ("2", "0", "left"), ("3", "1", "right")])
        self.assertEqual([line[1] for line in lines if line and line[0] in ("left", "right")],
                         ["0000:81:00.0", "0000:81:00.1"])

    def test_json(self):
        process = rankwire("check", self.configuration(self.CONFIG), "--json")
        self.assertEqual(process.returncode, OK, process.stderr)
        check = json.loads(process.stdout)
        self.assertEqual([rank["port"] for rank in check["ranks"]], ["left", "right", "left", "right"])
        left, right = check["ports"]
        self.assertGreater(left["bytes_tx"], 0)
        self.assertEqual(left["bytes_tx"] + right["bytes_tx"], check["bytes_wire_per_iteration"])
        self.assertEqual((left["bytes_tx"], left["messages_tx"]), (right["bytes_rx"], right["messages_rx"]))
        self.assertEqual(check["config"]["transport"]["mtu"], "4096B")

    def test_warns_when_little_goes_over_the_wire(self):
        # Two pairs: consecutive ranks meet on a host with blocks, and over the wire with round robin.
        pairs = [chakra.collective(chakra.ALL_REDUCE, 1 << 20, group=f"pair{rank // 2}") for rank in range(4)]
        chakra.write_ranks(self.folder / "t", [[pair] for pair in pairs])
        groups = self.folder / "groups.json"
        groups.write_text(json.dumps({"pair0": [0, 1], "pair1": [2, 3]}))
        config = self.CONFIG | {"workload": {"traces": str(self.folder / "t"), "groups": str(groups)}}
        path = self.configuration(config)
        over_the_wire = rankwire("check", path, "--set", "mapping.policy=round_robin")
        self.assertEqual((over_the_wire.returncode, over_the_wire.stderr), (OK, ""))
        local = rankwire("check", path, "--set", "mapping.policy=block")
        self.assertEqual(local.returncode, OK)
        self.assertRegex(local.stderr, r"^warning: only 0\.0 % of the bytes go over the wire")


class RdmaDevices(RankwireTest):
    """What is known of RDMA devices where there is none of that name."""

    CONFIG = {
        "workload": {"generate": SPECIFICATION},
        "hosts": {"count": 2, "npus": 2},
        "ports": [
            {"name": "left", "verbs": "nowhere_0", "port": 2},
            {"name": "right", "device": "0000:81:00.1"},
        ],
    }

    def test_check_touches_no_device(self):
        process = rankwire("check", self.configuration(self.CONFIG))
        self.assertEqual((process.returncode, process.stderr), (OK, ""))
        lines = [line.split(maxsplit=5) for line in process.stdout.splitlines()]
        self.assertEqual([line[5] for line in lines if len(line) == 6 and line[4] == "left"], ["of the RDMA device"] * 2)
        self.assertIn("nowhere_0 port 2", process.stdout)
        check = json.loads(rankwire("check", self.configuration(self.CONFIG), "--json").stdout)
        self.assertEqual([rank["ip"] is None for rank in check["ranks"]], [True, False, True, False])
        self.assertEqual([port["kind"] for port in check["ports"]], ["rdma", "dpdk"])

    def test_a_run_without_the_device_is_an_error(self):
        config = self.configuration(self.CONFIG)
        process = rankwire("run", config, "--out", self.folder / "run")
        self.assert_one_line_error(process, USAGE, f"{config}: ports[0].verbs: there is no RDMA device 'nowhere_0'")
        self.assertFalse((self.folder / "run" / "summary.json").exists())

    def test_the_twin_needs_no_device(self):
        run = self.call("simulate", self.CONFIG, "--twin")
        self.assertEqual(run.summary["verdict"], "ok")

    def test_devices(self):
        process = rankwire("devices", "--json")
        self.assertEqual((process.returncode, process.stderr), (OK, ""))
        devices = json.loads(process.stdout)
        table = rankwire("devices").stdout
        for device in devices:
            with self.subTest(device=device["device"]):
                self.assertIn(device["kind"], ("pci", "rdma"))
                # One that cannot be used says why.
                self.assertEqual(device["usable"], device["obstacle"] == "")
                self.assertIn(device["device"], table)
                self.assertIn(device["obstacle"], table)
        present = sorted(path.name for path in pathlib.Path("/sys/class/infiniband").glob("*"))
        self.assertEqual(sorted({d["device"] for d in devices if d["kind"] == "rdma"} & set(present)), present)
        if not present:
            self.assertIn("\nnone: ", table)


class Folders(RankwireTest):
    CONFIG = {"workload": {"generate": SPECIFICATION}, "ports": {"count": 2, "device": "memory"}}

    def test_simulate_leaves_the_emulated_columns_empty(self):
        run = self.call("simulate", self.CONFIG)
        self.assertEqual(set(run.summary["emulated"].values()), {None})
        self.assertIsNone(run.summary["ratio"])
        self.assertGreater(run.summary["reference"]["completion_time_ps"], 0)
        rows = run.rows("operations")
        self.assertTrue(rows)
        for row in rows:
            self.assertEqual((row["emulated_start_ps"], row["emulated_end_ps"]), ("", ""))
            self.assertGreaterEqual(int(row["reference_end_ps"]), int(row["reference_start_ps"]))

    def test_json_summary_is_that_of_the_folder(self):
        process = rankwire("simulate", self.configuration(self.CONFIG), "--json", "--out", self.folder / "run")
        self.assertEqual(json.loads(process.stdout), Run(self.folder / "run").summary)

    def test_resolved_configuration_can_be_run(self):
        first = self.call("simulate", self.CONFIG, out="first")
        second = self.call("simulate", first.summary["config"], out="second")
        self.assertEqual(first.summary["config"], second.summary["config"])
        self.assertEqual(first.rows("operations"), second.rows("operations"))

    def test_fewer_ranks_than_an_earlier_run_in_the_folder(self):
        for degree in (4, 1):
            with self.subTest(data_parallel=degree):
                run = self.call("simulate", self.CONFIG, "--set", f"workload.generate.data_parallel={degree}")
                self.assertEqual(run.summary["ranks"], 2 * degree)

    def test_a_folder_takes_one_run_at_a_time(self):
        folder = self.folder / "run"
        folder.mkdir()
        descriptor = os.open(folder, os.O_RDONLY)
        self.addCleanup(os.close, descriptor)
        fcntl.flock(descriptor, fcntl.LOCK_EX)  # as a running rankwire holds it
        process = rankwire("simulate", self.configuration(self.CONFIG), "--out", folder)
        self.assert_one_line_error(process, USAGE, str(folder), "another rankwire")
        self.assertEqual(list(folder.iterdir()), [])
        fcntl.flock(descriptor, fcntl.LOCK_UN)
        self.call("simulate", self.CONFIG)

    def test_a_run_is_overwritten_only_when_asked_for(self):
        config = self.configuration(self.CONFIG)
        for what, arguments, result in (
            ("run", (), "summary.json"),
            ("sweep", ("--sweep", "seed=1,2"), "sweep.json"),
        ):
            with self.subTest(what=what):
                folder = self.folder / what
                arguments = ("simulate", config, "--quiet", "--out", folder, *arguments)
                self.assertEqual(rankwire(*arguments).returncode, OK)
                (folder / result).write_text("of the first")
                for verb in ("simulate", "run"):
                    again = rankwire(verb, config, "--out", folder)
                    self.assert_one_line_error(again, USAGE, f"{folder}: this folder holds a {what}", "--out", "--force")
                self.assertEqual((folder / result).read_text(), "of the first")
                self.assertEqual(rankwire(*arguments, "--force").returncode, OK)
                json.loads((folder / result).read_text(encoding="utf-8"))

    def test_the_default_folder_is_numbered(self):
        config = self.configuration(self.CONFIG | {"name": "twice"})
        here = {"prefix": ["env", "-C", self.folder]}
        folders = ["twice", "twice-2", "twice-3"]
        for number, folder in enumerate(folders):
            process = rankwire("simulate", config, **here)
            self.assertEqual(process.returncode, OK, process.stderr)
            self.assertIn(f"runs/{folder}/report.html", process.stdout)
            told = "" if number == 0 else f"warning: runs/twice is taken; this goes to runs/{folder}\n"
            self.assertEqual(process.stderr, told)
        (self.folder / "runs/twice/summary.json").unlink()
        self.assertEqual(rankwire("simulate", config, "--force", **here).stderr, "")
        self.assertEqual(sorted(path.name for path in (self.folder / "runs").iterdir()), folders)
        self.assertTrue((self.folder / "runs/twice/summary.json").exists())

    def test_a_run_that_does_not_begin_leaves_no_folder(self):
        # Too few places, found after the traces are generated; and a device that is not there, after the record is made.
        for wrong in ({"hosts": {"count": 2, "npus": 1}}, {"ports": [
            {"name": f"p{i}", "device": f"ffff:ff:1f.{i}"} for i in range(2)
        ]}):
            config = self.configuration(self.CONFIG | wrong)
            with self.subTest(wrong=wrong):
                process = rankwire("run", config, "--out", self.folder / "new" / "run")
                self.assertIn(process.returncode, (FAILED, USAGE))
                self.assertFalse((self.folder / "new").exists())
                (self.folder / "there").mkdir(exist_ok=True)
                (self.folder / "there" / "notes").touch()
                rankwire("run", config, "--out", self.folder / "there")
                self.assertEqual([path.name for path in (self.folder / "there").iterdir()], ["notes"])

    def test_a_folder_that_cannot_be_used_is_named(self):
        config = self.configuration(self.CONFIG)
        (self.folder / "file").write_text("mine", encoding="utf-8")
        for out in ("file", "file/below"):
            for verb in (["simulate", config], ["simulate", config, "--sweep", "seed=1,2"], ["collective", "all_reduce"],
                         ["nic-check", "--emulated"]):  # fmt: skip
                with self.subTest(out=out, verb=verb):
                    process = rankwire(*verb, "--out", self.folder / out)
                    self.assert_one_line_error(process, USAGE, f"--out {self.folder / out}: this folder cannot be made: ")
        self.assertEqual((self.folder / "file").read_text(encoding="utf-8"), "mine")
        (self.folder / "run/report.html/mine").mkdir(parents=True)
        process = rankwire("simulate", config, "--out", self.folder / "run")
        self.assert_one_line_error(process, FAILED, "run/report.html: is of an earlier run and cannot be removed: ")

    def test_a_report_that_cannot_be_written_fails(self):
        run = self.call("simulate", self.CONFIG)
        for name in ("summary.json", "report.html", "operations.csv", "flows.csv", "traffic.csv", "timeline.json"):
            with self.subTest(name=name):
                (run.folder / name).unlink()
                (run.folder / name / "mine").mkdir(parents=True)
                process = rankwire("report", run.folder)
                self.assertEqual(process.returncode, FAILED)
                self.assertIn(f"error: {run.folder / name}: ", process.stderr)
                shutil.rmtree(run.folder / name)

    def test_an_earlier_run_survives_a_wrong_configuration(self):
        run = self.call("simulate", self.CONFIG)
        before = run.summary
        wrong = self.configuration(self.CONFIG | {"hosts": {"count": 2, "npus": 1}})
        self.assert_one_line_error(rankwire("simulate", wrong, "--force", "--out", run.folder), USAGE, "npus")
        self.assertEqual(rankwire("report", run.folder).returncode, OK)
        self.assertEqual(Run(run.folder).summary, before)

    def test_set_replaces_a_key(self):
        run = self.call("simulate", self.CONFIG, "--set", "ports.rate=2Gbps", "--set", "transport.mtu=1024B")
        self.assertEqual(run.summary["config"]["transport"]["mtu"], "1024B")
        self.assertEqual({port["rate"] for port in run.summary["config"]["ports"]}, {"2Gbps"})

    def test_report_draws_what_is_asked_for(self):
        run = self.call("simulate", self.CONFIG, "--twin")
        before = (run.folder / "operations.csv").read_bytes()
        for name in ("operations.csv", "report.html", "timeline.json"):
            (run.folder / name).unlink()
        self.assertEqual(rankwire("report", run.folder, "--format", "csv,markdown").returncode, OK)
        self.assertEqual((run.folder / "operations.csv").read_bytes(), before)
        self.assertTrue((run.folder / "report.md").exists())
        self.assertFalse((run.folder / "report.html").exists())
        self.assertEqual(rankwire("report", run.folder, "--format", "html,perfetto").returncode, OK)
        json.loads((run.folder / "timeline.json").read_text(encoding="utf-8"))
        self.assert_one_line_error(rankwire("report", run.folder, "--format", "pdf"), USAGE, "pdf")
        # The page alone, elsewhere: the same as the one that stands in the folder, which stays as it is.
        times = {file.name: file.stat().st_mtime_ns for file in run.folder.iterdir()}
        alone = rankwire("report", run.folder, "--page", self.folder / "alone.html")
        self.assertEqual((alone.returncode, alone.stdout, alone.stderr), (OK, "", ""))
        self.assertEqual((self.folder / "alone.html").read_bytes(), (run.folder / "report.html").read_bytes())
        self.assertEqual({file.name: file.stat().st_mtime_ns for file in run.folder.iterdir()}, times)
        self.assert_one_line_error(rankwire("report", run.folder, "--page", "x", "--json"), USAGE, "--page", "--json")

    def test_ports_have_their_configured_names(self):
        config = self.CONFIG | {"ports": [{"name": "left", "device": "memory"}, {"name": "right", "device": "memory"}]}
        run = self.call("simulate", config, "--twin")
        self.assertEqual(sorted(row["name"] for row in run.rows("ports", fidelity="twin")),
                         ["left", "right", "switch.left", "switch.right"])


class Generate(RankwireTest):
    def test_generated_traces_are_those_of_the_configuration(self):
        specification = self.configuration(SPECIFICATION, "model.yaml")
        prefix = self.folder / "gpt"
        process = rankwire("trace", "generate", specification, "--out", prefix)
        self.assertEqual(process.returncode, OK, process.stderr)
        self.assertEqual(len(chakra.read_ranks(prefix)), 4)
        ports = {"count": 2, "device": "memory"}
        # Generated sizes are scaled by whole bf16 elements, traces by bytes; without a scale it is the same.
        files = {"traces": str(prefix), "groups": f"{prefix}.json"}
        traces = self.call("simulate", {"workload": files, "ports": ports}, out="traces")
        inline = self.call("simulate", {"workload": {"generate": SPECIFICATION}, "ports": ports}, out="inline")
        self.assertEqual(traces.rows("operations"), inline.rows("operations"))
        self.assertEqual(traces.summary["bytes"], inline.summary["bytes"])

    def test_missing_folders_are_made(self):
        prefix = self.folder / "new" / "traces" / "gpt"
        process = rankwire("trace", "generate", self.configuration(SPECIFICATION), "--out", prefix)
        self.assertEqual(process.returncode, OK, process.stderr)
        self.assertEqual(len(chakra.read_ranks(prefix)), 4)
        (self.folder / "file").touch()
        prefix = self.folder / "file" / "gpt"
        process = rankwire("trace", "generate", self.configuration(SPECIFICATION), "--out", prefix)
        self.assert_one_line_error(process, USAGE, str(prefix), "no files can be made")

    def test_groups_beside_the_traces_are_found(self):
        prefix = self.folder / "gpt"
        process = rankwire("trace", "generate", self.configuration(SPECIFICATION), "--out", prefix)
        self.assertEqual(process.returncode, OK, process.stderr)
        files = [f"{prefix}.{rank}.et" for rank in range(4)]
        for traces in (str(prefix), files):
            config = {"workload": {"traces": traces}, "ports": {"count": 2, "device": "memory"}}
            for verb, arguments in (("check", ["--no-measure"]), ("run", ["--out", self.folder / "run", "--force"])):
                with self.subTest(verb=verb, traces=traces):
                    process = rankwire(verb, self.configuration(config), "--json", *arguments)
                    self.assertEqual(process.returncode, OK, process.stderr)
                    resolved = json.loads(process.stdout)["config"]["workload"]
                    self.assertEqual(resolved["groups"], f"{prefix}.json")
        config["workload"]["groups"] = "none"
        process = rankwire("check", self.configuration(config))
        self.assert_one_line_error(process, USAGE, "is not defined; known groups: none", "PREFIX.json")
        # What stands there and is no file of process groups is not taken for one.
        (self.folder / "gpt.json").write_text("[]")
        config["workload"] = {"traces": str(prefix)}
        process = rankwire("check", self.configuration(config))
        self.assert_one_line_error(process, USAGE, "is not defined; known groups: none", "PREFIX.json")

    def test_a_prefix_of_more_ranks_is_not_mixed_with(self):
        prefix = self.folder / "gpt"
        path = self.configuration(SPECIFICATION | {"data_parallel": 4}, "more.yaml")  # 8 ranks
        self.assertEqual(rankwire("trace", "generate", path, "--out", prefix).returncode, OK)
        before = (self.folder / "gpt.0.et").read_bytes()
        path = self.configuration(SPECIFICATION, "fewer.yaml")  # 4 ranks
        self.assert_one_line_error(rankwire("trace", "generate", path, "--out", prefix), USAGE, "gpt.4.et", "4 ranks")
        self.assertEqual((self.folder / "gpt.0.et").read_bytes(), before)

    def test_errors_name_the_file_and_the_line(self):
        path = self.folder / "model.yaml"
        path.write_text("tensor_parallel: 3\nhidden: 64\n")
        process = rankwire("trace", "generate", path, "--out", self.folder / "gpt")
        self.assert_one_line_error(process, USAGE, f"{path}:2: hidden: 64 is not a multiple of tensor_parallel 3")


if __name__ == "__main__":
    unittest.main()

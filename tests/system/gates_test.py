"""What pipelines see: exit statuses, gates, JUnit XML and the schemas of what is written."""

import json
import re
import shutil
import subprocess
import unittest
import xml.etree.ElementTree as ElementTree

import yaml

from rankwire import BINARY, FAILED, INCONCLUSIVE, OK, SOURCE, USAGE, RankwireTest, rankwire, transformer
from schemas import schema, schema_errors


class PipelineTest(RankwireTest):
    CONFIG = {"workload": {"generate": transformer()}, "ports": {"count": 2, "device": "memory"}}

    def write(self, name, *lines):
        path = self.folder / name
        path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
        return path

    def junit(self, path):
        """The test suite of a valid file."""
        done = subprocess.run(["xmllint", "--noout", "--schema", SOURCE / "docs/schemas/junit.xsd", path], capture_output=True,
                              text=True, check=False)  # fmt: skip
        self.assertEqual(done.returncode, 0, done.stderr)
        return ElementTree.parse(path).getroot().find("testsuite")

    def assert_valid(self, name, document):
        self.assertEqual(schema_errors(name, document), [])


class Gates(PipelineTest):
    def setUp(self):
        super().setUp()
        self.path = self.configuration(self.CONFIG)

    def simulate(self, *gates, status, more=()):
        """The gates of a twin, as `--json` prints them, and its test suite."""
        junit = self.folder / "junit.xml"
        process = rankwire("simulate", self.path, "--twin", "--json", "--force", "--out", self.folder / "run", "--gate",
                           self.write("gates.txt", *gates), "--junit", junit, *more)  # fmt: skip
        self.assertEqual(process.returncode, status, process.stderr)
        summary = json.loads(process.stdout)
        self.assert_valid("summary", summary)
        return summary["gates"], self.junit(junit)

    def test_gates_that_are_kept(self):
        gates, suite = self.simulate(
            "transport.retransmitted == 0", "completion_time <= 100 s", "losses.ppm <= 10", "fidelity == ok",
            "operations.all_reduce.busbw_gbps > 0 Gbit/s", "max(ports[*].rx_missed) == 0", status=OK)  # fmt: skip
        self.assertEqual({gate["verdict"] for gate in gates}, {"pass"})
        self.assertEqual((suite.get("tests"), suite.get("failures")), ("7", "0"))

    def test_the_jct_ratio_of_iterations(self):
        one, _ = self.simulate("jct_ratio_p95 <= 1000", "ratio <= 1000", "jct_ratio_of == iterations",
                               "jct_ratio_samples == 1", status=OK)  # fmt: skip
        # Of one iteration, which begins with the run, it is the ratio itself, but for what ranks of the reference's member
        # at the median begin later.
        self.assertAlmostEqual(one[0]["value"], one[1]["value"], delta=1e-4)
        self.simulate("jct_ratio_samples == 3", status=OK, more=("--set", "workload.iterations=3"))
        process = rankwire("report", self.folder / "run", "--gate", self.write("g.txt", "jct_ratio_p59 <= 1"))
        self.assert_one_line_error(process, USAGE, "g.txt:1: ", "did you mean 'jct_ratio_p5")

    def test_the_jct_ratio_of_repetitions(self):
        """The greatest of two is the 95th percentile by nearest rank: ceil(1.9) is 2."""
        path = self.write("g.txt", "jct_ratio_of == repetitions", "jct_ratio_samples == 2", "jct_ratio_p95 >= 0")
        process = rankwire("run", self.path, "--set", "run.repeat=2", "--json", "--out", self.folder / "run", "--gate", path)
        summary = json.loads(process.stdout)
        self.assertEqual([gate["verdict"] for gate in summary["gates"][:2]], ["pass", "pass"], process.stderr)
        times = [each["completion_time_ps"] for each in summary["repetitions"]["runs"]]
        expected = summary["ratio"] * max(times) / summary["emulated"]["completion_time_ps"]
        self.assertAlmostEqual(summary["gates"][2]["value"], expected, delta=1e-6)

    def test_a_gate_that_is_broken_says_by_what(self):
        gates, suite = self.simulate("transport.retransmitted == 0", "completion_time <= 1 ns", status=FAILED)
        self.assertEqual([gate["verdict"] for gate in gates], ["pass", "fail"])
        self.assertRegex(gates[1]["text"], r"completion_time_ps: [\d.e+]+ ns is above 1 ns")
        failed = [case for case in suite.iter("testcase") if case.find("failure") is not None]
        self.assertEqual([case.get("name") for case in failed], ["completion_time <= 1 ns"])
        self.assertEqual(failed[0].find("failure").get("message"), gates[1]["text"])
        quiet = rankwire("simulate", self.path, "--twin", "--quiet", "--force", "--out", self.folder / "run", "--gate",
                         self.folder / "gates.txt")  # fmt: skip
        self.assertEqual((quiet.returncode, quiet.stdout), (FAILED, ""))
        self.assertIn(f"gates.txt:2: {gates[1]['text']}", quiet.stderr)
        # The same of the run folder.
        again = rankwire("report", self.folder / "run", "--format", "csv", "--gate", self.folder / "gates.txt")
        self.assertEqual(again.returncode, FAILED)
        self.assertIn("BROKEN   " + gates[1]["text"], again.stdout)

    def test_what_is_wrong_is_said_with_its_line(self):
        for lines, words in (
            (("ratio <= 1", "ratio"), "gates.txt:2: 'ratio' needs a figure"),
            (("# one", "", "transport.retransmited == 0"), "gates.txt:3: .*did you mean 'retransmitted'"),
            (("completion_time <= 2 GiB",), "gates.txt:1: .*not in GiB"),
            (("messages == ok",), "gates.txt:1: 'messages' is [0-9]+, and 'ok' a word"),
        ):
            with self.subTest(lines=lines):
                process = rankwire("simulate", self.path, "--quiet", "--force", "--out", self.folder / "run", "--gate",
                                   self.write("gates.txt", *lines))  # fmt: skip
                self.assertEqual(process.returncode, USAGE, process.stderr)
                self.assertRegex(process.stderr, words)
        # The run is good all the same.
        self.assertEqual(json.loads((self.folder / "run/summary.json").read_text())["verdict"], "ok")

    def test_files_that_cannot_be_written_are_found_first(self):
        nowhere = self.folder / "nowhere" / "junit.xml"
        for command in (("simulate", self.path, "--out", self.folder / "unwritten"),
                        ("peer", "--perftest", "--device", "net_absent", "--ip", "10.0.0.1/24")):  # fmt: skip
            self.assert_one_line_error(rankwire(*command, "--junit", nowhere), USAGE, str(nowhere),
                                       "cannot be written: No such file or directory")
        self.assertFalse((self.folder / "unwritten").exists())
        out = self.folder / "suite"
        (out / "junit.xml").mkdir(parents=True)
        process = rankwire("nic-check", "--emulated", "--only", "requester.ack.past", "--out", out)
        self.assert_one_line_error(process, USAGE, "suite/junit.xml")
        self.assertEqual([path.name for path in out.iterdir()], ["junit.xml"])

    def test_files_that_are_something_else_are_not_replaced(self):
        """By the JUnit file of a run, before it and when it is drawn again; neither is a directory read as gates."""
        gates = self.write("gates.txt", "messages > 0")
        out = self.folder / "run"
        out.mkdir()
        again = ("simulate", self.path, "--quiet", "--force", "--out", out)
        for name, what in (("run.sqlite", "record"), ("summary.json", "file"), ("capture-2.pcapng", "file")):
            self.assert_one_line_error(rankwire(*again, "--junit", out / name), USAGE, f"run/{name}: is the run's own {what}")
        self.assertEqual(list(out.iterdir()), [])
        self.assertEqual(rankwire(*again, "--junit", out / "junit.xml").returncode, OK)
        record = (out / "run.sqlite").read_bytes()
        for command in (("report", out), ("compare", out, out)):
            self.assert_one_line_error(rankwire(*command, "--junit", out / "run.sqlite"), USAGE, "is the run's own record")
        self.assert_one_line_error(rankwire("report", out, "--junit", out / "traces" / ".." / "traces" / "generated.0.et"),
                                   USAGE, "is the run's own file")
        self.assertEqual((out / "run.sqlite").read_bytes(), record)
        self.assert_one_line_error(rankwire(*again, "--gate", gates, "--junit", self.folder / "run" / ".." / "gates.txt"),
                                   USAGE, "is the file of --gate")
        self.assertEqual(gates.read_text(encoding="utf-8"), "messages > 0\n")
        self.assert_one_line_error(rankwire(*again, "--gate", out), USAGE, f"{out}: is a directory, not a file of gates")

    def test_two_runs(self):
        base = self.call("simulate", self.path, "--twin", out="base")
        slow = self.call("simulate", self.path, "--twin", "--set", "ports.rate=500Mbps", out="slow")
        gates = self.write("compare.yaml", "gates:", "  - ratio <= 1.0")
        junit = self.folder / "compare.xml"
        for other, status in ((base, OK), (slow, FAILED)):
            process = rankwire("compare", base.folder, other.folder, "--json", "--gate", gates, "--junit", junit)
            self.assertEqual(process.returncode, status, process.stderr)
            (gate,) = json.loads(process.stdout)["gates"]
            self.assertEqual(gate["verdict"] == "pass", status == OK)
            self.assertEqual(self.junit(junit).get("failures"), str(status))

    def test_a_run_that_fails_is_a_failure_in_its_file(self):
        broken = self.configuration(self.CONFIG | {"limits": {"ratio": 0.5}}, "limited.yaml")
        junit = self.folder / "junit.xml"
        process = rankwire("simulate", broken, "--twin", "--quiet", "--out", self.folder / "run", "--junit", junit)
        self.assertEqual(process.returncode, FAILED)
        cases = {case.get("name"): case.find("failure") for case in self.junit(junit).iter("testcase")}
        self.assertIsNotNone(cases["verdict"])
        self.assertIsNotNone(cases["ratio"])


class Schemas(PipelineTest):
    def test_summaries_are_valid(self):
        repeated = self.CONFIG | {"ports": {"count": 4, "device": "ring", "rate": "1Gbps"},
                                  "hosts": {"count": 4, "npus": 2}, "run": {"repeat": 2},
                                  "limits": {"ratio": 10**6}}  # fmt: skip
        for verb, config, arguments, status in (
            ("simulate", self.CONFIG, (), OK),
            ("simulate", self.CONFIG | {"record": {"causes": True}}, ("--twin",), OK),
            ("simulate", self.CONFIG | {"limits": {"ratio": 0.5}}, ("--twin",), FAILED),
            ("simulate", self.CONFIG | {"run": {"deadline": "1us"}}, ("--twin",), FAILED),
            ("simulate", SOURCE / "configs/jobs.yaml", (), OK),
            ("simulate", SOURCE / "configs/impairments.yaml", (), OK),
            ("simulate", SOURCE / "configs/background.yaml", ("--twin",), OK),
            ("simulate", self.CONFIG | {"record": {"causes": True, "fabric_interval": "100us"}}, ("--twin",), OK),
            ("run", repeated, (), OK),
        ):
            with self.subTest(config=str(config)[:60], arguments=arguments):
                self.assert_valid("summary", self.call(verb, config, *arguments, status=status).summary)

    def test_summaries_of_collectives_and_of_sweeps_are_valid(self):
        process = rankwire("collective", "all_reduce", "--ranks", 4, "-b", "1K", "-e", "4K", "-n", "2", "--twin", "--check",
                           "--json", "--out", self.folder / "collective")  # fmt: skip
        self.assert_valid("summary", json.loads(process.stdout))
        process = rankwire("simulate", self.configuration(self.CONFIG), "--twin", "--sweep", "transport.window=16,64",
                           "--quiet", "--out", self.folder / "sweep")  # fmt: skip
        self.assertEqual(process.returncode, OK, process.stderr)
        points = sorted((self.folder / "sweep").glob("point-*/summary.json"))
        self.assertEqual(len(points), 2)
        for point in points:
            self.assert_valid("summary", json.loads(point.read_text(encoding="utf-8")))

    def test_a_summary_that_is_not_whole_or_has_more_is_invalid(self):
        summary = self.call("simulate", self.CONFIG, "--twin").summary
        self.assert_valid("summary", summary)
        self.assertFalse(schema("summary").is_valid(summary | {"verdict": "good"}))
        for part in ("emulated", "reference", "diagnosis", "critical_path", "slack", "waterfall", "transport", "generator",
                     "latency", "message_completion_time", "compute", "record"):  # fmt: skip
            with self.subTest(part=part):
                self.assertFalse(schema("summary").is_valid(summary | {part: summary[part] | {"unheard_of": 1}}))
                (first, *_) = summary[part]
                without = {key: value for key, value in summary[part].items() if key != first}
                self.assertFalse(schema("summary").is_valid(summary | {part: without}))
                self.assertFalse(schema("summary").is_valid({key: summary[key] for key in summary if key != part}))


def found(identifier, verdict, **more):
    return {
        "id": identifier, "title": "a | b", "stimulus": "s", "expectation": "e", "source": "RFC 1", "verdict": verdict,
        "reason": "why \x1b[31m<b>", "began_unix_ms": 1767225600000, "took_ms": 1500, "folder": "", "measurements": [],
        "curves": [], "artefacts": [], "anomalies": [],
    } | more  # fmt: skip


class Suites(PipelineTest):
    def suite(self, *cases):
        counts = {word: sum(case["verdict"] == word for case in cases)
                  for word in ("pass", "fail", "inconclusive", "skipped", "error")}  # fmt: skip
        document = {"rankwire": {"version": "1"}, "suite": "bench", "properties": {"dut.model": "X"},
                    "interrupted": False, "verdicts": counts, "cases": list(cases)}  # fmt: skip
        self.assert_valid("suite", document)
        (self.folder / "suite.json").write_text(json.dumps(document), encoding="utf-8")

    def test_a_finished_suite_is_drawn_again(self):
        measured = {"name": "busbw", "subject": "64 KiB", "value": 9.5, "unit": "Gbit/s", "low": 9, "verdict": "pass",
                    "repetitions": 5, "variation": 0.0125}  # fmt: skip
        curve = {"name": "run", "x_name": "size", "x_unit": "B", "y_name": "busbw", "y_unit": "Gbit/s",
                 "points": [[1024, 1], [2048, None], [4096, 3]]}  # fmt: skip
        self.suite(found("T1.a", "pass", measurements=[measured], curves=[curve], anomalies=["one frame was late"]),
                   found("T1.b", "fail"), found("T2.c", "inconclusive"), found("T2.d", "skipped"),
                   found("T3.e", "error"))  # fmt: skip
        process = rankwire("suite", self.folder)
        self.assertEqual(process.returncode, FAILED, process.stderr)
        self.assertIn("1 pass  1 fail  1 inconclusive  1 skipped  1 error  of 5 tests", process.stdout)
        # What a reason has of a hook's words does not reach the terminal as it is.
        self.assertIn("why \\x1b[31m<b>", process.stdout)
        self.assertNotIn("\x1b", process.stdout)
        suite = self.junit(self.folder / "junit.xml")
        self.assertEqual([suite.get(key) for key in ("tests", "failures", "errors", "skipped", "time")],
                         ["5", "1", "1", "2", "7.500"])  # fmt: skip
        properties = {p.get("name"): p.get("value") for p in suite.iter("property")}
        self.assertEqual(properties["T2.c.verdict"], "inconclusive")
        self.assertEqual(properties["T1.a.busbw of 64 KiB"], "9.5 Gbit/s, expected at least 9 Gbit/s")
        markdown = (self.folder / "suite.md").read_text(encoding="utf-8")
        self.assertIn("| T1.a | busbw | 64 KiB | 9.5 Gbit/s | 5 | 1.25 % |", markdown)
        self.assertIn("a \\| b", markdown)
        page = (self.folder / "suite.html").read_text(encoding="utf-8")
        self.assertEqual(page.count("<circle"), 2, "the point without a value is left out")
        self.assertIn("why \\x1b[31m&lt;b&gt;", page)
        self.assertNotIn("\x1b", page + markdown)
        self.assertNotRegex(page, r"(src|href)=\"(https?:)?//")
        # Headed as the run did.
        document = json.loads((self.folder / "suite.json").read_text(encoding="utf-8")) | {"title": "Bench of X"}
        (self.folder / "suite.json").write_text(json.dumps(document), encoding="utf-8")
        self.assertEqual(rankwire("suite", self.folder, "--format", "markdown").returncode, FAILED)
        self.assertTrue((self.folder / "suite.md").read_text(encoding="utf-8").startswith("# Bench of X\n"))
        printed = rankwire("suite", self.folder, "--json", "--format", "junit")
        self.assert_valid("suite", json.loads(printed.stdout))
        # One that cannot be written is found before others are, and 1 would be a verdict.
        (self.folder / "suite.md").unlink()
        (self.folder / "junit.xml").unlink()
        (self.folder / "suite.md").mkdir()
        self.assert_one_line_error(rankwire("suite", self.folder), USAGE, "suite.md: is there, and no file that can be replaced")
        self.assertFalse((self.folder / "junit.xml").exists())
        self.assertEqual(rankwire("suite", self.folder, "--format", "junit,html").returncode, FAILED)

    def test_the_status_is_that_of_the_tests(self):
        for verdicts, status in ((("pass", "skipped"), OK), (("pass", "inconclusive"), INCONCLUSIVE),
                                 (("skipped", "skipped"), INCONCLUSIVE), ((), INCONCLUSIVE),
                                 (("inconclusive", "error"), FAILED)):  # fmt: skip
            self.suite(*(found(f"T.{i}", verdict) for i, verdict in enumerate(verdicts)))
            self.assertEqual(rankwire("suite", self.folder).returncode, status)
        self.assertEqual(rankwire("suite", self.folder, "--format", "pdf").returncode, USAGE)
        self.assertEqual(rankwire("suite", self.folder / "none").returncode, USAGE)


    def test_gates_hold_what_tests_measured(self):
        def measured(value, subject):
            return {"name": "JCT ratio P95", "subject": subject, "value": value, "unit": "of the roofline", "verdict": "pass"}

        self.suite(found("T6.jct", "pass", measurements=[measured(1.05, "N 4"), measured(1.2, "N 8")]))
        before = (self.folder / "suite.json").read_bytes()
        for line, status in (("jct_ratio_p95 <= 1.10", FAILED), ("jct_ratio_p95 <= 1.20", OK),
                             ("T6.jct.jct_ratio_p95[N 4] <= 1.10", OK), ("T6.jct.jct_ratio_p59 <= 1", USAGE)):  # fmt: skip
            with self.subTest(line=line):
                process = rankwire("suite", self.folder, "--gate", self.write("g.txt", line))
                self.assertEqual(process.returncode, status, process.stderr)
        self.assertIn("g.txt:1: 'T6.jct.jct_ratio_p59': T6.jct has no 'jct_ratio_p59'; did you mean", process.stderr)
        process = rankwire("suite", self.folder, "--json", "--gate", self.write("g.txt", "jct_ratio_p95 <= 110 %"))
        document = json.loads(process.stdout)
        self.assert_valid("suite", document)
        self.assertEqual(document["gates"][0]["text"], "jct_ratio_p95[T6.jct: N 8]: 120 % is above 110 %")
        suite = self.junit(self.folder / "junit.xml")
        self.assertEqual([suite.get(key) for key in ("tests", "failures")], ["2", "1"])
        self.assertIn("jct_ratio_p95 &lt;= 110 %", (self.folder / "suite.html").read_text(encoding="utf-8"))
        self.assertEqual((self.folder / "suite.json").read_bytes(), before)

    def test_a_gate_of_a_test_that_there_is_not_is_found_before_any_runs(self):
        out = self.folder / "out"
        command = ("nic-check", "--emulated", "--only", "requester.ack.past", "--out", out, "--gate")
        process = rankwire(*command, self.write("g.txt", "requester.ack.pasta.verdict == pass"))
        self.assert_one_line_error(process, USAGE, "g.txt:1: ", "requester.ack has no 'pasta'; did you mean 'past'?")
        self.assertFalse(out.exists())
        process = rankwire(*command, self.write("g.txt", "requester.ack.past.verdict == fail"))
        self.assertEqual(process.returncode, FAILED, process.stderr)
        self.assertIn("BROKEN   requester.ack.past.verdict: pass is not fail", process.stdout)


class Document(PipelineTest):
    """docs/ci.md."""

    def setUp(self):
        super().setUp()
        self.blocks = re.findall(r"```(\w+)\n(.*?)```", (SOURCE / "docs/ci.md").read_text(encoding="utf-8"), re.DOTALL)
        (self.folder / "rankwire").symlink_to(SOURCE)
        gates = next(text for kind, text in self.blocks if kind == "text")
        (self.folder / "gates.txt").write_text(gates, encoding="utf-8")

    def shell(self, script):
        """Runs a script as a runner does, with the program on its path."""
        folder = self.folder / "bin"
        folder.mkdir(exist_ok=True)
        if not (folder / "rankwire").exists():
            (folder / "rankwire").symlink_to(BINARY)
        return subprocess.run(["bash", "-e", "-c", f'PATH="{folder}:$PATH"\n{script}'], cwd=self.folder, check=False,
                              capture_output=True, text=True, timeout=240)  # fmt: skip

    def test_the_yaml_examples_parse_and_their_commands_pass(self):
        github, gitlab = (yaml.safe_load(text) for kind, text in self.blocks if kind == "yaml")
        steps = [step["run"] for step in github["jobs"]["gates"]["steps"] if "simulate" in step.get("run", "")]
        for script in (*steps, *gitlab["gates"]["script"]):
            with self.subTest(script=script):
                done = self.shell(script)
                self.assertEqual(done.returncode, OK, done.stdout[-2000:] + done.stderr)
                self.junit(self.folder / "junit.xml")
                for artefact in gitlab["gates"]["artifacts"]["paths"]:
                    self.assertTrue((self.folder / artefact).exists(), artefact)
                shutil.rmtree(self.folder / "run")

    def test_the_other_commands_pass(self):
        groovy = next(text for kind, text in self.blocks if kind == "groovy")
        (command,) = re.findall(r"'''\s*(rankwire .*?)\s*'''", groovy, re.DOTALL)
        (script,) = (text for kind, text in self.blocks if kind == "sh")
        for text in (command, script):
            done = self.shell(text)
            self.assertEqual(done.returncode, OK, done.stdout[-2000:] + done.stderr)


if __name__ == "__main__":
    unittest.main()

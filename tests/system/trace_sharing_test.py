"""`rankwire trace obfuscate`, `shrink`, `synthesize` from outside: copies that run, parts that still show something."""

import json
import pathlib
import subprocess
import sys
import unittest

import chakra
from rankwire import BINARY, FAILED, OK, USAGE, RankwireTest, rankwire, transformer


class TraceSharing(RankwireTest):
    def trace(self, verb, *arguments, status=OK, **how):
        process = rankwire("trace", verb, *arguments, "--json", **how)
        self.assertEqual(process.returncode, status, process.stdout + process.stderr)
        return json.loads(process.stdout)

    def generated(self, name="gpt", **changes):
        """The prefix of a generated training step's traces."""
        prefix = self.folder / name
        spec = self.folder / f"{name}.spec"
        spec.write_text(json.dumps({"kind": "transformer"} | transformer(**changes)), encoding="utf-8")
        process = rankwire("trace", "generate", spec, "--out", prefix)
        self.assertEqual(process.returncode, OK, process.stderr)
        return prefix

    def completion(self, prefix, name, ranks=8, **workload):
        config = {
            "name": name,
            "workload": {"traces": str(prefix)} | workload,
            "hosts": {"count": 2, "npus": ranks // 2},
            "ports": {"count": 2, "device": "ring", "rate": "100Gbps"},
        }
        return self.call("simulate", config, out=name).summary["reference"]["completion_time_ps"]

    def files(self, prefix):
        return sorted(pathlib.Path(prefix).parent.glob(pathlib.Path(prefix).name + ".*"))


class Obfuscation(TraceSharing):
    def test_copy_runs_as_the_original(self):
        original, copy = self.generated(), self.folder / "share/job"
        report = self.trace("obfuscate", original, "--key", "k", "--out", copy)
        self.assertEqual(report["ranks"], 8)
        self.assertGreater(report["remaining"]["sizes"], 1)
        self.assertEqual(self.completion(original, "a"), self.completion(copy, "b"))
        self.trace("check", copy)

    def test_copy_of_recorded_traces_runs_as_the_original(self):
        self.unpack("traces/stage/gpt3_8r_tp2pp2dp2.tar.xz")
        original = next(iter(self.folder.glob("**/*.0.et"))).with_suffix("").with_suffix("")
        copy = self.folder / "share/job"
        self.trace("obfuscate", original, "--out", copy)
        size = {"element_size": "2B"}
        self.assertEqual(self.completion(original, "a", **size), self.completion(copy, "b", **size))
        # No name of the originals is in the copy, whatever its length beyond what chance brings about.
        written = b"".join(file.read_bytes() for file in self.files(copy))
        nodes = [node for file in self.files(original) if file.suffix == ".et" for node in chakra.read(file)]
        texts = {node.name for node in nodes}
        texts |= {value for node in nodes for value in node.attributes.values() if isinstance(value, str)}
        self.assertGreater(len(texts), 50)
        self.assertEqual([text for text in texts if len(text) > 3 and text.encode() in written], [])

    def test_options(self):
        original = self.generated()
        mapping = self.folder / "map.json"
        for sizes in ("rounded", "bucketed", "shifted"):
            copy = self.folder / sizes / "job"
            report = self.trace("obfuscate", original, "--sizes", sizes, "--times", "rounded", "--out", copy)
            self.assertEqual(report["remaining"]["starts"], 0)
            self.trace("check", copy)
        self.assertFalse(mapping.exists())
        self.trace("obfuscate", original, "--mapping", mapping, "--out", self.folder / "mapped/job")
        self.assertEqual(mapping.stat().st_mode & 0o777, 0o600)
        again = rankwire("trace", "obfuscate", original, "--out", self.folder / "mapped/job")
        self.assert_one_line_error(again, USAGE, "exists already")
        again = rankwire("trace", "obfuscate", original, "--mapping", mapping, "--out", self.folder / "late/job")
        self.assert_one_line_error(again, USAGE, "map.json exists already")
        self.assertEqual(self.files(self.folder / "late/job"), [])
        keyless = rankwire("trace", "obfuscate", original, "--key", "", "--out", self.folder / "late/job")
        self.assertEqual(keyless.returncode, USAGE)
        self.assertIn("--key: is empty: give a key, or leave the option out", keyless.stderr)
        text = rankwire("trace", "obfuscate", original, "--out", self.folder / "text/job").stdout
        self.assertIn("distinct message sizes", text)


class Shrinking(TraceSharing):
    def command(self, body):
        script = self.folder / "command.py"
        script.write_text("import sys, glob, json, pathlib\n" + body, encoding="utf-8")
        return f"'{sys.executable}' -B {script} {{}} {{folder}}"

    def test_failure_of_the_program_itself(self):
        # One of 40 collectives is of another size at rank 1: what is left is that one alone.
        def nodes(odd):
            sizes = [4096] * 40
            sizes[17] = odd
            return [chakra.collective(chakra.ALL_REDUCE, size, i + 1, [i] if i else []) for i, size in enumerate(sizes)]

        prefix, small = self.folder / "w", self.folder / "small/w"
        chakra.write_ranks(prefix, [nodes(4096), nodes(8192), nodes(4096)])
        bundle = self.folder / "small.tar.zst"
        report = self.trace(
            "shrink", prefix, "--keep", f"{BINARY} trace check {{}}", "--status", 1, "--bundle", bundle, "--out", small
        )
        self.assertTrue(report["minimal"])
        self.assertEqual((report["of_ranks"], report["of_nodes"]), (3, 120))
        self.assertLessEqual(report["nodes"], 2)
        self.assertEqual(rankwire("trace", "check", small).returncode, FAILED)
        self.assertIn("try,pass,ranks,nodes", (self.folder / "small/w.tries.csv").read_text())
        listing = subprocess.run(["tar", "--zstd", "-tf", bundle], capture_output=True, text=True, check=False)
        if listing.returncode == 0:  # else there is no zstd for tar
            self.assertIn("w/w.0.et", listing.stdout.split())
            self.assertIn("w/version.txt", listing.stdout.split())

    def test_configuration_shrinks_too(self):
        prefix, small = self.generated(), self.folder / "small/w"
        config = self.configuration(
            {"workload": {"traces": str(prefix), "iterations": 3}, "ports": {"rate": "100Gbps"}, "run": {"seed": 7}}
        )
        command = self.command(
            "text = pathlib.Path(sys.argv[1]).read_text()\n"
            "pathlib.Path(sys.argv[2], 'seen').write_text('x')\n"
            "sys.exit('seed' not in text)\n"
        )
        report = self.trace("shrink", prefix, "--config", config, "--keep", command, "--out", small)
        self.assertEqual((report["ranks"], report["nodes"], report["keys"]), (1, 1, 1))
        text = small.with_suffix(".yaml").read_text()
        self.assertIn("seed: 7", text)
        self.assertNotIn("iterations", text)

    def test_limits_and_errors(self):
        prefix = self.generated()
        never = self.command("sys.exit(3)\n")
        process = rankwire("trace", "shrink", prefix, "--keep", never, "--out", self.folder / "a/w")
        self.assert_one_line_error(process, FAILED, "ended with status 3")
        slow = self.command("import time\nprint('waits', flush=True)\ntime.sleep(600)\n")
        process = rankwire("trace", "shrink", prefix, "--keep", slow, "--patience", "1s", "--out", self.folder / "b/w")
        self.assert_one_line_error(process, FAILED, "did not end in time", "waits")
        few = self.trace("shrink", prefix, "--keep", "true {}", "--tries", 1, "--out", self.folder / "c/w")
        self.assertEqual((few["tries"], few["minimal"], few["ranks"]), (1, False, 8))
        for arguments, text in (
            (("--keep", "a 'b"), "is not closed"),
            (("--keep", " "), "no command"),
            (("--keep", "true"), "names no {}"),
            (("--keep", "true {folder}"), "names no {}"),
            (("--keep", "true {}", "--bundle", self.folder / "small.zip"), "small.zip is to be an archive"),
        ):
            process = rankwire("trace", "shrink", prefix, *arguments, "--out", self.folder / "d/w")
            self.assert_one_line_error(process, USAGE, text)
        self.assertFalse((self.folder / "d").exists())

    def test_results_have_a_place_before_the_first_run(self):
        prefix, seen = self.generated(), self.folder / "seen"
        (self.folder / "file").write_text("no folder", encoding="utf-8")
        command = self.command(f"pathlib.Path({str(seen)!r}).write_text('x')\n")
        inside, bundle = self.folder / "file/w", self.folder / "file/w.tar.zst"
        for arguments in (("--out", inside), ("--out", self.folder / "a/w", "--bundle", bundle)):
            process = rankwire("trace", "shrink", prefix, "--keep", command, *arguments)
            self.assert_one_line_error(process, FAILED, str(arguments[-1]), "cannot be written")
        self.assertFalse(seen.exists())
        self.assertFalse((self.folder / "a").exists())

    def test_an_interrupt_is_called_so(self):
        """The command interrupts the search, as Ctrl-C does, in its first run or in its second."""
        prefix, counter = self.generated(), self.folder / "counter"
        body = (
            "import os, signal\n"
            f"counter = pathlib.Path({str(counter)!r})\n"
            "runs = int(counter.read_text()) if counter.exists() else 0\n"
            "counter.write_text(str(runs + 1))\n"
            "runs == %d and os.kill(os.getppid(), signal.SIGINT)\n"
            "runs == 0 and %d == 0 and signal.pause()\n"
        )
        process = rankwire("trace", "shrink", prefix, "--keep", self.command(body % (1, 1)), "--out", self.folder / "b/w")
        self.assertEqual(process.returncode, OK, process.stderr)
        self.assertIn("interrupted, more may go", process.stdout)
        self.assertNotIn("limit", process.stdout)
        counter.unlink()
        process = rankwire("trace", "shrink", prefix, "--keep", self.command(body % (0, 0)), "--out", self.folder / "c/w")
        self.assert_one_line_error(process, FAILED, "interrupted before")


class Synthesis(TraceSharing):
    def assert_like(self, likeness):
        self.assertLessEqual(likeness["counts"], 0.01)
        self.assertLessEqual(likeness["bytes"], 0.01)
        self.assertLessEqual(likeness["overlap"], 0.03)
        self.assertLessEqual(likeness["critical_path"], 0.03)
        self.assertLessEqual(likeness["end"], 0.05)

    def assert_close(self, made, held):
        self.assertLess(abs(made / held - 1), 0.05)

    def test_same_size(self):
        original, made, model = self.generated(layers=12), self.folder / "made/w", self.folder / "model.json"
        report = self.trace("synthesize", original, "--model", model, "--out", made)
        self.assertEqual(report["notes"], [])
        self.assert_like(report["likeness"][0])
        self.trace("check", made)
        self.assert_close(self.completion(made, "a"), self.completion(original, "b"))
        # The model is a small part of the traces, and gives the same again.
        self.assertLess(model.stat().st_size, sum(file.stat().st_size for file in self.files(original)) / 2)
        self.trace("synthesize", "--model", model, "--out", self.folder / "again/w")
        for file in self.files(made):
            self.assertEqual(file.read_bytes(), (self.folder / "again" / file.name).read_bytes())

    def test_size_that_was_not_learned(self):
        """Against the generator, which knows what more replicas do."""
        original = self.generated()
        held, made = self.generated("held", data_parallel=4), self.folder / "made/w"
        report = self.trace("synthesize", original, "--ranks", 16, "--against", held, "--out", made)
        self.assert_like(report["likeness"][0])
        self.assert_close(self.completion(made, "a", ranks=16), self.completion(held, "b", ranks=16))

    def test_more_ranks_share_the_work(self):
        """Twice the replicas, each with half of the sequences: activations and computations halve, gradients do not."""
        model = {"hidden": 1024, "sequence": 1024, "layers": 2, "micro_batches": 2, "tied_embeddings": "off"}
        original = self.generated(micro_batch_size=2, **model)
        held, made = self.generated("held", data_parallel=4, **model), self.folder / "made/w"
        arguments = (original, "--ranks", 16, "--scale-model", "strong", "--against", held, "--out", made)
        self.assert_like(self.trace("synthesize", *arguments)["likeness"][0])

    def test_traces_of_another_tool(self):
        self.unpack("traces/stage/moe_8r_ep4dp2.tar.xz")
        original = next(iter(self.folder.glob("**/*.0.et"))).with_suffix("").with_suffix("")
        made = self.folder / "made/w"
        report = self.trace("synthesize", original, "--element-size", "2B", "--out", made)
        self.assert_like(report["likeness"][0])
        size = {"element_size": "2B"}
        self.assert_close(self.completion(made, "a", **size), self.completion(original, "b", **size))

    def test_errors(self):
        model = self.folder / "model.json"
        self.assert_one_line_error(rankwire("trace", "synthesize", "--out", "w"), USAGE, "name traces")
        model.write_text('{"rankwire_trace_model": 1, "families": [{"ranks": 1}]}', encoding="utf-8")
        process = rankwire("trace", "synthesize", "--model", model, "--out", self.folder / "w")
        self.assert_one_line_error(process, USAGE, "families[0]", '"sets"')
        prefix = self.generated(steps=2)
        for verb, option, number in (("synthesize", "--ranks", 1 << 20), ("scale", "--replicate", 65536)):
            process = rankwire("trace", verb, prefix, option, number, "--out", self.folder / "w")
            self.assert_one_line_error(process, USAGE, f"{option}: ", "--force writes them")
        process = rankwire("trace", "synthesize", prefix, "--ranks", 12, "--out", self.folder / "w")
        self.assert_one_line_error(process, USAGE, "a multiple or a whole part")
        held = self.generated("held")
        first = pathlib.Path(f"{held}.0.et")
        first.write_bytes(first.read_bytes()[:-1])
        for against, text in ((self.folder / "nothing", "nothing.<rank>.et"), (held, "held.0.et: frame ")):
            process = rankwire("trace", "synthesize", prefix, "--against", against, "--out", self.folder / "new/w")
            self.assert_one_line_error(process, USAGE, text)
            self.assertFalse((self.folder / "new").exists())

    def test_a_model_whose_ranks_do_not_fit_together(self):
        """Two ranks, a message of 8 B from the first to the second, and a collective of both."""

        def problem(status=USAGE, receive=(), steps=((0, 2), (1, 2))):
            common = {"size": 8, "after": [], "micros": []}
            operations = [
                {"type": "COMM_SEND_NODE", "peer": 1} | common,
                {"type": "COMM_RECV_NODE", "peer": -1} | common | dict(receive),
                {"type": "COMM_COLL_NODE", "collective": 0, "role": 0} | common,
            ]
            programs = [{"ranks": [rank], "steps": list(of)} for rank, of in enumerate(steps)]
            family = {"ranks": 2, "sets": 1, "roles": [{"named": True, "members": [[0, 1]]}]}
            family |= {"operations": operations, "programs": programs}
            model, made = self.folder / "model.json", self.folder / "made"
            model.write_text(json.dumps({"rankwire_trace_model": 1, "families": [family]}), encoding="utf-8")
            process = rankwire("trace", "synthesize", "--model", model, "--out", made / "w")
            self.assertEqual(process.returncode, status, process.stderr)
            self.assertEqual(made.exists(), status == OK)
            return process.stderr

        self.assertIn("model.json: families[0] would make wrong traces: ", problem(receive={"size": 7}.items()))
        for receive, steps, finding in (
            ({"size": 7}, ((0, 2), (1, 2)), "(message-size)"),
            ({"ahead": 99}, ((0, 2), (1, 2)), "(unmatched-send)"),
            ({}, ((0, 2), (2,)), "(unmatched-send)"),
            ({}, (({"repeat": 10, "of": [0]}, 2), ({"repeat": 9, "of": [1]}, 2)), "(unmatched-send)"),
            ({}, ((0, 2), (1,)), "(absent-member)"),
        ):
            with self.subTest(finding=finding, receive=receive, steps=steps):
                self.assertIn(finding, problem(receive=receive.items(), steps=steps))
        large = problem(steps=(({"repeat": 200_000_000, "of": [0]},), ({"repeat": 200_000_000, "of": [1]},)))
        self.assertIn('model.json: families[0].programs: "repeat": 400000000 nodes', large)
        self.assertIn("model.json: families[0].programs: rank 1 has a message with rank 2", problem(steps=((0,), (0,))))
        problem(OK)


if __name__ == "__main__":
    unittest.main()

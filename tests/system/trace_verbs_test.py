"""`rankwire trace` from outside: broken traces, runs of their repaired copies, parts and pictures."""

import json
import unittest
import xml.etree.ElementTree

import chakra
from rankwire import FAILED, OK, USAGE, RankwireTest, rankwire


class TraceCheck(RankwireTest):
    def write(self, *ranks, name="w"):
        prefix = self.folder / name
        chakra.write_ranks(prefix, ranks)
        return prefix

    def test_unmatched_messages_are_dropped_or_completed_where_asked(self):
        sends = chakra.Node(2, "out", chakra.SEND, [1], attributes={"comm_dst": 1, "comm_size": 64})
        prefix = self.write([chakra.Node(1, "gemm", duration_us=5), sends], [chakra.Node(1, "gemm", duration_us=5)])
        self.check(prefix, "--repair", self.folder / "kept", status=FAILED)
        for how, messages in (("drop", 0), ("complete", 1)):
            copy = self.folder / how
            report = self.check(prefix, "--repair", copy, "--unmatched", how, status=OK)
            self.assertEqual([change["code"] for change in report["changes"]], ["unmatched-send"])
            self.assertEqual(self.simulate(copy / "w").summary["bytes"], 64 * messages)
        process = rankwire("trace", "check", prefix, "--unmatched", "drop")
        self.assertEqual(process.returncode, USAGE)
        self.assertIn("--unmatched requires --repair", process.stderr)

    def test_sets_beyond_memory_are_refused(self):
        """A file of 4 TiB, of which nothing is on disk."""
        path, out = self.folder / "w.0.et", self.folder / "new"
        with open(path, "wb") as file:
            file.truncate(1 << 42)
        for verb, *options in (("check",), ("scale", "--replicate", 2, "--out", out / "w")):
            process = rankwire("trace", verb, path, *options)
            self.assert_one_line_error(process, USAGE, f"{self.folder}/w: ", "too large to be held at once")
        self.assertFalse(out.exists())

    def broken(self):
        """Two ranks; rank 1 has a cycle, a dangling dependency and an id twice."""
        good = [chakra.Node(1, "gemm", duration_us=5), chakra.collective(chakra.ALL_REDUCE, 4096, 2, [1])]
        bad = [
            chakra.Node(1, "gemm", dependencies=[3], duration_us=5),
            chakra.collective(chakra.ALL_REDUCE, 4096, 2, [1]),
            chakra.Node(3, "gemm", dependencies=[2, 99], duration_us=5),
            chakra.Node(3, "other", duration_us=5),
        ]
        return self.write(good, bad)

    def check(self, *arguments, status):
        process = rankwire("trace", "check", *arguments, "--json")
        self.assertEqual(process.returncode, status, process.stdout + process.stderr)
        return json.loads(process.stdout)

    def simulate(self, traces):
        config = {
            "name": "repaired",
            "workload": {"traces": str(traces)},
            "hosts": {"count": 2, "npus": 1},
            "ports": {"count": 2, "device": "ring", "rate": "1Gbps"},
        }
        return self.call("simulate", config)

    def test_finds_all_and_the_repaired_copy_runs(self):
        prefix = self.broken()
        report = self.check(prefix, status=FAILED)
        codes = {finding["code"]: finding for finding in report["sets"][0]["findings"]}
        self.assertEqual(set(codes), {"cycle", "dangling-dependency", "duplicate-id", "forward-dependency"})
        self.assertEqual(codes["cycle"]["rank"], 1)
        self.assertIn('1 "gemm" -> 2 "collective" -> 3 "gemm" -> 1', codes["cycle"]["what"])
        self.assertEqual(codes["dangling-dependency"]["nodes"], [3])

        copy = self.folder / "copy"
        report = self.check(prefix, "--repair", copy, status=OK)
        self.assertEqual(report["copy"]["errors"], 0)
        self.assertEqual(json.loads((copy / "repairs.json").read_text()), report["changes"])
        self.assertEqual([node.dependencies for node in chakra.read(copy / "w.1.et")], [[], [1], [2], []])
        self.assertEqual(self.simulate(copy / "w").summary["verdict"], "ok")

    def test_text_explains(self):
        process = rankwire("trace", "check", self.broken())
        self.assertEqual(process.returncode, FAILED)
        for text in ("error: cycle: ", "means: none of these nodes can ever start", "right: ", "3 errors, 0 warnings"):
            self.assertIn(text, process.stdout)

    def test_usage(self):
        self.assert_one_line_error(rankwire("trace", "check", self.folder / "nothing"), USAGE, "nothing.<rank>.et")
        (self.folder / "empty").mkdir()
        self.assert_one_line_error(rankwire("trace", "check", self.folder / "empty"), USAGE, "holds no traces")
        prefix = self.broken()
        self.assert_one_line_error(rankwire("trace", "check", prefix, "--repair", self.folder), USAGE, "exists already")
        wrong = rankwire("trace", "check", prefix, "--element-size", "2")
        self.assert_one_line_error(wrong, USAGE, "--element-size 2")

    def test_inspect_warns_of_what_is_wrong_between_ranks(self):
        calls = [chakra.collective(chakra.ALL_REDUCE, 64, 1, []), chakra.collective(chakra.ALL_REDUCE, 64, 2, [1])]
        for name, ranks, words in (("good", (calls, calls), None), ("bad", (calls, calls[:1]), "absent-member")):
            prefix = self.write(*ranks, name=name)
            for verb in (("inspect",), ("choose", "--count", 1)):
                process = rankwire("trace", verb[0], prefix, *verb[1:])
                self.assertEqual(process.returncode, OK, process.stderr)
                warnings = [line for line in process.stderr.splitlines() if "see rankwire trace check" in line]
                self.assertEqual(len(warnings), 0 if words is None else 1, process.stderr)
                self.assertTrue(words is None or f"({words})" in warnings[0])

    def test_a_folder_in_place_of_a_trace_is_told(self):
        prefix = self.write([chakra.Node(1, "gemm", duration_us=5)], [chakra.Node(1, "gemm", duration_us=5)])
        file = self.folder / "w.1.et"
        file.unlink()
        file.mkdir()
        for verb in (("check",), ("inspect",), ("synthesize", "--out", self.folder / "new/w")):
            process = rankwire("trace", verb[0], prefix, *verb[1:])
            self.assert_one_line_error(process, USAGE, f"{file}: is a directory, not a trace")
        self.assertFalse((self.folder / "new").exists())


class TraceParts(RankwireTest):
    def setUp(self):
        super().setUp()
        self.prefix = self.folder / "w"
        nodes = [
            chakra.Node(1, "gemm1", duration_us=10),
            chakra.collective(chakra.ALL_REDUCE, 4096, 2, [1]),
            chakra.Node(3, "gemm3", dependencies=[2], duration_us=10),
        ]
        chakra.write_ranks(self.prefix, [nodes, nodes])

    def assert_svg(self, name, text):
        root = xml.etree.ElementTree.parse(self.folder / name).getroot()
        self.assertEqual(root.tag, "{http://www.w3.org/2000/svg}svg")
        self.assertIn(text, [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")])

    def trace(self, verb, *arguments, status=OK, **how):
        process = rankwire("trace", verb, self.prefix, *arguments, "--json", **how)
        self.assertEqual(process.returncode, status, process.stdout + process.stderr)
        return json.loads(process.stdout)

    def test_choose_finds_the_kinds_that_were_generated(self):
        """Three kinds of jobs, and of each some that differ little: the nearest to another kind is far away."""
        kinds = {
            "dense": ({"kind": "transformer", "layers": 2, "hidden": 64, "sequence": 32}, "micro_batches", (4, 5, 6)),
            "dlrm": ({"kind": "dlrm"}, "dlrm.batch", (128, 160)),
            "mlp": ({"kind": "mlp"}, "mlp.batch", (64, 80)),
        }
        sets = []
        for name, (spec, key, values) in kinds.items():
            for value in values:
                file = self.folder / f"{name}-{value}.yaml"
                section, _, last = key.rpartition(".")
                file.write_text(json.dumps(spec | ({section: {last: value}} if section else {key: value})))
                process = rankwire("trace", "generate", file, "--out", self.folder / f"{name}-{value}")
                self.assertEqual(process.returncode, OK, process.stderr)
                sets.append(self.folder / f"{name}-{value}")
        process = rankwire("trace", "choose", *sets, "--count", 3, "--json")
        self.assertEqual(process.returncode, OK, process.stderr)
        report = json.loads(process.stdout)
        clusters = {
            tuple(sorted({str(name).rsplit("/", 1)[1].split("-")[0] for name in each["stands_for"]}))
            for each in report["representatives"]
        }
        self.assertEqual(clusters, {("dense",), ("dlrm",), ("mlp",)})
        self.assertEqual([len(each["stands_for"]) for each in report["representatives"]], [3, 2, 2])
        self.assertAlmostEqual(sum(each["weight"] for each in report["representatives"]), 1)
        # The middle one of the three is the nearest to both others.
        self.assertTrue(report["representatives"][0]["set"].endswith("dense-5"))
        self.assertGreater(report["coverage"], 0.9)
        process = rankwire("trace", "choose", *sets, "--coverage", "90%")
        self.assertEqual(process.returncode, OK, process.stderr)
        self.assertIn("3 of 7 sets", process.stdout)
        for arguments, text in (((), "give --count"), (("--count", 8), "8 of 7 sets of traces cannot be chosen")):
            process = rankwire("trace", "choose", *sets, *arguments)
            self.assert_one_line_error(process, USAGE, text)

    def test_select(self):
        part = self.folder / "part"
        made = self.trace("select", "--only-kinds", "compute", "--only-ranks", "1", "--out", part)
        self.assertEqual((made["ranks"], made["nodes"], made["left_out"]), (1, 2, 1))
        self.assertEqual([node.dependencies for node in chakra.read(f"{part}.0.et")], [[], [1]])
        for option, value in (("--only-ranks", "1-x"), ("--window", "5ms"), ("--only-ids", "3-1")):
            process = rankwire("trace", "select", self.prefix, option, value, "--out", self.folder / "other")
            self.assert_one_line_error(process, USAGE, option)

    def test_select_by_time(self):
        # The all-reduce of 4096 bytes takes 4.096 us at 8 Gbps.
        window = ("--window", "11us-15us", "--rate", "8Gbps", "--out", self.folder / "part")
        self.assertEqual(self.trace("select", *window)["nodes"], 4)

    def test_inspect_draws(self):
        report = self.trace("inspect", "--pictures", self.folder / "pictures")
        self.assertEqual(report["sets"][0]["kinds"]["all_reduce"], {"nodes": 2, "bytes": 8192})
        self.assert_svg("pictures/w.traffic.svg", "collectives")
        self.assertIn("critical path: 3 nodes", rankwire("trace", "inspect", self.prefix).stdout)

    def test_draw(self):
        pictures = self.folder / "pictures/w"
        made = self.trace("draw", "--most", 2, "--out", pictures)
        self.assertEqual((made["vertices"], made["collapsed"]), (2, "name"))
        self.assertIn("gemm# x 2", pictures.with_suffix(".dot").read_text())
        self.assert_svg("pictures/w.timeline.svg", "rank 1")

    def test_draw_by_a_program(self):
        program = self.folder / "dot"
        program.write_text('#!/bin/sh\n[ "$1" = -Tsvg ] && cp "$4" "$3"\n')
        program.chmod(0o755)
        pictures = self.folder / "w"
        draw = ("draw", "--format", "svg", "--out", pictures)
        self.trace(*draw, prefix=["env", f"PATH={self.folder}:/usr/bin:/bin"])
        self.assertIn("digraph", pictures.with_suffix(".svg").read_text())
        process = rankwire("trace", draw[0], self.prefix, *draw[1:], prefix=["/usr/bin/env", "PATH=/nowhere"])
        self.assert_one_line_error(process, FAILED, "dot cannot be started", "package graphviz")


if __name__ == "__main__":
    unittest.main()

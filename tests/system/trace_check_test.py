"""`rankwire trace check`: broken traces from outside, and runs of their repaired copies."""

import json
import unittest

import chakra
from rankwire import FAILED, OK, USAGE, RankwireTest, rankwire


class TraceCheck(RankwireTest):
    def write(self, *ranks, name="w"):
        prefix = self.folder / name
        chakra.write_ranks(prefix, ranks)
        return prefix

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


if __name__ == "__main__":
    unittest.main()

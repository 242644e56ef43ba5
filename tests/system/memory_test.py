"""What `check` says that a run takes of memory, against what it takes."""

import json
import os
import unittest

import chakra
from rankwire import BINARY, FAILED, OK, RankwireTest, rankwire, start

RANKS = 64


class MemoryTest(RankwireTest):
    def setUp(self):
        super().setUp()
        program = BINARY.read_bytes()
        if any(name in program for name in (b"__asan_init", b"__tsan_init", b"__msan_init")):
            self.skipTest("a sanitizer takes memory of its own")

    def config(self, name):
        """All to all, 4096 bytes a pair: 4032 connections, a quarter of them within the four hosts."""
        prefix = self.folder / "trace"
        chakra.write_ranks(prefix, [[chakra.collective(chakra.ALL_TO_ALL, 4096 * RANKS)]] * RANKS)
        return self.configuration(
            {
                "workload": {"traces": str(prefix)},
                "ports": {"count": 4, "device": "memory", "rate": "1Gbps"},
            },
            name,
        )

    def test_a_run_takes_what_check_says(self):
        path = self.config("run.yaml")
        told = json.loads(rankwire("check", path, "--json").stdout)["memory"]
        self.assertEqual(told["total_bytes"], max(run["total_bytes"] for run in told["runs"]))
        for run in told["runs"]:
            parts = sum(run[key] for key in run if key not in ("run", "total_bytes"))
            self.assertEqual(run["total_bytes"], told["setup_bytes"] + parts)

        process = start("run", path, "--quiet", "--out", self.folder / "run")
        _, status, usage = os.wait4(process.pid, 0)  # a quiet run writes too little for a pipe to be full
        process.returncode = os.waitstatus_to_exitcode(status)
        process.stdout.close()
        process.stderr.close()
        self.assertEqual(process.returncode, OK)
        # It was within a tenth where it was tried. Large pages, the allocator and libraries differ between systems,
        # so that half as much more or a third less passes.
        ratio = told["total_bytes"] / (usage.ru_maxrss * 1024)
        print(f"{told['total_bytes'] >> 20} MiB told, {usage.ru_maxrss >> 10} MiB taken")
        self.assertGreater(ratio, 0.67)
        self.assertLess(ratio, 1.5)

    def test_what_does_not_fit_is_told(self):
        """A million flows take some GB. Wherever memory ends there is one line, not a crash."""
        prefix = self.folder / "trace"
        chakra.write_ranks(prefix, [[chakra.collective(chakra.ALL_REDUCE, 1024)]] * 2)
        path = self.configuration({
            "workload": {"traces": str(prefix)},
            "ports": {"count": 2, "device": "memory"},
            "background": [{"name": "b", "pattern": "random_pairs", "pairs": 1 << 20, "size": "1KiB", "rate": "1Kbps"}],
        })
        for kilobytes in (250_000, 300_000, 350_000):
            with self.subTest(kilobytes=kilobytes):
                limit = ["env", f"TMPDIR={self.folder}", "sh", "-c", f'ulimit -v {kilobytes}; exec "$@"', "sh"]
                process = rankwire("check", path, prefix=limit)
                self.assert_one_line_error(process, FAILED, "error: there is not enough memory.")
                self.assertEqual(process.stdout, "")


if __name__ == "__main__":
    unittest.main()

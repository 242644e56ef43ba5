"""A training job that reads samples and writes checkpoints over the network."""

import json
import unittest

from rankwire import OK, SOURCE, USAGE, RankwireTest, rankwire

CONFIG = SOURCE / "configs/storage.yaml"
CHECKPOINT = "workload.generate.storage.checkpoint"


class Storage(RankwireTest):
    def simulated(self, *settings, out):
        arguments = [part for setting in settings for part in ("--set", setting)]
        return self.call("simulate", CONFIG, *arguments, out=out)

    def test_what_checkpoints_cost(self):
        sync = self.simulated(out="sync")
        # The comment in the file derives the bytes.
        self.assertEqual(sync.summary["bytes_wire"], 373_303_296)
        ends = {"sync": sync.summary["reference"]["completion_time_ps"]}
        for run, setting in (("async", f"{CHECKPOINT}.mode=async"), ("none", f"{CHECKPOINT}.every=0")):
            ends[run] = self.simulated(setting, out=run).summary["reference"]["completion_time_ps"]
        # The first checkpoint travels beside two steps, the second one alone.
        self.assertLess(ends["none"], ends["async"])
        self.assertLess(ends["async"], ends["sync"])
        # Rank 0 writes 2 x 3,670,016 + 12 x (786,432 + 524,288) = 23,068,672 bytes, the others 12 x 786,432 each. To each
        # of two storage ranks go four halves at 250 Mbps; then what is left of rank 0's at the 500 Mbps that its port
        # has for each. Stripes of 1 MiB and headers make up to a tenth of difference.
        others, first = 9_437_184 / 2, 23_068_672 / 2
        checkpoint = 8 * (others / 250e6 + (first - others) / 500e6) * 1e12
        self.assertGreaterEqual(ends["sync"] - ends["none"], 0.95 * 2 * checkpoint)
        self.assertLessEqual(ends["sync"] - ends["none"], 1.15 * 2 * checkpoint)
        rows = [row for row in sync.rows("operations", rank="4") if ".checkpoint." in row["name"]]
        # Of four ranks and two checkpoints, what comes and the answer.
        self.assertEqual(len(rows), 16)

    def test_check_names_what_is_sent(self):
        process = rankwire("check", CONFIG, "--json", "--no-measure")
        self.assertEqual((process.returncode, process.stderr), (OK, ""))
        transfers = {row["name"]: row["bytes_wire_per_iteration"] for row in json.loads(process.stdout)["transfers"]}
        self.assertEqual(transfers["step#.checkpoint.storage#.send"], 2 * 14 * 3_670_016)
        self.assertEqual(transfers["restore.rank#.send"], 4 * (2 * 3_670_016 + 12 * (786_432 + 524_288)))
        self.assertEqual(transfers["step#.samples.rank#.send"], 4 * 4 * 2 * 65_536)

    def test_what_is_wrong_is_named(self):
        for setting, text in (
            (f"{CHECKPOINT}.every=5", "storage.checkpoint.every: 5 is above steps 4"),
            ("workload.generate.storage.ranks=0", "storage.ranks: is 0; the other keys of 'storage' need 1 or more"),
            (f"{CHECKPOINT}.copy=10Gbps", "storage.checkpoint.copy: is for 'mode: async'"),
            ("workload.generate.storage.seed=2", "storage.seed: is for 'placement: hashed'"),
        ):
            with self.subTest(setting):
                process = rankwire("check", CONFIG, "--no-measure", "--set", setting)
                self.assert_one_line_error(process, USAGE, text)


if __name__ == "__main__":
    unittest.main()

"""A training job that reads samples and writes checkpoints over the network."""

import json
import unittest

import chakra
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

    def test_other_kinds_of_training(self):
        """Bytes of a checkpoint: 2 replicas of 2 shards of 4 layers of 256 x 128 parameters, once, of 14 bytes each; or
        112 bytes of rows of 1 element of 4 tables in bf16, and 14 of each of the 2 + 11 parameters of the MLPs."""
        dlrm = {"ranks": 2, "tables": 4, "rows": 14, "embedding": 1, "dense": 2, "bottom": [1], "top": [1]}
        for kind, model, ranks, written in (
            ("mlp", {"width": 256}, 5, 4 * 256 * 256 * 14),
            ("dlrm", dlrm, 3, 112 + 14 * 13),
        ):
            with self.subTest(kind):
                storage = {"ranks": 1, "checkpoint": {"every": 2}}
                generate = {"kind": kind, kind: model, "steps": 4, "storage": storage}
                config = {"workload": {"generate": generate}, "ports": {"count": ranks, "device": "memory"}}
                process = rankwire("check", self.configuration(config), "--json", "--no-measure")
                self.assertEqual(process.returncode, OK, process.stderr)
                sent = {row["name"]: row["bytes_wire_per_iteration"] for row in json.loads(process.stdout)["transfers"]}
                self.assertEqual(sent["step#.checkpoint.storage#.send"], 2 * written)

    def test_storage_nodes_of_traces(self):
        """A batch that is read and a checkpoint that is written by each of two ranks, and a request or an answer each."""
        nodes = [
            chakra.Node(0, "batch", 9, [], 0, {"tensor_size": 5_000_000}),
            chakra.Node(1, "work", chakra.COMPUTE, [0], 100),
            chakra.Node(2, "save", 10, [1], 0, {"tensor_size": 3_000_000}),
        ]
        chakra.write_ranks(self.folder / "w", [nodes, nodes])
        config = {"workload": {"traces": str(self.folder / "w")}, "ports": {"count": 2, "device": "memory"}}
        alone = self.call("simulate", config, out="alone")
        self.assertEqual(alone.summary["bytes_wire"], 0)
        config["workload"]["storage"], config["ports"]["count"] = {"ranks": 2}, 4
        stored = self.call("simulate", config, "--twin", out="stored")
        self.assert_delivered(stored)
        # Of either, stripes are on both storage ranks, each of which is asked and answers.
        self.assertEqual(stored.summary["bytes_wire"], 2 * (8_000_000 + 4 * 256))
        arguments = ["storage", self.folder / "w", "--storage-ranks", "2", "--out", self.folder / "converted", "--stripe"]
        process = rankwire("convert", *arguments, "1MiB")
        self.assertEqual(process.returncode, OK, process.stderr)
        process = rankwire("trace", "check", self.folder / "converted" / "trace", "--notes")
        self.assertEqual((process.returncode, process.stdout),
                         (OK, "1 sets, 4 files, 38 nodes: 0 errors, 0 warnings, 0 notes\n"), process.stderr)
        process = rankwire("convert", *arguments, "512B")
        self.assert_one_line_error(process, USAGE, "--stripe: '512B' is not 1KiB .. 1TiB")
        config["workload"]["storage"] = {"ranks": 1, "placement": "hashed", "stripe": "2MiB"}
        process = rankwire("check", self.configuration(config), "--no-measure")
        self.assert_one_line_error(process, USAGE, "workload.storage.stripe: is for 'placement: striped'")

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

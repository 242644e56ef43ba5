"""Every kind of generated workload runs, in the twin and in the reference, with the operations that docs/traces.md counts."""

import collections
import itertools
import json
import signal
import time
import unittest

import chakra
from rankwire import FAILED, OK, USAGE, RankwireTest, rankwire, start


class Generated(RankwireTest):
    def operations(self, generate, ports=4):
        """How often rank 0 does which kind of communication."""
        config = {"workload": {"generate": generate}, "ports": {"count": ports, "device": "memory", "rate": "100Gbps"}}
        run = self.call("simulate", config, "--twin")
        self.assert_delivered(run)
        return collections.Counter(row["kind"] for row in run.rows("operations", rank="0") if row["kind"] != "compute")

    def test_mlp(self):
        for order in ("data_model", "model_data"):
            mlp = {"layers": 3, "width": 256, "model_parallel": 2, "data_parallel": 2, "order": order}
            with self.subTest(order=order):
                self.assertEqual(
                    self.operations({"kind": "mlp", "mlp": mlp}), {"all_gather": 3, "reduce_scatter": 2, "all_reduce": 3}
                )

    def test_dlrm(self):
        dlrm = {"ranks": 4, "batch": 64, "tables": 4, "bottom": [64, 64], "top": [64, 1]}
        self.assertEqual(self.operations({"kind": "dlrm", "dlrm": dlrm}), {"all_to_all": 2, "all_reduce": 4})

    def test_traces_have_a_place(self):
        spec = self.configuration({"kind": "mlp"}, "spec.yaml")
        for out, text in ((spec / "step", "no files can be made in"), (f"{self.folder}/", "this is a folder")):
            process = rankwire("trace", "generate", spec, "--out", out)
            self.assert_one_line_error(process, USAGE, f"--out {out}", text)
        self.assertEqual(rankwire("trace", "generate", spec, "--out", self.folder / "a").returncode, OK)
        inside = ("--out", f"{self.folder}/")
        for verb, *options in (("scale", "--replicate", 2), ("select",), ("obfuscate",), ("synthesize",), ("draw", "--rank", 0)):
            process = rankwire("trace", verb, self.folder / "a", *options, *inside)
            self.assert_one_line_error(process, USAGE, "this is a folder")

    def test_what_is_interrupted_leaves_nothing(self):
        """A set of hours, while its nodes are counted, and as soon as the first of its traces is being written."""
        model = {"layers": 1000, "micro_batches": 4000, "steps": 1000, "hidden": 64, "sequence": 8, "vocabulary": 100}
        spec, prefix = self.configuration(model, "spec.yaml"), self.folder / "made/w"
        for option, begun in ([], prefix.parent), (["--force"], prefix.with_suffix(".0.et")):
            with start("trace", "generate", spec, *option, "--out", prefix) as process:
                while not begun.exists():
                    self.assertIsNone(process.poll())
                    time.sleep(0.01)
                process.send_signal(signal.SIGINT)
                _, errors = process.communicate(timeout=60)
            self.assertEqual(process.returncode, FAILED, errors)
            self.assertIn("stopped by a signal", errors)
            self.assertFalse(prefix.parent.exists())

    def test_a_run_is_interrupted_while_its_traces_are_made(self):
        model = {"layers": 1000, "micro_batches": 4000, "steps": 1000, "hidden": 64, "sequence": 8, "vocabulary": 100}
        config, out = self.configuration({"workload": {"generate": model}, "ports": {"count": 4}}), self.folder / "run"
        with start("simulate", config, "--out", out) as process:
            while not out.exists():
                self.assertIsNone(process.poll())
                time.sleep(0.01)
            process.send_signal(signal.SIGTERM)
            _, errors = process.communicate(timeout=60)
        self.assertEqual(process.returncode, FAILED, errors)
        self.assertIn("stopped by a signal", errors)
        self.assertFalse(out.exists())

    def test_mixture_of_experts_with_zero_stage_two(self):
        model = {"layers": 2, "hidden": 64, "sequence": 32, "vocabulary": 100, "micro_batches": 3, "tensor_parallel": 1}
        experts = {"data_parallel": 4, "experts": 8, "experts_per_token": 2, "expert_parallel": 2, "zero": 2}
        # Four exchanges of tokens a layer and micro-batch; gradients of layers and of experts in each of these, their
        # parameters once; the embedding.
        self.assertEqual(
            self.operations(model | experts),
            {"all_to_all": 24, "reduce_scatter": 12, "all_gather": 4, "all_reduce": 1},
        )

    def test_uneven_experts_arrive_whole(self):
        """What a rank sends to another one is what that one sends back, by a reader of traces of its own."""
        model = {"layers": 2, "hidden": 64, "sequence": 256, "vocabulary": 100}
        experts = {"experts": 8, "experts_per_token": 2, "expert_parallel": 4, "routing": {"popularity": "zipf"}}
        experts |= {"tensor_parallel": 1, "data_parallel": 4}
        path = self.configuration(model | experts, "spec.yaml")
        process = rankwire("trace", "generate", path, "--out", self.folder / "moe")
        self.assertEqual(process.returncode, OK, process.stderr)
        ranks = chakra.read_ranks(self.folder / "moe")
        exchanges = collections.defaultdict(dict)
        for rank, nodes in enumerate(ranks):
            for node in nodes:
                if "comm_splits" in node.attributes:
                    exchanges[node.name][rank] = json.loads(node.attributes["comm_splits"])
        self.assertEqual(len(exchanges), 2 * 2 * 4)  # layers, micro-batches, exchanges
        sums = set()
        for name, sent in exchanges.items():
            if ".dispatch.fwd" not in name:
                continue
            back = exchanges[name.replace("dispatch", "combine")]
            for here, there in itertools.product(range(4), repeat=2):
                self.assertEqual(sent[here][there], back[there][here], name)
            self.assertEqual({sum(parts) for parts in sent.values()}, {256 * 2 * 64 * 2})
            sums |= {sum(parts) for parts in back.values()}
        self.assertGreater(len(sums), 1)
        self.assertEqual(self.operations(model | experts)["all_to_all"], 16)

    def test_every_division_runs(self):
        model = {"layers": 4, "hidden": 64, "sequence": 32, "vocabulary": 100, "heads": 8, "tensor_parallel": 1}
        divisions = {
            "ring": {"data_parallel": 1, "context_parallel": 4, "causal": "on"},
            "heads": {"data_parallel": 2, "context_parallel": 2, "context": "all_to_all"},
            "sequence": {"data_parallel": 1, "tensor_parallel": 4, "sequence_parallel": "on"},
            "fsdp": {"data_parallel": 4, "zero": 3, "shard_replicas": 2, "prefetch": 2},
            "interleaved": {
                "data_parallel": 2, "pipeline_parallel": 2, "pipeline": "interleaved", "virtual_stages": 2
            },
            "zero bubble": {"data_parallel": 2, "pipeline_parallel": 2, "pipeline": "zb-h1", "zero": 3},
            "experts": {
                "data_parallel": 2, "tensor_parallel": 2, "sequence_parallel": "on", "experts": 4, "expert_parallel": 2,
                "shared_experts": 1, "experts_per_token": 2, "dense_layers": 1, "zero": 3,
                "routing": {"popularity": "zipf", "capacity": 1.25},
            },
        }
        for name, division in divisions.items():
            with self.subTest(name):
                self.assertTrue(self.operations(model | division))

    def test_a_model_that_is_too_large_is_named(self):
        model = {"kind": "transformer", "layers": 2, "hidden": 64, "sequence": 32, "vocabulary": 100}
        for changes, text in (
            ({"hidden": 1 << 24, "sequence": 1 << 24, "micro_batch_size": 1 << 16}, "the model is too large: a size exceeds 2^63 - 1"),
            ({"tensor_parallel": 1, "data_parallel": 1 << 16, "context_parallel": 4}, "more than 131072 ranks"),
        ):
            path = self.configuration(model | changes, "spec.yaml")
            process = rankwire("trace", "generate", path, "--out", self.folder / "w")
            self.assert_one_line_error(process, USAGE, "spec.yaml:2: kind: ", text)

    def test_a_misspelt_model_is_named(self):
        path = self.configuration({"layers": 1, "model": "lama3-8b"}, "spec.yaml")
        process = rankwire("trace", "generate", path, "--out", self.folder / "x")
        self.assert_one_line_error(
            process, USAGE, "spec.yaml:", "model: 'lama3-8b' is unknown; did you mean 'llama3-8b'?"
        )
        path = self.configuration({"model": "mixtral-8x7b", "tensor_parallel": 16}, "spec.yaml")
        process = rankwire("trace", "generate", path, "--out", self.folder / "x")
        self.assert_one_line_error(process, USAGE, "does not divide key_value_heads 8; it can be 8 at most")

    def test_a_wrong_description_is_one_line(self):
        path = self.configuration({"kind": "dlrm", "dlrm": {"tables": 9}}, "spec.yaml")
        process = rankwire("trace", "generate", path, "--out", self.folder / "x")
        self.assert_one_line_error(process, USAGE, "spec.yaml:", "dlrm.tables: 9 is not a multiple of dlrm.ranks 4")

    def test_generate_says_what_it_made(self):
        path = self.configuration({"kind": "mlp", "mlp": {"layers": 2}}, "spec.yaml")
        process = rankwire("trace", "generate", path, "--out", self.folder / "mlp")
        self.assertEqual(process.returncode, OK, process.stderr)
        # Forward and weights of two layers, inputs of one, the optimizer; two gathers, one scatter, two reductions.
        self.assertIn("4 ranks, 44 nodes", process.stdout)


if __name__ == "__main__":
    unittest.main()

"""Every kind of generated workload runs, in the twin and in the reference, with the operations that docs/traces.md counts."""

import collections
import unittest

from rankwire import OK, USAGE, RankwireTest, rankwire


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

    def test_mixture_of_experts_with_zero_stage_two(self):
        model = {"layers": 2, "hidden": 64, "sequence": 32, "vocabulary": 100, "micro_batches": 3, "tensor_parallel": 1}
        experts = {"data_parallel": 4, "experts": 8, "experts_per_token": 2, "expert_parallel": 2, "zero": 2}
        # Four exchanges of tokens a layer and micro-batch; gradients of layers and of experts in each of these, their
        # parameters once; the embedding.
        self.assertEqual(
            self.operations(model | experts),
            {"all_to_all": 24, "reduce_scatter": 12, "all_gather": 4, "all_reduce": 1},
        )

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

"""Generated transformers send what public generators have written for the same models: the traces of STAGE (sizes are
numbers of elements) and of MLSynth under RANKWIRE_TEST_DATA.

Counts are by kind, size of the group and bytes, of a rank that stands where it stands in the other set. What the others
leave out or model in another way is said where it is.
"""

import collections
import json
import unittest

import chakra
from rankwire import OK, RankwireTest, rankwire

ELEMENT = 2  # bytes


class PublicTraces(RankwireTest):
    def generated(self, model, rank):
        """The nodes of a rank by (kind, members, bytes), those of layers and those between stages."""
        prefix = self.folder / "ours"
        path = self.configuration(model, "spec.yaml")
        process = rankwire("trace", "generate", path, "--out", prefix)
        self.assertEqual(process.returncode, OK, process.stderr)
        nodes = [n for n in chakra.read(f"{prefix}.{rank}.et") if n.type != chakra.COLLECTIVE or "layer" in n.name]
        return self.counts(nodes, json.loads(prefix.with_suffix(".json").read_text(encoding="utf-8")), 1)

    @staticmethod
    def counts(nodes, groups, element):
        found = collections.Counter()
        for node in nodes:
            if node.type == chakra.COLLECTIVE:
                members = len(groups[node.attributes["pg_name"]])
                found[node.attributes["comm_type"], members, node.attributes["comm_size"] * element] += 1
            elif node.type == chakra.SEND:
                found["send", 1, node.attributes["comm_size"] * element] += 1
        return found

    def public(self, archive, traces, groups, element):
        folder = self.unpack(f"traces/{archive}.tar.xz")
        names = json.loads((folder / groups).read_text(encoding="utf-8"))
        return self.counts(chakra.read(f"{folder / traces}.0.et"), names, element)

    def stage(self, name):
        return self.public(f"stage/{name}", f"{name}/w", f"{name}/w.json", ELEMENT)

    @staticmethod
    def only(counts, *kinds):
        return {key: count for key, count in counts.items() if key[0] in kinds}

    def test_llama_with_sequence_parallelism(self):
        theirs = self.stage("llama8b_8r_tp8")
        division = {"tensor_parallel": 8, "data_parallel": 1, "sequence_parallel": "on"}
        ours = self.generated({"model": "llama3-8b", "micro_batches": 1} | division, 0)
        # Theirs also all-reduces the gradients of input and output, which are not divided there.
        kinds = (chakra.ALL_GATHER, chakra.REDUCE_SCATTER)
        self.assertEqual(ours, self.only(theirs, *kinds))
        self.assertEqual(set(theirs) - set(ours), {(chakra.ALL_REDUCE, 8, 128_256 * 4_096 * ELEMENT)})

    def test_gpt_in_three_dimensions(self):
        theirs = self.stage("gpt3_8r_tp2pp2dp2")
        model = {"layers": 12, "hidden": 4096, "sequence": 4096, "vocabulary": 51200, "micro_batches": 4}
        division = {"pipeline_parallel": 2, "sequence_parallel": "on", "zero": 0, "order": "dp-tp-pp"}
        ours = self.generated(model | division, 0)
        kinds = ("send", chakra.ALL_GATHER, chakra.REDUCE_SCATTER)
        self.assertEqual(self.only(ours, *kinds), self.only(theirs, *kinds))
        # Theirs reduces gradients in each of four micro-batches.
        gradients = (chakra.ALL_REDUCE, 2, 12 * 4096 * 4096 // 2 * ELEMENT)
        self.assertEqual(4 * ours[gradients], theirs[gradients])

    def test_experts(self):
        theirs = self.stage("moe_8r_ep4dp2")
        model = {"layers": 8, "hidden": 4096, "ffn": 14336, "key_value": 1024, "vocabulary": 32000, "sequence": 4096}
        experts = {"experts": 8, "experts_per_token": 2, "expert_parallel": 4}
        division = {"micro_batches": 1, "tensor_parallel": 1, "data_parallel": 8, "zero": 0}
        ours = self.generated(model | experts | division, 0)
        self.assertEqual(self.only(ours, chakra.ALL_TO_ALL), self.only(theirs, chakra.ALL_TO_ALL))
        # Theirs reduces the gradients of experts together with those of attention and with 2,048 more.
        own = 2 * 2 * 4096 * 14336
        self.assertEqual(ours[chakra.ALL_REDUCE, 2, own * ELEMENT], 8)
        self.assertEqual(theirs[chakra.ALL_REDUCE, 2, (own + 2 * 4096 * (4096 + 1024) + 2048) * ELEMENT], 8)

    def test_mlsynth(self):
        theirs = self.public("mlsynth/mlsynth_c8", "mlsynth_c8/et/w", "mlsynth_c8/comm_groups.json", 1)
        model = {"layers": 8, "hidden": 4096, "sequence": 2048, "vocabulary": 51200, "micro_batches": 4}
        ours = self.generated(model | {"micro_batch_size": 4, "pipeline_parallel": 2}, 0)
        activations = 4 * 2048 * 4096 * ELEMENT
        for key in (("send", 1, activations), (chakra.ALL_REDUCE, 2, activations)):
            self.assertEqual(ours[key], theirs[key])
        self.assertEqual(sum(theirs.values()), 4 + 64 + 1)  # and one reduction of all gradients


if __name__ == "__main__":
    unittest.main()

"""`rankwire trace` over the public traces: every file reads, and counts and bytes are those that are known of them."""

import json
import unittest

import corpus
from rankwire import FAILED, OK, TEST_DATA, RankwireTest, rankwire

# Archive, groups within it, exit status of the check, and what its description says of all ranks together. STAGE's
# sizes count elements.
STAGE = {
    "llama8b_8r_tp8": {"compute": 10336, "all_gather": 1536, "reduce_scatter": 1024, "all_reduce": 16},
    "gpt3_8r_tp2pp2dp2": {
        "compute": 5808,
        "all_gather": (1152, 9663676416),
        "reduce_scatter": (768, 12884901888),
        "all_reduce": (208, 22682796032),
        "send": (32, 268435456),
        "receive": (32, 268435456),
    },
    "moe_8r_ep4dp2": {
        "compute": 4192,
        "all_gather": (192, 2147614720),
        "all_to_all": (256, 8589934592),
        "all_reduce": (80, 19814023168),
    },
    "llama70b_64r_tp8pp2dp4": {
        "compute": 80000,
        "all_gather": 12288,
        "reduce_scatter": 8192,
        "all_reduce": 2176,
        "send": 256,
        "receive": 256,
    },
    "gpt_256r_tp8pp8dp4": {
        "compute": 121984,
        "all_gather": 24576,
        "reduce_scatter": 16384,
        "all_reduce": 4224,
        "send": 3584,
        "receive": 3584,
    },
}


class CorpusTest(RankwireTest):
    def trace(self, verb, *arguments, status=OK):
        process = rankwire("trace", verb, *arguments, "--json")
        self.assertEqual(process.returncode, status, process.stdout[-2000:] + process.stderr)
        return json.loads(process.stdout)

    def kinds(self, path, *arguments, sets=1):
        """Nodes and bytes by kind, of all sets of the folder."""
        report = self.trace("inspect", path, *arguments)["sets"]
        self.assertEqual(len(report), sets)
        for one in report:
            self.assertEqual(one["problem"], "", one["name"])
        return {kind: (tally["nodes"], tally["bytes"]) for one in report for kind, tally in one["kinds"].items()}

    def assert_kinds(self, kinds, expected):
        self.assertEqual(set(kinds), set(expected))
        for kind, value in expected.items():
            self.assertEqual(kinds[kind] if isinstance(value, tuple) else kinds[kind][0], value, kind)

    def codes(self, report, severity):
        return {f["code"] for one in report["sets"] for f in one["findings"] if f["severity"] == severity}


class PublicTraces(CorpusTest):
    def test_stage(self):
        for name, expected in STAGE.items():
            with self.subTest(name):
                folder = self.unpack(f"traces/stage/{name}.tar.xz") / name
                report = self.trace("check", folder)
                self.assertEqual(self.codes(report, "warning"), {"element-counts"})
                self.assertEqual(self.trace("check", folder, "--element-size", "2B")["warnings"], 0)
                self.assert_kinds(self.kinds(folder), expected)

    def test_mlsynth(self):
        folder = self.unpack(corpus.MLSYNTH.archive)
        groups = ("--groups", folder / corpus.MLSYNTH.groups)
        report = self.trace("check", folder / corpus.MLSYNTH.traces, *groups)
        self.assertEqual(self.codes(report, "note"), {"repeated-tag"})
        expected = {"compute": 512, "all_reduce": (520, 41674817536), "send": (32, 2147483648)}
        expected["receive"] = expected["send"]
        self.assert_kinds(self.kinds(folder / corpus.MLSYNTH.traces, *groups), expected)
        # Without the file that defines them the groups are not known.
        report = self.trace("check", folder / corpus.MLSYNTH.traces, status=FAILED)
        self.assertEqual(self.codes(report, "error"), {"unknown-group"})

    def test_resnet50_with_control_dependencies(self):
        folder = self.unpack(corpus.RESNET50.archive)
        self.assertEqual(self.trace("check", folder)["sets"][0]["findings"], [])
        kinds = self.kinds(folder)
        self.assert_kinds(kinds, {"compute": 64 * 161, "all_reduce": (64 * 54, 64 * 102011648)})

    def test_transformer_of_the_oldest_schema(self):
        folder = self.unpack("traces/astra-sim/768a491_transformer_2stack_64r_v001.tar.xz")
        self.assertEqual(self.trace("check", folder)["warnings"], 0)
        kinds = self.kinds(folder)
        self.assertEqual(kinds.pop("compute")[0], 64 * 102)
        self.assertEqual(sum(nodes for nodes, _ in kinds.values()), 64 * 40)

    def test_examples(self):
        folder = self.unpack("traces/astra-sim/examples_workload_and_custom_collectives.tar.xz")
        report = self.trace("check", folder)
        self.assertEqual((len(report["sets"]), report["warnings"]), (13, 0))
        ring = folder / "examples/system/custom_collectives/custom_ring_allreduce_8npus_1MB"
        steps = (8 * 14, 8 * 14 * 131072)
        self.assert_kinds(self.kinds(ring), {"compute": 8 * 7, "send": steps, "receive": steps})

    def test_text_converter_outputs(self):
        folder = self.unpack("traces/text/astra1_text_inputs_and_chakra_text_converter_outputs_4npus.tar.xz")
        self.assertEqual(len(self.trace("check", folder)["sets"]), 12)
        resnet = folder / "textw/out_Resnet50_DataParallel"
        self.assert_kinds(self.kinds(resnet), {"compute": 4 * 161, "all_reduce": (4 * 54, 4 * 102011648)})

    def test_generator_outputs(self):
        folder = self.unpack("traces/chakra/generator_outputs_4npus.tar.xz")
        report = self.trace("check", folder, status=FAILED)
        self.assertEqual(len(report["sets"]), 14)
        # Only the two with a SEND or a RECV that names no peer.
        self.assertEqual(self.codes(report, "error"), {"missing-size", "bad-peer"})
        wrong = [one["name"].rsplit("/", 1)[1] for one in report["sets"] if one["errors"]]
        self.assertEqual(wrong, ["one_comm_recv_node", "one_comm_send_node"])

    def test_capture_in_json(self):
        folder = self.unpack("traces/chakra/json_trace.tar.gz")
        report = self.trace("check", folder / "jsonData/chakra.0.json", status=FAILED)
        self.assertIn("missing-size", self.codes(report, "error"))
        self.assertEqual(self.kinds(folder / "jsonData/chakra.0.json")["none"][0], 14)

    def test_files_of_other_kinds_are_told(self):
        """Host traces, Kineto's, text: nothing but traces is taken for one, and all says what is the matter."""
        for archive in sorted((TEST_DATA / "traces").glob("*/*.t*z")):
            self.unpack(archive.relative_to(TEST_DATA))
        others = [path for path in self.folder.rglob("*") if path.is_file() and path.suffix not in (".et", ".eg")]
        others += [path for path in (TEST_DATA / "traces").glob("*/*.json.gz")]
        if not others:
            self.skipTest("no traces under RANKWIRE_TEST_DATA")
        traces = {"chakra.0.json", "small_chakra.0.json"}
        report = self.trace("check", *(path for path in others if path.name not in traces), status=FAILED)
        for one in report["sets"]:
            codes = {finding["code"] for finding in one["findings"]}
            self.assertTrue(codes & {"unreadable", "no-nodes"}, one)
        whats = [finding["what"] for one in report["sets"] for finding in one["findings"]]
        self.assertGreaterEqual(sum("must be converted" in what for what in whats), 20)
        self.trace("inspect", *(path for path in others if path.name not in traces), status=FAILED)


class Captures(CorpusTest):
    """One rank of two of a data-parallel ResNet: the other is missing, and its kernels have lost their order."""

    BROKEN = {"absent-rank", "kernels-without-successors", "collective-before-inputs"}

    def run_replicas(self, traces, nodes, all_reduce, broadcast):
        report = self.trace("check", traces, status=FAILED)
        self.assertEqual(self.codes(report, "error"), self.BROKEN)
        absent = next(f for f in report["sets"][0]["findings"] if f["code"] == "absent-rank")
        self.assertTrue(absent["what"].startswith("rank 1 is missing: "), absent["what"])
        kinds = self.kinds(traces)
        self.assertEqual((kinds["all_reduce"], kinds["broadcast"]), (all_reduce, broadcast))
        self.assertEqual(sum(count for count, _ in kinds.values()), nodes)

        repaired, replicas = self.folder / "repaired", self.folder / "replicas/r"
        copy = self.trace("check", traces, "--repair", repaired, status=FAILED)["copy"]
        self.assertEqual(self.codes(copy, "error"), {"absent-rank"})
        made = self.trace("scale", repaired, "--replicate", 2, "--out", replicas)
        self.assertEqual((made["ranks"], made["nodes"]), (2, 2 * nodes))
        self.assertEqual(self.trace("check", replicas)["warnings"], 0)

        run = self.call(
            "simulate",
            {
                "name": "replicas",
                "workload": {"traces": str(replicas)},
                "hosts": {"count": 2, "npus": 1},
                "ports": {"count": 2, "device": "ring", "rate": "100Gbps"},
            },
        )
        self.assertEqual(run.summary["verdict"], "ok")
        # A ring of two: each rank sends half of an all-reduce twice; the root of a broadcast sends all of it.
        self.assertEqual(run.summary["bytes_wire"], 2 * all_reduce[1] + broadcast[1])

    def test_linked_capture(self):
        folder = self.unpack("traces/pytorch/oracle_resnet_ddp_rank0_host103_kineto_linked_et.tar.xz")
        self.run_replicas(folder / "chakra.0.et", 18050, (15, 306684384), (6, 638712))

    def test_feeder_trace(self):
        folder = self.unpack("traces/chakra/feeder_tests_trace.tar.gz")
        self.run_replicas(folder / "tests/data/chakra.0.et", 3664, (5, 102228128), (2, 212904))


if __name__ == "__main__":
    unittest.main()

"""`rankwire trace` and `convert` over the public traces: every file reads, and each figure that MANIFEST.md states is that
of the program.

A test takes the figures of its row from the manifest's text, and all of them: a figure that changes, or a row that nobody
looks at, is a failure.
"""

import collections
import functools
import gzip
import json
import re
import unittest

import chakra
import corpus
import manifest
from rankwire import FAILED, OK, TEST_DATA, RankwireTest, rankwire

HELD = set()  # the rows that some test looks at


def holds(*names):
    """A test that is called with each of these rows of the manifest, and must take all that is a figure in it."""
    HELD.update(names)

    def decorate(test):
        @functools.wraps(test)
        def run(self):
            rows = manifest.read()
            if not rows:
                self.skipTest("no traces/MANIFEST.md under RANKWIRE_TEST_DATA")
            for name in names:
                with self.subTest(name):
                    test(self, rows[name])
                    self.assertNotRegex(rows[name].text, r"\d", "figures that no test compares")

        return run

    return decorate


class CorpusTest(RankwireTest):
    def trace(self, verb, *arguments, status=OK):
        process = rankwire("trace", verb, *arguments, "--json")
        self.assertEqual(process.returncode, status, process.stdout[-2000:] + process.stderr)
        return json.loads(process.stdout)

    def inspect(self, path, *arguments):
        """What is said of the one set of the path."""
        (report,) = self.trace("inspect", path, *arguments)["sets"]
        self.assertEqual(report["problem"], "")
        return report

    def kinds(self, path, *arguments):
        """Nodes and bytes by kind."""
        return {kind: (tally["nodes"], tally["bytes"]) for kind, tally in self.inspect(path, *arguments)["kinds"].items()}

    def codes(self, report, severity):
        return {f["code"] for one in report["sets"] for f in one["findings"] if f["severity"] == severity}

    def counts(self, report):
        """How many nodes each code is about."""
        counts = collections.Counter()
        for one in report["sets"]:
            for finding in one["findings"]:
                counts[finding["code"]] += finding["count"]
        return counts

    def convert(self, kind, *inputs):
        process = rankwire("convert", kind, *inputs, "--out", self.folder / "converted", "--json")
        self.assertEqual(process.returncode, OK, process.stderr)
        return json.loads(process.stdout)

    def unpack_row(self, row):
        """The archives of the row."""
        for name in row.named():
            for path in TEST_DATA.glob(f"traces/{name}*"):
                if ".tar." in path.name or path.suffix == ".tgz":
                    self.unpack(path.relative_to(TEST_DATA))
        return self.folder


class Manifest(CorpusTest):
    def test_every_file_is_in_a_row_and_every_row_in_a_test(self):
        rows = manifest.read()
        if not rows:
            self.skipTest("no traces/MANIFEST.md under RANKWIRE_TEST_DATA")
        self.assertEqual(set(rows), HELD)
        names = [name for row in rows.values() for name in row.named()]
        for path in (TEST_DATA / "traces").glob("*/*"):
            file = str(path.relative_to(TEST_DATA / "traces"))
            self.assertEqual(sum(file.startswith(name) for name in names), 1, file)

    def assert_totals(self, row, path, *arguments):
        """Takes counts and bytes of all ranks. Returns what is said of the set."""
        counts, sizes, collectives = manifest.totals(row)
        report = self.inspect(path, *arguments)
        self.assertEqual(report["ranks"] and len(report["ranks"]), row.world())
        kinds = report["kinds"]
        self.assertEqual({kind: tally["nodes"] for kind, tally in kinds.items()}, counts)
        for kind, size in sizes.items():
            self.assertTrue(manifest.rounds_to(kinds[kind]["bytes"], size), f"{kind}: {kinds[kind]['bytes']}, not {size}")
        self.assertEqual(sum(n for kind, n in counts.items() if kind not in ("compute", "send", "receive")), collectives)
        self.assertEqual(kinds.get("send"), kinds.get("receive"))

    @holds(
        "stage/llama8b_8r_tp8",
        "stage/gpt3_8r_tp2pp2dp2",
        "stage/moe_8r_ep4dp2",
        "stage/llama70b_64r_tp8pp2dp4",
        "stage/gpt_256r_tp8pp8dp4",
    )
    def test_stage(self, row):
        folder = self.unpack_row(row) / row.named()[0].partition("/")[2]
        if row.world() <= 8:  # of many ranks it is said alike, and takes seconds
            report = self.trace("check", folder)
            self.assertEqual(self.codes(report, "warning"), {"element-counts"})
        self.assertEqual(self.trace("check", folder, "--element-size", "2B")["warnings"], 0)
        self.assert_totals(row, folder)

    @holds("mlsynth/mlsynth_c8")
    def test_mlsynth(self, row):
        traces = self.unpack_row(row) / corpus.MLSYNTH.traces
        groups = ("--groups", self.folder / corpus.MLSYNTH.groups)
        report = self.trace("check", traces, *groups)
        # "tag always 0": all are told apart by their order. FIFO matching is what finds every SEND its RECV.
        row.take("tag always (0) ")
        self.assertEqual(self.codes(report, "note"), {"repeated-tag"})
        self.assert_totals(row, traces, *groups)
        # Without the file that defines them the groups are not known.
        report = self.trace("check", traces, status=FAILED)
        self.assertEqual(self.codes(report, "error"), {"unknown-group"})

    def assert_data_parallel(self, folder, world, compute, collectives, size):
        """Figures of a rank."""
        all_reduce = (world * collectives, world * size)
        self.assertEqual(self.kinds(folder), {"compute": (world * compute, 0), "all_reduce": all_reduce})

    @holds("astra-sim/f5d4ddd_resnet50_DataParallel_64r_v004_nometa_ctrldeps")
    def test_resnet50_with_control_dependencies(self, row):
        folder = self.unpack_row(row)
        self.assertEqual(self.trace("check", folder)["sets"][0]["findings"], [])
        figures = row.take(r"a rank COMP (\d+), COLL (\d+) ALL_REDUCE ([\d,]+) B")
        self.assert_data_parallel(folder, row.world(), *figures)

    @holds("astra-sim/768a491_transformer_2stack_64r_v001")
    def test_transformer_of_the_oldest_schema(self, row):
        folder = self.unpack_row(row)
        self.assertEqual(self.trace("check", folder)["warnings"], 0)
        compute, collectives = row.take(r"a rank COMP (\d+), COLL (\d+); ")
        row.skip(r"schema 0\.0\.1 \(proto2, `\.eg`\)")
        kinds = self.kinds(folder)
        self.assertEqual(kinds.pop("compute")[0], row.world() * compute)
        self.assertEqual(sum(nodes for nodes, _ in kinds.values()), row.world() * collectives)
        # Kinds and bytes are not in the manifest: they are read here by the numbers of that schema's fields.
        counts, sizes = collections.Counter(), collections.Counter()
        for path in folder.rglob("*.eg"):
            for kind, size in chakra.read_oldest_collectives(path):
                counts[kind] += 1
                sizes[kind] += size
        self.assertEqual(kinds, {kind: (counts[kind], sizes[kind]) for kind in counts})

    @holds("astra-sim/examples_workload_and_custom_collectives")
    def test_examples(self, row):
        folder = self.unpack_row(row)
        report = self.trace("check", folder)
        self.assertEqual(report["warnings"], 0)
        worlds = [int(world) for world in row.ranks.split(", ")]
        each = row.take(r"one (\d+) MiB COLL a rank x {AG, AR, A2A, RS}")
        names = {f"{kind}/{world}npus_{each}MB": world for world in worlds
                 for kind in ("all_gather", "all_reduce", "all_to_all", "reduce_scatter")}
        for name, world in names.items():
            kind = name.partition("/")[0]
            kinds = self.kinds(folder / "examples/workload/microbenchmarks" / name)
            self.assertEqual(kinds, {kind: (world, world * each << 20)}, name)
        world, compute, sends, receives = row.take(r"(\d+) ranks: a rank (\d+) COMP, (\d+) SEND, (\d+) RECV")
        ring = f"custom_ring_allreduce_{world}npus_1MB"
        # Each step of a ring sends one part of a mebibyte.
        steps = (world * sends, world * sends * ((1 << 20) // world))
        self.assertEqual(sends, receives)
        self.assertEqual(self.kinds(folder / "examples/system/custom_collectives" / ring),
                         {"compute": (world * compute, 0), "send": steps, "receive": steps})
        self.assertEqual(len(report["sets"]), len(names) + 1)

    @holds("text/astra1_text_inputs_and_")
    def test_text_converter_outputs(self, row):
        folder = self.unpack_row(row)
        row.skip("ASTRA-sim v1")
        sets = self.trace("check", folder)["sets"]
        self.assertEqual([one["ranks"] for one in sets], [row.world()] * 12)
        self.assertEqual({finding["severity"] for one in sets for finding in one["findings"]} - {"note"}, set())
        figures = row.take(r"Resnet50 a rank: COMP (\d+), COLL (\d+) \(([\d,]+) B\)")
        self.assert_data_parallel(folder / "textw/out_Resnet50_DataParallel", row.world(), *figures)

    @holds("chakra/generator_outputs_4npus.tar.xz")
    def test_generator_outputs(self, row):
        report = self.trace("check", self.unpack_row(row), status=FAILED)
        self.assertEqual(len(report["sets"]), row.take(r"(\d+) micro traces"))
        row.skip('version "1.0.0"')
        # Only the two with a SEND or a RECV that names no peer.
        self.assertEqual(self.codes(report, "error"), {"missing-size", "bad-peer"})
        wrong = [one["name"].rsplit("/", 1)[1] for one in report["sets"] if one["errors"]]
        self.assertEqual(wrong, ["one_comm_recv_node", "one_comm_send_node"])
        self.assertEqual({one["ranks"] for one in report["sets"]}, {row.world()})
        kinds = collections.Counter()
        for one in self.trace("inspect", self.folder)["sets"]:
            kinds.update(one["kinds"].keys())
        # Every kind of the row is there; MEM_LOAD and MEM_STORE are memory.
        self.assertGreaterEqual(set(kinds), {"broadcast", "barrier", "memory", "send", "receive"})
        self.assertEqual(kinds["memory"], 2)

    @holds("chakra/feeder_tests_trace.tar.gz")
    def test_capture(self, row):
        trace = self.unpack_row(row) / "tests/data/chakra.0.et"
        nodes, compute, collectives, kernels = row.take(r"(\d+) nodes: COMP (\d+), COLL (\d+) = (\d+) NCCL kernels")
        report = self.inspect(trace)
        self.assertEqual(report["nodes"], nodes)
        kinds = {kind: (tally["nodes"], tally["bytes"]) for kind, tally in report["kinds"].items()}
        self.assertEqual(kinds["all_reduce"], tuple(row.take(r"ALL_REDUCE (\d+), ([\d,]+) B")))
        self.assertEqual(kinds["broadcast"], tuple(row.take(r"BROADCAST (\d+), ([\d,]+) B")))
        self.assertEqual(kinds["all_reduce"][0] + kinds["broadcast"][0], kernels)
        self.assertEqual(kinds["compute"][0] + kinds["host"][0], compute)
        on_host = row.take(r"(\d+) CPU c10d::")
        row.skip("c10d::|ops typed")
        self.assertEqual((kinds["none"][0], kernels + on_host), (on_host, collectives))
        dependencies, forward = row.take(r"([\d,]+) data deps \((\d+) forward\)")
        self.assertEqual(report["dependencies"], dependencies)
        missing, of_itself = row.take(r"ctrl deps unusable \((\d+) missing, (\d+) self\)")
        counts = self.counts(self.trace("check", trace, "--notes", status=FAILED))
        found = {"forward-dependency": forward, "dangling-control": missing, "self-control": of_itself,
                 "host-duplicate": on_host}
        self.assertEqual({code: counts[code] for code in found}, found)

    @holds("chakra/json_trace.tar.gz")
    def test_capture_in_json(self, row):
        traces = self.unpack_row(row) / "jsonData"
        self.assertIn("the same trace as", row.text)
        same = manifest.read()["chakra/feeder_tests_trace.tar.gz"]
        report = self.inspect(traces / "chakra.0.json")
        self.assertEqual(report["nodes"], same.take(r"(\d+) nodes"))
        self.assertEqual(report["dependencies"], same.take(r"([\d,]+) data deps"))
        self.assertEqual(report["kinds"]["none"]["nodes"], same.take(r"(\d+) CPU c10d::"))
        # This form of JSON has no sizes.
        self.assertIn("missing-size", self.codes(self.trace("check", traces / "chakra.0.json", status=FAILED), "error"))

    @holds("pytorch/oracle_resnet_ddp_rank0_host103_kineto_linked_et.tar.xz")
    def test_what_the_converters_make_of_one_capture(self, row):
        folder = self.unpack_row(row)
        host = json.loads((folder / "host.json").read_text(encoding="utf-8"))["nodes"]
        device = json.loads((folder / "device.json").read_text(encoding="utf-8"))["traceEvents"]
        self.assertEqual(len(host), row.take(r"host ET ([\d,]+) nodes"))
        self.assertEqual(len(device), row.take(r"Kineto ([\d,]+) events"))
        names = {attribute["value"]: node["name"] for node in host for attribute in node["attrs"]
                 if attribute["name"] == "rf_id"}
        agree = sum(names.get(event.get("args", {}).get("Record function id")) == event["name"] for event in device)
        self.assertEqual(agree, row.take(r"([\d,]+) rf_ids agree by name"))
        row.skip("Chakra 21585d8's")
        row.skip(r"chakra\.0\.et")
        row.skip(r"chakra\.md 2\.5")

        nodes, collectives = row.take(r"([\d,]+) nodes, COLL (\d+)")
        expected = {"broadcast": tuple(row.take(r"BROADCAST (\d+), ([\d,]+) B")),
                    "all_reduce": tuple(row.take(r"ALL_REDUCE (\d+), ([\d,]+) B"))}
        theirs = self.inspect(folder / "chakra.0.et")
        self.assertEqual(theirs["nodes"], nodes)
        made = self.convert("pytorch", folder / "host.json", folder / "device.json")
        self.assertEqual(made["collectives"], collectives)
        for kinds in (theirs["kinds"], self.inspect(made["traces"])["kinds"]):
            self.assertEqual({kind: (kinds[kind]["nodes"], kinds[kind]["bytes"]) for kind in expected}, expected)

    @holds("param/dlrm_pytorch_et.tar.gz")
    def test_dlrm(self, row):
        self.unpack_row(row)
        hosts, kineto = list(self.folder.glob("dlrm_pytorch_et/*.json")), list(self.folder.glob("dlrm_kineto/*.json"))
        each, waits = row.take(r"(\d+) host nodes a rank"), row.take(r"wait (\d+)")
        row.skip(r"host schema 1\.0\.1, Kineto 2023")
        for path in hosts:
            nodes = json.loads(path.read_text(encoding="utf-8"))["nodes"]
            self.assertEqual(len(nodes), each)
            calls = [node["inputs"] for node in nodes if node["name"] == "record_param_comms"]
            self.assertEqual(sum("wait" in values for values in calls), waits)
        made = self.convert("pytorch", *hosts, *kineto)
        self.assertEqual(made["ranks"], row.world())
        uneven = row.take(r"all_to_allv (\d+) \(([\d,]+) B\)")
        even = row.take(r"all_to_all (\d+) \(([\d,]+) B\)")
        reduced = row.take(r"allreduce (\d+) \(([\d,]+) B\)")
        for rank in range(row.world()):
            with self.subTest(rank=rank):
                found = {name: [0, 0] for name in ("uneven", "even", "reduced")}
                for node in chakra.read(f"{made['traces']}.{rank}.et"):
                    if node.type == chakra.COLLECTIVE:
                        exchange = "uneven" if "comm_splits" in node.attributes else "even"
                        name = exchange if node.attributes["comm_type"] == chakra.ALL_TO_ALL else "reduced"
                        found[name] = [found[name][0] + 1, found[name][1] + node.attributes["comm_size"]]
                self.assertEqual(found, {"uneven": uneven, "even": even, "reduced": reduced})

    @holds("chakra/1.0.2-chakra.0.0.4.tgz")
    def test_host_trace(self, row):
        path = self.unpack_row(row) / "1.0.2-chakra.0.0.4.json"
        nodes = json.loads(path.read_text(encoding="utf-8"))["nodes"]
        self.assertEqual(len(nodes), row.take(r"PyTorch host ET, (\d+) nodes"))

    @holds("param/1.1.0-chakra.0.0.4__resnet_2gpu_et.json.gz")
    def test_schemas_of_host_traces(self, row):
        self.unpack_row(row)
        schemas = []
        for name in row.named():
            path = TEST_DATA / "traces" / name
            unpacked = self.folder / path.name.removesuffix(".tar.gz")
            with open(unpacked, "rb") if unpacked.exists() else gzip.open(path) as file:
                # The first key of these documents, some of which are large.
                schemas.append(re.match(rb'\s*{\s*"schema":\s*"([^"-]*)', file.read(4096))[1].decode())
        row.skip("host ET of schemas " + ", ".join(schemas).replace(".", r"\.") + "$")

    @holds("kineto/")
    def test_kineto_alone(self, row):
        worlds, collectives = [], []
        for path in sorted((TEST_DATA / "traces/kineto").glob("*.gz")):
            document = json.loads(gzip.decompress(path.read_bytes()))
            if "traceEvents" not in document:
                continue
            worlds.append(document["distributedInfo"].get("world_size"))
            out = self.folder / path.name
            process = rankwire("convert", "pytorch", path, "--out", out, "--json")
            self.assertEqual(process.returncode, OK, process.stderr)
            made = json.loads(process.stdout)
            self.assertEqual(made["ranks"], row.world())
            self.assertEqual(self.inspect(out / "trace")["nodes"], made["nodes"])
            collectives.append(made["collectives"])
        self.assertEqual(max(filter(None, worlds)), row.take(r"a rank of (\d+)"))
        self.assertEqual(sorted(collectives)[-2:], [0, 21])  # one of them has NCCL's arguments

    @holds("simai/aicb_simai_workloads")
    def test_texts_of_simai(self, row):
        folder = self.unpack_row(row) / "aicb"
        ranks, layers = row.take(r"a (\d+)-GPU MoE \((\d+) layers\)")
        lines = (folder / "SimAI_workload_analytical_9216gpu.txt").read_text(encoding="utf-8").splitlines()
        self.assertIn(f"all_gpus: {ranks} ", lines[0])
        self.assertEqual((int(lines[1]), len(lines) - 2), (layers, layers))
        for name, files in (("GPT-13B", "G13B-M1-C01*.txt"), ("GPT-175B", "G175B*.txt"), ("Llama-65B", "L65B_D1*.txt")):
            row.skip(name)
            (text,) = folder.glob(files)
            process = rankwire("convert", "simai", text, "--ranks", "8", "--out", self.folder / name, "--json")
            self.assertEqual(process.returncode, OK, process.stderr)
            made = json.loads(process.stdout)
            self.assertEqual(self.inspect(made["traces"])["nodes"], made["nodes"])


class OtherFiles(CorpusTest):
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
        # What it is that a file is not, is found by the same reader: small ones show that this verb says so, too.
        small = [path for path in others if path.name not in traces and path.stat().st_size < 1 << 20]
        self.assertGreaterEqual(len(small), 10)
        self.trace("inspect", *small, status=FAILED)


class Captures(CorpusTest):
    """One rank of two of a data-parallel ResNet: the other is missing, and its kernels have lost their order."""

    BROKEN = {"absent-rank", "kernels-without-successors", "collective-before-inputs"}

    def run_replicas(self, traces):
        report = self.trace("check", traces, status=FAILED)
        self.assertEqual(self.codes(report, "error"), self.BROKEN)
        absent = next(f for f in report["sets"][0]["findings"] if f["code"] == "absent-rank")
        self.assertTrue(absent["what"].startswith("rank 1 is missing: "), absent["what"])
        kinds = self.kinds(traces)
        nodes, all_reduce, broadcast = sum(count for count, _ in kinds.values()), kinds["all_reduce"], kinds["broadcast"]

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
                "simulation": {"ensemble": "off"},
            },
        )
        self.assertEqual(run.summary["verdict"], "ok")
        # A ring of two: each rank sends half of an all-reduce twice; the root of a broadcast sends all of it.
        self.assertEqual(run.summary["bytes_wire"], 2 * all_reduce[1] + broadcast[1])

    def test_linked_capture(self):
        folder = self.unpack("traces/pytorch/oracle_resnet_ddp_rank0_host103_kineto_linked_et.tar.xz")
        self.run_replicas(folder / "chakra.0.et")

    def test_feeder_trace(self):
        folder = self.unpack("traces/chakra/feeder_tests_trace.tar.gz")
        self.run_replicas(folder / "tests/data/chakra.0.et")


if __name__ == "__main__":
    unittest.main()

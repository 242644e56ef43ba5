"""Other descriptions of a job become traces that run."""

import collections
import json
import pathlib
import unittest

import chakra
import traffic
from rankwire import OK, SOURCE, USAGE, RankwireTest, rankwire, transformer


class Convert(RankwireTest):
    def convert(self, kind, *inputs):
        """What the conversion to the folder `traces` says of itself."""
        process = rankwire("convert", kind, *inputs, "--out", self.folder / "traces", "--json")
        self.assertEqual(process.returncode, OK, process.stderr)
        return json.loads(process.stdout)

    def simulate(self, made, **workload):
        """A run of the reference with all that was made, each rank on a host of its own."""
        traces = {"traces": made["traces"]} | ({"groups": made["groups"]} if made["groups"] else {})
        config = {
            "workload": traces | workload,
            "hosts": {"count": made["ranks"], "npus": 1},
            "ports": {"count": 2, "device": "memory", "rate": "100Gbps"},
        }
        run = self.call("simulate", config, "--twin")
        self.assert_delivered(run)
        return run

    def bytes_of(self, made, groups):
        """What the traces move, by the sizes of the groups."""
        return traffic.bytes_of(chakra.read_ranks(made["traces"]), groups, 1, 1)


class Pytorch(Convert):
    def test_eight_ranks_of_dlrm_run(self):
        host = self.unpack("traces/param/dlrm_pytorch_et.tar.gz") / "dlrm_pytorch_et"
        kineto = self.unpack("traces/param/dlrm_kineto.tar.gz") / "dlrm_kineto"
        made = self.convert("pytorch", *host.glob("*.json"), *kineto.glob("*.json"))
        # A rank: 3 all-reduces, 1 all-to-all of equal parts and 4 of unequal ones.
        self.assertEqual((made["ranks"], made["collectives"], made["sends"], made["receives"]), (8, 8 * 8, 0, 0))
        # As the document shows it.
        shown = (f"{made['ranks']} ranks, {made['nodes']} nodes: {made['collectives']} collectives, 0 sends, 0 receives; "
                 f"{made['bytes']} bytes\n")
        self.assertIn(shown, (SOURCE / "docs/converting.md").read_text(encoding="utf-8"))
        exchanged = []  # by rank, the parts of the exchange that is uneven
        for rank in range(8):
            nodes = [n.attributes for n in chakra.read(f"{made['traces']}.{rank}.et") if n.type == chakra.COLLECTIVE]
            sizes = [node["comm_size"] for node in nodes if "comm_splits" not in node]
            # Floats: 394,241 and 112 and 226,960; 24 64-bit integers.
            self.assertEqual(sorted(sizes), [192, 4 * 112, 4 * 226960, 4 * 394241])
            splits = [json.loads(node["comm_splits"]) for node in nodes if "comm_splits" in node]
            self.assertEqual([sum(parts) for parts in splits], [n["comm_size"] for n in nodes if "comm_splits" in n])
            exchanged.append(next(parts for parts in splits if len(set(parts)) > 1))
        # 4-byte integers to each rank.
        self.assertEqual(exchanged[0], [4 * n for n in (96, 224, 288, 1664, 592, 96, 192, 240)])
        run = self.simulate(made)
        self.assertEqual(run.summary["ranks"], 8)
        self.assertEqual(run.summary["bytes"], self.bytes_of(made, {"0": 8}))
        # In real time, too, each collective is one operation of the record, and 7 messages of a rank for each exchange.
        config = {
            "workload": {"traces": made["traces"]},
            "hosts": {"count": 8, "npus": 1},
            "ports": {"count": 8, "device": "ring", "rate": "10Gbps"},
        }
        run = self.call("run", config, out="run-in-real-time")
        self.assert_delivered(run)
        self.assertEqual(run.summary["bytes"], self.bytes_of(made, {"0": 8}))
        operations = collections.Counter(row["kind"] for row in run.rows("operations") if row["kind"].startswith("all_"))
        self.assertEqual(operations, {"all_reduce": 8 * 3, "all_to_all": 8 * 5})
        # Of a ring of 8 each rank sends in 2 x 7 steps.
        self.assertEqual(run.summary["messages"], 8 * (3 * 14 + 5 * 7))


class Nccl(Convert):
    def log(self, rank):
        """The log of one rank of four: an all-reduce of all, then one between neighbours."""
        head = f"node:{10 + rank}:9 [{rank}] NCCL INFO"
        tail = "stream 0x5\n"
        return (
            f"{head} ncclCommInitRank comm 0xa rank {rank} nranks 4 cudaDev {rank} commId 0x77 - Init COMPLETE\n"
            f"{head} ncclCommInitRank comm 0xb rank {rank % 2} nranks 2 cudaDev {rank} commId 0x{rank // 2} - Init COMPLETE\n"
            f"{head} AllReduce: opCount 0 sendbuff 0x1 recvbuff 0x1 count 1000 datatype 7 op 0 root 0 comm 0xa [nranks=4] {tail}"
            f"{head} AllReduce: opCount 0 sendbuff 0x1 recvbuff 0x1 count 500 datatype 9 op 0 root 0 comm 0xb [nranks=2] {tail}"
        )

    def test_logs_run_also_where_ranks_are_copies(self):
        logs = [self.folder / f"nccl.{rank}.log" for rank in range(4)]
        for rank, log in enumerate(logs):
            log.write_text(self.log(rank))
        strict = rankwire("convert", "nccl", *logs[:2], "--out", self.folder / "refused", "--strict")
        self.assertEqual(strict.returncode, USAGE)
        self.assertIn("ranks 2-3 of 4", strict.stderr)
        self.assertFalse((self.folder / "refused").exists())
        made = self.convert("nccl", *logs[:2], "--fill-missing")
        self.assertEqual((made["ranks"], made["collectives"], made["bytes"]), (4, 8, 4 * (4000 + 1000)))
        self.assertEqual(made["assumptions"], ["ranks 2-3 do what rank 0 does"])
        run = self.simulate(made)
        # Rings: each of 4 ranks sends 2 x 3/4 of 4000 bytes, and 2 x 1/2 of 1000.
        self.assertEqual(run.summary["bytes"], 4 * (6000 + 1000))


class Layers(Convert):
    def test_a_hybrid_of_astra_sim_runs(self):
        text = self.folder / "mlp.txt"
        text.write_text(
            "HYBRID_DATA_MODEL\n2\n"
            "a -1 1000 ALLGATHER 4096 1000 ALLREDUCE 8192 1000 ALLREDUCE 65536 10\n"
            "b -1 1000 ALLTOALL 4096 1000 REDUCESCATTER 8192 1000 ALLREDUCE 65536 10\n"
        )
        made = self.convert("astra-sim", text, "--ranks", "8", "--model-parallel", "2", "--passes", "2")
        # A rank and pass: 2 forward, 1 input gradient (not of the first layer), 2 weight gradients.
        self.assertEqual((made["ranks"], made["collectives"]), (8, 8 * 2 * 5))
        run = self.simulate(made)
        self.assertEqual(run.summary["bytes"], self.bytes_of(made, traffic.read_groups(made["groups"])))

        # The messages of the collectives, written as a schedule and read again, are as many bytes.
        process = rankwire("convert", "to-goal", made["traces"], "--out", self.folder / "goal", "--json")
        self.assertEqual(process.returncode, OK, process.stderr)
        goal = json.loads(process.stdout)
        self.assertEqual((goal["collectives"], goal["sends"]), (made["collectives"], goal["receives"]))
        process = rankwire("convert", "goal", goal["schedule"], "--out", self.folder / "messages", "--json")
        self.assertEqual(process.returncode, OK, process.stderr)
        self.assertEqual(self.simulate(json.loads(process.stdout)).summary["bytes"], run.summary["bytes"])

    def test_experts_of_simai_run(self):
        text = self.folder / "moe.txt"
        text.write_text(
            "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 ep: 2 pp: 1 vpp: 1 ga: 1 all_gpus: 8 "
            "checkpoints: 0 checkpoint_initiates: 0\n1\n"
            "moe -1 5000 ALLTOALL_EP 65536 5000 ALLTOALL_EP 65536 5000 REDUCESCATTER_DP_EP 131072 10\n"
        )
        run = self.simulate(self.convert("simai", text))
        # 8 inputs of which each keeps half, twice; 4 pairs of which each member sends half of its input.
        self.assertEqual(run.summary["bytes"], 2 * 8 * 32768 + 8 * 65536)

    def test_errors_are_one_line_that_names_the_line(self):
        text = self.folder / "wrong.txt"
        text.write_text("DATA\n1\nconv -1 1 NONE 0 1 NONE 0 1 ALLSUM 1 1\n")
        process = rankwire("convert", "astra-sim", text, "--ranks", "4", "--out", self.folder / "traces")
        self.assertEqual(process.returncode, USAGE)
        self.assertIn(f"{text}:3", process.stderr)
        self.assertEqual(len(process.stderr.splitlines()), 1)


class Goal(Convert):
    def test_a_schedule_runs_and_comes_back(self):
        schedule = self.folder / "ring.goal"
        ranks = [
            f"rank {r} {{\nc: calc 5000\ns: send 65536b to {(r + 1) % 4}\nr: recv 65536b from {(r + 3) % 4}\n"
            "s requires c\n}\n"
            for r in range(4)
        ]
        schedule.write_text("num_ranks 4\n" + "".join(ranks))
        made = self.convert("goal", schedule)
        run = self.simulate(made)
        self.assertEqual(run.summary["bytes"], 4 * 65536)
        process = rankwire("convert", "to-goal", made["traces"], "--out", self.folder / "back", "--json")
        self.assertEqual(process.returncode, OK, process.stderr)
        back = json.loads(process.stdout)
        self.assertEqual(back["schedule"], str(self.folder / "back/schedule.goal"))
        self.assertEqual((back["ranks"], back["sends"], back["receives"]), (4, 4, 4))
        self.assertIn("send 65536b to 1 tag 0", (self.folder / "back/schedule.goal").read_text())


class Msccl(Convert):
    def test_an_algorithm_becomes_a_file_a_rank(self):
        def step(number, kind, chunk):
            place = f'srcbuf="i" srcoff="{chunk}" dstbuf="i" dstoff="{chunk}" cnt="1" depid="-1" deps="-1"'
            return f'<step s="{number}" type="{kind}" {place}/>'

        # Of a ring of two: the own chunk goes out, the other is added to and goes back, the own comes back.
        gpus = [
            f'<gpu id="{r}"><tb id="0" send="{1 - r}" recv="{1 - r}" chan="0">'
            + step(0, "s", r) + step(1, "rrcs", 1 - r) + step(2, "r", r) + "</tb></gpu>\n"
            for r in range(2)
        ]
        text = self.folder / "ring.xml"
        text.write_text('<algo coll="allreduce" ngpus="2" nchunksperloop="2" inplace="1">\n' + "".join(gpus) + "</algo>")
        made = self.convert("msccl", text)
        self.assertEqual((made["ranks"], made["sends"], made["receives"]), (2, 4, 4))
        first = chakra.read(made["algorithm"] + ".0.et")
        self.assertEqual([(n.type, n.attributes["chunk"], n.attributes.get("reduce")) for n in first],
                         [(5, 0, None), (6, 1, True), (5, 1, None), (6, 0, False)])
        text.write_text(text.read_text().replace('type="rrcs"', 'type="rcs"'))
        process = rankwire("convert", "msccl", text, "--out", self.folder / "wrong")
        self.assertEqual(process.returncode, USAGE)
        self.assertIn("all_reduce ends with chunk 0 of gpus 0 in o[0] of gpu 0, not with chunk 0 of gpus 0, 1",
                      process.stderr)


class Chakra(Convert):
    def test_the_oldest_schema_moves_the_same_in_the_newest_and_in_json(self):
        folder = self.unpack("traces/astra-sim/768a491_transformer_2stack_64r_v001.tar.xz")
        files = sorted(folder.rglob("*.eg"), key=lambda path: int(path.name.split(".")[-2]))
        made = self.convert("chakra", *files)
        self.assertEqual((made["ranks"], made["collectives"], made["nodes"]), (64, 64 * 40, 64 * 142))
        new = chakra.read_ranks(made["traces"])
        self.assertEqual(len(new), 64)
        self.assertTrue(all("involved_dim" in n.attributes for nodes in new for n in nodes if n.type == 7))
        self.assertEqual(sum(n.attributes["comm_size"] for nodes in new for n in nodes if n.type == 7), made["bytes"])

        process = rankwire("convert", "to-json", made["traces"], "--out", self.folder / "json")
        self.assertEqual(process.returncode, OK, process.stderr)
        process = rankwire("convert", "chakra", self.folder / "json/trace", "--out", self.folder / "again")
        self.assertEqual(process.returncode, OK, process.stderr)
        for rank in range(64):
            self.assertEqual(chakra.read(self.folder / f"again/trace.{rank}.et"), new[rank])

    def test_groups_go_along(self):
        spec = self.configuration(transformer(), "spec.yaml")
        process = rankwire("trace", "generate", spec, "--out", self.folder / "job")
        self.assertEqual(process.returncode, OK, process.stderr)
        groups = json.loads((self.folder / "job.json").read_text(encoding="utf-8"))
        for kind in ("chakra", "to-json"):
            process = rankwire("convert", kind, self.folder / "job", "--out", self.folder / kind, "--json")
            self.assertEqual(process.returncode, OK, process.stderr)
            made = json.loads(process.stdout)
            self.assertEqual(json.loads(pathlib.Path(made["groups"]).read_text(encoding="utf-8")), groups)
            process = rankwire("trace", "check", made["traces"])
            self.assertEqual(process.returncode, OK, process.stdout)


if __name__ == "__main__":
    unittest.main()

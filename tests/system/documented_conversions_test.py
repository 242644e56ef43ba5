"""Every conversion that docs/converting.md shows works as it stands there, on small files of the names that it has."""

import json
import os
import re
import shutil
import subprocess
import unittest

from rankwire import BINARY, OK, SOURCE, RankwireTest, rankwire

CORPUS = SOURCE / "tests/fuzz/corpus"


def sections():
    """(title, text) of each part of the document."""
    parts = re.split(r"^#+ (.+)$", (SOURCE / "docs/converting.md").read_text(encoding="utf-8"), flags=re.MULTILINE)
    return list(zip(parts[1::2], parts[2::2]))


def commands(text):
    """The conversions among the commands of a part, without comments."""
    lines = [line for block in re.findall(r"```sh\n(.*?)```", text, re.DOTALL) for line in block.splitlines()]
    lines = [line.removeprefix("$ ").split("  #")[0].strip() for line in lines]
    return [line for line in lines if line.startswith("rankwire convert ")]


def kineto(rank, ranks, members, elements):
    """A trace of Kineto's with an all-reduce of floats among members."""
    recorded = {"ph": "X", "cat": "cpu_op", "name": "record_param_comms", "pid": 1, "tid": 2, "ts": 200, "dur": 20,
                "args": {"Record function id": 3}}
    launch = {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 2, "ts": 210, "dur": 2,
              "args": {"correlation": 5}}
    call = {"Collective name": "allreduce", "In msg nelems": elements, "Out msg nelems": elements, "dtype": "Float",
            "In split size": "[]", "Process Group Name": "1"}
    kernel = {"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce", "pid": 1, "tid": 0, "ts": 215,
              "dur": 40.5, "args": {"stream": 9, "correlation": 5} | call}
    groups = [{"pg_name": "1", "ranks": list(members)}]
    return json.dumps({"distributedInfo": {"rank": rank, "world_size": ranks, "pg_config": groups},
                       "traceEvents": [recorded, launch, kernel]})


def nccl_log(rank):
    head = f"node:{10 + rank}:9 [{rank}] NCCL INFO"
    return (f"{head} ncclCommInitRank comm 0xa rank {rank} nranks 2 cudaDev {rank} commId 0x77 - Init COMPLETE\n"
            f"{head} AllReduce: opCount 0 sendbuff 0x1 recvbuff 0x1 count 1000 datatype 7 op 0 root 0 comm 0xa "
            "[nranks=2] stream 0x5\n")


def inspector_record(rank):
    return json.dumps({"header": {"id": "0xc", "rank": rank, "n_ranks": 2},
                       "metadata": {"hostname": "h", "pid": 10 + rank},
                       "coll_perf": {"coll": "AllGather", "coll_sn": 1, "coll_msg_size_bytes": 64,
                                     "coll_exec_time_us": 9}})


def json_trace(*nodes):
    """What Chakra's jsonizer writes."""
    return "".join(json.dumps(message) + "\n" for message in ({"version": "0.0.4"}, *nodes))


COLLECTIVE = {"id": "1", "name": "sum", "type": "COMM_COLL_NODE",
              "attr": [{"name": "comm_type", "int64Val": "0"}, {"name": "comm_size", "int64Val": "64"}]}
CHECKPOINT = {"id": "1", "name": "checkpoint", "type": 10, "attr": [{"name": "tensor_size", "uint64Val": "4096"}]}
LAYERS = "HYBRID_DATA_MODEL\n1\na -1 1000 ALLGATHER 4096 1000 ALLREDUCE 8192 1000 ALLREDUCE 65536 10\n"

# By the part of the document: files that its commands read. What the commands themselves write is not among them.
INPUTS = {
    "Converting": {f"kineto_{rank}.json": kineto(rank, 2, range(2), 100) for rank in range(2)}
    | {f"host_{rank}.json": (CORPUS / "pytorch/host_111").read_text(encoding="utf-8") for rank in range(2)},
    "Ranks that were not recorded": {
        f"rank{rank}.json": kineto(rank, 32, range(rank, rank + 16), 100 + rank) for rank in (0, 16)
    },
    "nccl": {f"nccl.{rank}.log": nccl_log(rank) for rank in range(2)}
    | {f"inspector/{rank}.log": inspector_record(rank) for rank in range(2)},
    "astra-sim": {
        "Resnet50_DataParallel.txt": "DATA\n1\nconv -1 1 NONE 0 1 NONE 0 1 ALLREDUCE 4096 1\n",
        "MLP_HybridParallel_Data_Model.txt": LAYERS,
    },
    "simai": {
        "gpt_13b.txt": "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 ep: 1 pp: 1 vpp: 1 ga: 1 "
        "all_gpus: 64 checkpoints: 0 checkpoint_initiates: 0\n1\n"
        "attention -1 5000 ALLREDUCE 65536 5000 ALLREDUCE 65536 5000 NONE 0 10\n"
    },
    "param": {
        f"comms/{rank}.json": '[{"comms":"init","pg_id":0,"global_ranks":[0,1]},{"comms":"all_reduce","req":[1,false],'
        '"pg_id":0,"in_msg_size":6,"out_msg_size":6,"dtype":"Float","world_size":2}]'
        for rank in range(2)
    },
    "goal, to-goal": {
        "schedule.goal": "num_ranks 2\nrank 0 {\na: calc 5000\nb: send 64b to 1\nb requires a\n}\n"
        "rank 1 {\nrecv 64b from 0\n}\n"
    },
    "flexflow": {"taskgraph.dot": (CORPUS / "flexflow/two_npus").read_text(encoding="utf-8")},
    "msccl": {"allreduce_ring.xml": (CORPUS / "msccl/ring").read_text(encoding="utf-8")},
    "storage": {f"checkpoint.{rank}.json": json_trace(CHECKPOINT) for rank in range(2)},
    "chakra, to-json": {f"old/resnet50.{rank}.json": json_trace(COLLECTIVE) for rank in range(2)},
}
INPUTS["pytorch"] = INPUTS["Converting"]

# What comes of these files: ranks, collectives and messages of each command of a part.
MADE = {
    "Converting": [(2, 2, 0)],
    "pytorch": [(2, 2, 0), (2, 2, 0)],
    "Ranks that were not recorded": [(32, 32, 0)],
    "nccl": [(2, 2, 0), (2, 2, 0)],
    # A layer's gradient of its weights; two passes of a first layer's forward pass and weights (it has no other gradient).
    "astra-sim": [(16, 16, 0), (16, 2 * 2 * 16, 0)],
    "simai": [(64, 2 * 64, 0)],
    "param": [(2, 2, 0)],
    "goal, to-goal": [(2, 0, 1), (2, 0, 1)],
    "flexflow": [(2, 0, 1)],
    "msccl": [(2, 0, 4)],  # of a ring of two: each part goes there and back
    # Each of two ranks writes 4 KiB to one of two storage ranks, which answers.
    "storage": [(4, 0, 2 * 2)],
    "chakra, to-json": [(2, 2, 0), (2, 2, 0)],
}


class DocumentedConversions(RankwireTest):
    def convert(self, command):
        """What the command says of itself, in a shell and in the test's folder, as a reader would type it."""
        shutil.rmtree(self.folder / re.search(r"--out (\S+)", command)[1], ignore_errors=True)
        (self.folder / "bin").mkdir(exist_ok=True)
        (self.folder / "bin/rankwire").unlink(missing_ok=True)
        (self.folder / "bin/rankwire").symlink_to(BINARY)
        environment = os.environ | {"PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}"}
        process = subprocess.run(["sh", "-c", command + " --json"], cwd=self.folder, env=environment,
                                 capture_output=True, text=True, timeout=120, check=False)
        self.assertEqual(process.returncode, OK, process.stderr)
        return json.loads(process.stdout)

    def prepare(self, title):
        for name, text in INPUTS[title].items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        if title == "storage":  # which takes no JSON
            self.convert("rankwire convert chakra checkpoint.*.json --out traces/job")

    def test_each_makes_what_is_in_its_files(self):
        found = {title: commands(text) for title, text in sections() if commands(text)}
        self.assertEqual(set(found), set(MADE))
        for title, lines in found.items():
            shutil.rmtree(self.folder)
            self.folder.mkdir()
            self.prepare(title)
            self.assertEqual(len(lines), len(MADE[title]), lines)
            for line, expected in zip(lines, MADE[title]):
                with self.subTest(command=line):
                    made = self.convert(line)
                    self.assertEqual((made["ranks"], made["collectives"], made["sends"]), expected)

    def test_assumptions_are_those_shown(self):
        title = "Ranks that were not recorded"
        text = dict(sections())[title]
        self.prepare(title)
        made = self.convert(commands(text)[0])
        self.assertEqual([f"assumed: {line}" for line in made["assumptions"]],
                         re.findall(r"^assumed: .*$", text, re.MULTILINE))

    def test_every_kind_is_shown(self):
        shown = {line.split()[2] for _, text in sections() for line in commands(text)}
        listing = rankwire("convert", "--help").stdout
        kinds = re.findall(r"^  ([a-z][a-z-]+)\s{2,}", listing[listing.index("ubcommands"):], re.IGNORECASE | re.MULTILINE)
        self.assertGreaterEqual(len(kinds), 10, listing)
        self.assertEqual(shown, set(kinds))


if __name__ == "__main__":
    unittest.main()

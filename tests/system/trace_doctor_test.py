"""`rankwire trace check` point by point: one broken trace for each defect, what is said of it, and its repaired copy run.

Prints a table. Each defect is planted in an otherwise sound set of two ranks, which exchanges 8192 bytes: in a ring of two,
a rank sends half of its 4096 bytes of the all-reduce twice.
"""

import collections.abc
import dataclasses
import json
import os
import unittest

import chakra
from rankwire import FAILED, OK, USAGE, RankwireTest, rankwire

SIZE = 4096  # of an all-reduce
EXCHANGED = 2 * SIZE


def gemm(id, *after, **fields):
    return chakra.Node(id, "gemm", dependencies=list(after), duration_us=10, **fields)


def reduce(id, *after, size=SIZE, **how):
    return chakra.collective(chakra.ALL_REDUCE, size, id, after, "reduce", **how)


def host(id, *after):
    return chakra.Node(id, "aten::mm", dependencies=list(after), duration_us=1, attributes={"is_cpu_op": True})


def kernel(id, *after):
    return chakra.Node(id, "kernel", dependencies=list(after), duration_us=10, attributes={"stream": 7})


def message(kind, id, peer, size=64):
    end = "comm_dst" if kind == chakra.SEND else "comm_src"
    return chakra.Node(id, "message", kind, attributes={end: peer, "comm_size": size})


def of(node, **attributes):
    """The node with more attributes."""
    node.attributes |= attributes
    return node


def sound():
    return [gemm(1), reduce(2, 1), gemm(3, 2)]


def broken(*nodes):
    """A sound rank 0 and a rank 1 of these nodes."""
    return [sound(), list(nodes)]


def alike(*nodes):
    return [list(nodes), list(nodes)]


def cut_rank_1(prefix):
    path = f"{prefix}.1.et"
    os.truncate(path, os.path.getsize(path) - 3)


def lose_rank_1(prefix):
    os.remove(f"{prefix}.1.et")


def clocks(offset):
    """Rank 1's clock shows `offset` us more than rank 0's."""
    recorded = dataclasses.replace
    return [
        [
            recorded(reduce(1), start_us=1000 + shift, duration_us=100),
            recorded(reduce(2, 1), start_us=2000 + shift, duration_us=100),
        ]
        for shift in (0, offset)
    ]


@dataclasses.dataclass
class Defect:
    name: str
    ranks: list  # nodes of each
    code: str
    says: tuple  # what the finding says of file, node and matter; {0} and {1} are the files of the ranks
    nodes: tuple = ()  # ids that the finding lists
    severity: str = "error"
    repair: tuple | None = None  # further options of --repair that put it right; None where nothing can
    done: str = ""  # what the list of changes says was done
    bytes: int = EXCHANGED  # that a run of the repaired copy exchanges
    harm: collections.abc.Callable | None = None  # done to the files
    options: tuple = ()  # of the check
    metadata: dict | None = None
    groups: dict | None = None


DEFECTS = [
    Defect("truncated file", broken(gemm(1), reduce(2, 1), gemm(3, 2), gemm(4, 3)), "truncated",
           ("{1}", "ends within the frame", 'the last node is 3 "gemm"'), harm=cut_rank_1,
           repair=(), done="the copy ends in front of it"),
    Defect("cycle", broken(gemm(1, 4), reduce(2, 1), gemm(3, 2), gemm(4, 3)), "cycle",
           ('1 "gemm" -> 2 "reduce" -> 3 "gemm" -> 4 "gemm" -> 1',), (1,), repair=(), done="dropped"),
    Defect("dangling dependency", broken(gemm(1, 77), reduce(2, 1), gemm(3, 2)), "dangling-dependency",
           ('node 1 "gemm" on node 77 does not resolve',), (1,), repair=(), done="dropped"),
    Defect("duplicate id", broken(gemm(1), reduce(2, 1), gemm(3, 2), chakra.Node(3, "other", duration_us=5)), "duplicate-id",
           ('the id of node 3 "other" is that of "gemm" too',), (3,), repair=(), done="others got a new id"),
    Defect("node written twice", broken(gemm(1), reduce(2, 1), gemm(3, 2), gemm(3, 2)), "duplicate-id",
           ('the id of node 3 "gemm"',), (3,), repair=(), done="equal nodes were dropped"),
    Defect("duplicate dependency", broken(gemm(1), reduce(2, 1, 1), gemm(3, 2)), "duplicate-dependency",
           ('node 2 "reduce" depends on node 1 twice',), (2,), "warning", repair=(), done="dropped"),
    Defect("self dependency", broken(gemm(1, 1), reduce(2, 1), gemm(3, 2)), "self-dependency",
           ('node 1 "gemm" has a data dependency on itself',), (1,), "warning", repair=(), done="dropped"),
    Defect("forward dependency", broken(reduce(2, 1), gemm(1), gemm(3, 2)), "forward-dependency",
           ('node 2 "reduce" depends on node 1, which stands 1 further on',), (2,), "note"),
    Defect("kernels without successors", alike(host(1), kernel(2, 1), host(3, 1), kernel(4, 3), kernel(5, 3)),
           "kernels-without-successors", ('no node depends on 3 of 3 kernels, the first is 2 "kernel"',),
           repair=(), done="dependencies were added", bytes=0),
    Defect("collective before its inputs",
           alike(host(1), kernel(2, 1), kernel(3, 2), host(4, 1), of(reduce(5, 4), stream=8), kernel(6, 5)),
           "collective-before-inputs", ('node 5 "reduce"', 'node 3 "kernel" was launched before it'), (5,),
           repair=(), done="dependencies were added"),
    Defect("unmatched SEND", [[*sound(), message(chakra.SEND, 4, 1)], sound()], "unmatched-send",
           ('node 4 "message" goes to rank 1 with tag 0 and 64 bytes; {1} has no counterpart',), (4,),
           repair=("--unmatched", "complete"), done="the counterpart was added", bytes=EXCHANGED + 64),
    Defect("unmatched SEND, dropped", [[*sound(), message(chakra.SEND, 4, 1)], sound()], "unmatched-send",
           ('node 4 "message"',), (4,), repair=("--unmatched", "drop"), done="the operation was dropped"),
    Defect("unmatched RECV", broken(*sound(), message(chakra.RECEIVE, 4, 0)), "unmatched-receive",
           ('node 4 "message" comes from rank 0 with tag 0 and 64 bytes; {0} has no counterpart',), (4,),
           repair=("--unmatched", "complete"), done="the counterpart was added", bytes=EXCHANGED + 64),
    Defect("unmatched RECV, dropped", broken(*sound(), message(chakra.RECEIVE, 4, 0)), "unmatched-receive",
           ('node 4 "message"',), (4,), repair=("--unmatched", "drop"), done="the operation was dropped"),
    Defect("order of a group differs", [[reduce(1), reduce(2, 1, size=128)], [reduce(1, size=128), reduce(2, 1)]],
           "collective-order", ('collective 0 of group "all" is node 1 "reduce": all_reduce of 128 bytes',
                                "on {0}", "it is all_reduce of 4096 bytes"), (1, 2)),
    Defect("kind in a group differs", broken(gemm(1), chakra.collective(chakra.ALL_GATHER, SIZE, 2, [1]), gemm(3, 2)),
           "collective-kind", ('node 2 "collective": all_gather of 4096 bytes', "{0}: node 2", "all_reduce of 4096"), (2,)),
    Defect("size in a group differs", broken(gemm(1), reduce(2, 1, size=8192), gemm(3, 2)), "collective-size",
           ('node 2 "reduce": all_reduce of 8192 bytes', "{0}: node 2", "all_reduce of 4096 bytes"), (2,)),
    Defect("member is absent", broken(gemm(1), gemm(3, 1)), "absent-member",
           ('calls group "all" 0 times', "{0} has 1 calls", '{0}: node 2 "reduce"')),
    Defect("rank is absent: numbers", [sound(), sound(), sound()], "absent-rank",
           ("rank 1 is missing: there is a trace of rank 2",), harm=lose_rank_1),
    Defect("rank is absent: group", [sound(), sound()], "absent-rank",
           ('ranks 2, 3 are missing: group "dp"',), groups={"dp": [0, 1, 2, 3]}),
    Defect("rank is absent: --ranks", [sound(), sound()], "absent-rank",
           ("rank 2 is missing: the run had 3 ranks",), options=("--ranks", "3")),
    Defect("rank is absent: peer", [[*sound(), message(chakra.SEND, 4, 2)], sound()], "absent-rank",
           ('rank 2 is missing: {0}: node 4 "message" names rank 2',)),
    Defect("zero size", alike(gemm(1), reduce(2, 1), reduce(3, 2, size=0)), "zero-size",
           ('node 3 "reduce" has comm_size 0',), (3,), "warning"),
    Defect("negative size", alike(gemm(1), reduce(2, 1), reduce(3, 2, size=-1)), "absurd-size",
           ('node 3 "reduce" has comm_size -1',), (3,), repair=("--absurd", "drop"), done="the operation was dropped"),
    Defect("absurd size", alike(gemm(1), reduce(2, 1), reduce(3, 2, size=2**60)), "absurd-size",
           (f'node 3 "reduce" has comm_size {2**60}',), (3,), repair=("--absurd", "drop"), done="the operation was dropped"),
    Defect("absurd duration", broken(gemm(1), reduce(2, 1), chakra.Node(3, "gemm", duration_us=2**64 - 1)),
           "absurd-duration", (f'node 3 "gemm" takes {2**64 - 1} us',), (3,),
           repair=("--absurd", "drop"), done="the duration was dropped"),
    Defect("nanoseconds for microseconds", broken(gemm(1), reduce(2, 1), chakra.Node(3, "gemm", duration_us=3600 * 10**6)),
           "huge-duration", ('node 3 "gemm" takes 3600000000 us',), (3,), "warning"),
    Defect("no durations", broken(chakra.Node(1, "gemm"), reduce(2, 1)), "zero-duration",
           ('1 compute nodes, the first is 1 "gemm"',), (), "warning"),
    Defect("elements for bytes: inputs",
           alike(gemm(1), dataclasses.replace(reduce(2, 1, size=1000), inputs="[[[3, 2, 0, 1000, 4, 'cuda:0']], 1]")),
           "element-counts", ('node 2 "reduce" has comm_size 1000, which is how many elements of 4 bytes',), (2,), "warning",
           repair=(), done="sizes became bytes", bytes=2 * 4000),
    Defect("elements for bytes: STAGE", alike(*sound()), "element-counts", ("the metadata names STAGE",), (), "warning",
           metadata={"schema": "symbolic_tensor_network"},
           repair=("--element-size", "2B"), done="sizes became bytes", bytes=2 * EXCHANGED),
    Defect("collective on the CPU too", alike(host(1), of(reduce(2, 1), is_cpu_op=True), of(reduce(3, 2), stream=8)),
           "double-counted", ('node 2 "reduce" on the CPU and node 3 "reduce" both have 4096 bytes',), (2,),
           repair=(), done="became a compute node"),
    Defect("clocks disagree", clocks(5000), "clock-skew",
           ("its clock shows 5000 us more", '{0}: node 1 "reduce" ends before {1}: node 1 "reduce" begins'), (), "warning",
           repair=(), done="start times were shifted", bytes=2 * EXCHANGED),
]


class Doctor(RankwireTest):
    def check(self, *arguments):
        process = rankwire("trace", "check", *arguments, "--json")
        self.assertIn(process.returncode, (OK, FAILED), process.stderr)
        report = json.loads(process.stdout)
        self.assertEqual(process.returncode == OK, report.get("copy", report)["errors"] == 0)
        return report

    def write(self, defect, folder):
        folder.mkdir()
        chakra.write_ranks(folder / "w", defect.ranks, defect.metadata)
        if defect.groups:
            (folder / "w.json").write_text(json.dumps(defect.groups), encoding="utf-8")
        if defect.harm:
            defect.harm(folder / "w")
        return folder / "w"

    def assert_found(self, defect, report, files):
        findings = [finding for finding in report["sets"][0]["findings"] if finding["code"] == defect.code]
        self.assertNotEqual(findings, [])
        finding = next((one for one in findings if one["rank"] == len(defect.ranks) - 1), findings[0])
        self.assertEqual((finding["severity"], tuple(finding["nodes"])), (defect.severity, defect.nodes))
        self.assertTrue(finding["meaning"] and finding["right"])
        # A finding of the whole set names that, every other one of a file.
        self.assertIn(finding["file"], files if finding["rank"] is not None else [os.path.commonprefix(files)[:-1]])
        for text in defect.says:
            self.assertIn(text.format(*files), finding["what"])

    def assert_repaired(self, defect, prefix, files, copy):
        report = self.check(prefix, *defect.options, "--repair", copy, *defect.repair)
        self.assertEqual((report["copy"]["errors"], report["copy"]["warnings"]), (0, 0), report["copy"])
        self.assertEqual(report["changes"], json.loads((copy / "repairs.json").read_text(encoding="utf-8")))
        changes = [change for change in report["changes"] if change["code"] == defect.code]
        self.assertNotEqual(changes, [])
        for change in changes:
            self.assertIn(change["file"], files)
            self.assertIn(defect.done, change["done"])
            self.assertNotEqual(change["what"], "")
        self.assert_runs(copy / "w", len(defect.ranks), copy / "run", defect.bytes)
        return f"{' '.join(['yes', *defect.repair])}: {changes[0]['done']}"

    def configure(self, traces, ranks):
        groups = traces.with_suffix(".json")
        return {
            "name": "doctor",
            "workload": {"traces": str(traces)} | ({"groups": str(groups)} if groups.exists() else {}),
            "hosts": {"count": ranks, "npus": 1},
            "ports": {"count": ranks, "device": "ring", "rate": "1Gbps"},
            "run": {"deadline": "10000s"},
        }

    def assert_runs(self, traces, ranks, out, exchanged):
        summary = self.call("simulate", self.configure(traces, ranks), out=out).summary
        self.assertEqual((summary["verdict"], summary["bytes"]), ("ok", exchanged))

    def assert_stays(self, defect, prefix, copy):
        """A copy is the same again: what nobody can know is not made up. Only with an error a run refuses the traces."""
        report = self.check(prefix, *defect.options, "--repair", copy)
        self.assertIn(defect.code, [finding["code"] for one in report["copy"]["sets"] for finding in one["findings"]])
        if defect.severity != "error":
            self.assert_runs(prefix, len(defect.ranks), copy / "run", defect.bytes)
            return "no, runs as it is"
        if defect.options:  # what only the option says, a run does not know
            return "no"
        process = rankwire("simulate", self.configuration(self.configure(prefix, len(defect.ranks))))
        self.assertEqual(process.returncode, USAGE, process.stdout + process.stderr)
        return "no, a run refuses it"

    def test_every_defect_is_found_named_and_repaired_where_it_can_be(self):
        print(f"\n{'defect':<30} | {'code':<26} | {'found':<8} | repaired copy is clean and runs")
        for number, defect in enumerate(DEFECTS):
            with self.subTest(defect.name):
                folder = self.folder / str(number)
                prefix = self.write(defect, folder)
                files = [f"{prefix}.{rank}.et" for rank in range(len(defect.ranks))]
                self.assert_found(defect, self.check(prefix, *defect.options), files)
                if defect.repair is None:
                    repaired = self.assert_stays(defect, prefix, folder / "copy")
                else:
                    repaired = self.assert_repaired(defect, prefix, files, folder / "copy")
                print(f"{defect.name:<30} | {defect.code:<26} | {defect.severity:<8} | {repaired}")

    def test_sound_traces_have_no_findings(self):
        chakra.write_ranks(self.folder / "w", [sound(), sound()])
        self.assertEqual(self.check(self.folder / "w")["sets"][0]["findings"], [])
        self.assert_runs(self.folder / "w", 2, "run", EXCHANGED)


if __name__ == "__main__":
    unittest.main()

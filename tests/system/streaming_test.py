"""Workloads that stay in their files give what workloads in memory give."""

import contextlib
import json
import random
import sqlite3
import unittest

import chakra
from rankwire import OK, SOURCE, USAGE, RankwireTest, rankwire, transformer

NEVER, ALWAYS = 1 << 40, 0


def tables(run):
    """Every row of a record but for the configuration, in which the key differs, and the hour."""
    with contextlib.closing(sqlite3.connect(run.folder / "run.sqlite")) as connection:
        names = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        rows = {name: connection.execute(f'SELECT * FROM "{name}"').fetchall() for name in names}
        # Rows of runs that go on at a time stand as they came; those of each run are in its order.
        for name in names:
            if connection.execute("SELECT name FROM pragma_table_info(?)", [name]).fetchone() == ("run",):
                rows[name].sort(key=lambda row: row[0])
    return {name: content for name, content in rows.items() if name != "record"}


def pipeline(ranks=4, steps=60):
    """Ranks that pass on what they compute, reduce now and then, and compute beside that. Some nodes stand before what
    they depend on, some depend on nothing, and most have control dependencies of no use."""
    chance = random.Random(3)
    traces = []
    for rank in range(ranks):
        nodes, last = [], None
        for step in range(steps):
            base = 10 * step
            after = [] if last is None else [last]
            if rank > 0:
                attributes = {"comm_src": rank - 1, "comm_tag": step % 3, "comm_size": 4096}
                nodes.append(chakra.Node(base, "from", chakra.RECEIVE, [], 0, attributes))
                after.append(base)
            work = chakra.Node(base + 1, f"work {step}", chakra.COMPUTE, after, 1 + chance.randrange(9))
            host = chakra.Node(base + 2, "launch", chakra.COMPUTE, after, chance.randrange(3), {"is_cpu_op": 1})
            nodes += [work, host] if chance.randrange(2) else [host, work]
            last = base + 1
            if rank + 1 < ranks:
                attributes = {"comm_dst": rank + 1, "comm_tag": step % 3, "comm_size": 4096}
                nodes.append(chakra.Node(base + 3, "to", chakra.SEND, [last], 0, attributes))
            if step % 5 == 0:
                attributes = {"comm_type": chakra.ALL_REDUCE, "comm_size": 65536}
                nodes.append(chakra.Node(base + 4, "all", chakra.COLLECTIVE, [base + 2], 0, attributes))
        for at in range(0, len(nodes) - 1, 7):
            nodes[at], nodes[at + 1] = nodes[at + 1], nodes[at]
        traces.append(nodes)
    return traces


class Streaming(RankwireTest):
    def simulate(self, config, stream_above):
        config = json.loads(json.dumps(config))
        config["workload"]["stream_above"] = stream_above
        config["simulation"] = {"ensemble": "off"}  # `auto` leaves traces that stay in their files alone
        return self.call("simulate", config, "--twin", out=f"run-{stream_above}")

    def assert_the_same(self, config):
        whole, streamed = (self.simulate(config, above) for above in (NEVER, ALWAYS))
        ours, theirs = streamed.summary, whole.summary
        self.assertEqual(ours["config"]["workload"].pop("stream_above"), ALWAYS)
        self.assertEqual(theirs["config"]["workload"].pop("stream_above"), NEVER)
        self.assertEqual(ours, theirs)
        ours, theirs = tables(streamed), tables(whole)
        self.assertEqual(list(ours), list(theirs))
        for name in theirs:
            self.assertEqual(ours[name], theirs[name], name)
        self.assertGreater(len(theirs["operations"]), 500)

    def test_a_pipeline(self):
        chakra.write_ranks(self.folder / "w", pipeline())
        workload = {"traces": str(self.folder / "w"), "iterations": 3, "select": {"names": ["*[!5]"]}}
        ports = {"count": 2, "device": "memory"}
        self.assert_the_same({"workload": workload, "ports": ports, "concurrency": {"compute": 2, "host": 2}})

    def test_a_generated_training_step(self):
        # Of equally slow messages any may be among the slowest.
        record = {"messages": "all"}
        ports = {"count": 2, "device": "memory"}
        self.assert_the_same({"workload": {"generate": transformer()}, "ports": ports, "record": record})


class Checking(RankwireTest):
    """`check` keeps one operation of those that are alike, and says the same."""

    def checked(self, path, stream_above):
        above = f"workload.stream_above={stream_above}"
        process = rankwire("check", path, "--no-measure", "--json", "--set", above)
        self.assertEqual(process.returncode, OK, process.stderr)
        report = json.loads(process.stdout)
        del report["config"]["workload"]["stream_above"]
        del report["memory"]  # nodes that stay in their files take none
        return report

    def test_the_same_is_said(self):
        storage = {"ranks": 2, "checkpoint": {"every": 1}}
        for step in (transformer(tied_embeddings="off"), transformer(), transformer(pipeline_parallel=1, storage=storage)):
            config = {"workload": {"generate": step}, "ports": {"count": 2, "device": "memory"}}
            with self.subTest(generate=step):
                path = self.configuration(config)
                self.assertEqual(self.checked(path, ALWAYS), self.checked(path, NEVER))

    def test_the_same_is_said_of_what_needs_all(self):
        for name in ("in_network", "impairments", "mixtral", "nccl"):
            with self.subTest(name=name):
                path = SOURCE / f"configs/{name}.yaml"
                self.assertEqual(self.checked(path, ALWAYS), self.checked(path, NEVER))


class WithoutOperations(RankwireTest):
    """`record.operations: none` leaves the same run, and a record without them."""

    def test_all_else_stays(self):
        model = {"kind": "transformer"} | transformer(layers=2)
        config = {
            "workload": {"generate": model},
            "hosts": {"count": 2, "npus": 4},
            "ports": {"count": 2, "device": "ring", "rate": "100Gbps"},
        }
        whole = self.call("simulate", config, "--twin", out="whole")
        config["record"] = {"operations": "none"}
        bare = self.call("simulate", config, "--twin", out="bare")
        of_bare, of_whole = bare.summary, whole.summary
        for key in ("verdict", "emulated", "reference", "ratio", "messages", "bytes", "message_completion_time", "transport"):
            self.assertEqual(of_bare[key], of_whole[key], key)
        self.assertEqual(bare.rows("flows"), whole.rows("flows"))
        self.assertEqual(of_bare["record"]["operations_dropped"], 0)
        self.assertIn("record.operations is none", " ".join(of_bare["warnings"]))
        for table in ("operations", "critical_path", "slack"):
            self.assertEqual((bare.rows(table), bool(whole.rows(table))), ([], True), table)
        for key in ("critical_path", "waterfall"):
            self.assertIsNone(of_bare[key])
        gates = self.folder / "gates.txt"
        gates.write_text("ratio >= 0\noperations.all_reduce.p99 < 1s\n", encoding="utf-8")
        process = rankwire("report", bare.folder, "--gate", gates)
        self.assert_one_line_error(process, USAGE, "gates.txt:2: 'operations.all_reduce.p99' needs 'record.operations: all'")
        process = rankwire("compare", whole.folder, bare.folder, "--gate", gates)
        self.assert_one_line_error(process, USAGE, "gates.txt:2: 'operations.all_reduce.p99' needs 'record.operations: all'")
        names = tables(bare)
        self.assertEqual((names["operations"], names["nodes"]), ([], []))

    def test_limits_need_them(self):
        config = {"workload": {"generate": {"kind": "mlp"}}, "record": {"operations": "none"}, "ports": {"count": 2}}
        for limits in ({"busbw": {"all_reduce": "1Gbps"}}, {"ttft_p99": "1s"}):
            path = self.configuration(config | {"limits": limits})
            self.assert_one_line_error(rankwire("check", path), USAGE, "needs 'record.operations: all'")


if __name__ == "__main__":
    unittest.main()

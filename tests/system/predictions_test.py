"""What the reference predicts, held against a committed table: a prediction that changes is a visible difference.

After a change that is meant to alter predictions, `RANKWIRE_RENEW_PREDICTIONS=1 ctest -R system.predictions` (or this
file, run by hand) writes predictions.csv anew; the commit that brings the new numbers says why they are right.
"""

import csv
import hashlib
import os
import pathlib
import shutil
import sqlite3
import unittest

from rankwire import SOURCE, RankwireTest, transformer

TABLE = pathlib.Path(__file__).with_name("predictions.csv")
COLUMNS = ["case", "completion_ps", "operations", "sha256_of_operations"]


def ports(count, **changes):
    return [{"name": f"p{p}", "device": "memory", "rate": "100Gbps"} | changes for p in range(count)]


def workload(**changes):
    return {"generate": transformer(**changes)}


def generated():
    """Configurations by name: kinds of parallelism, placements and networks that predictions depend on."""
    data_parallel = workload(tensor_parallel=1, pipeline_parallel=1, data_parallel=8)
    two_leaves = {"leaves": 2, "spines": 3}
    return {
        "data_parallel": {"workload": data_parallel, "ports": ports(8)},
        "tensor_parallel": {
            "workload": workload(tensor_parallel=8, pipeline_parallel=1, data_parallel=1),
            "ports": ports(8),
        },
        "pipeline_parallel": {
            "workload": workload(tensor_parallel=1, pipeline_parallel=4, data_parallel=1) | {"iterations": 3},
            "ports": ports(4),
        },
        "three_kinds_in_hosts": {
            "workload": workload(),
            "hosts": {"count": 2, "npus": 4, "nics": 2},
            "ports": ports(4),
        },
        "three_kinds_behind_one_nic": {
            "workload": workload(),
            "hosts": {"count": 4, "npus": 2, "nics": 1},
            "ports": ports(4),
        },
        "one_port_slower": {
            "workload": data_parallel,
            "ports": ports(7) + [{"name": "p7", "device": "memory", "rate": "99Gbps"}],
        },
        "reduces_take_time": {
            "workload": data_parallel,
            "ports": ports(8),
            "collectives": {"channels": 4, "chunk": "64KiB", "reduce_bandwidth": "800Gbps", "reduce_latency": "2us"},
        },
        "nccl_rings": {"workload": data_parallel, "ports": ports(8), "collectives": {"profile": "nccl"}},
        "ecmp": {"workload": workload(), "ports": ports(8), "fabric": two_leaves, "seed": 3},
        "sprayed": {
            "workload": workload(),
            "ports": ports(8),
            "fabric": two_leaves | {"balancing": {"spreading": "packet"}},
        },
        "queue_pairs": {"workload": workload(), "ports": ports(8), "fabric": two_leaves, "transport": {"queue_pairs": 3}},
    }


class Predictions(RankwireTest):
    def predict(self, case, config, *arguments):
        run = self.call("simulate", config, *arguments, out=case)
        self.assertEqual(run.summary["verdict"], "ok", run.summary["reason"])
        lines = sorted(
            ",".join([row["iteration"], row["rank"], row["node"], row["reference_start_ps"], row["reference_end_ps"]])
            for row in run.rows("operations")
        )
        digest = hashlib.sha256("\n".join(lines).encode()).hexdigest()
        completion = run.summary["reference"]["completion_time_ps"]
        return dict(zip(COLUMNS, map(str, [case, completion, len(lines), digest[:16]])))

    def test_predictions_are_those_of_the_table(self):
        renew = os.environ.get("RANKWIRE_RENEW_PREDICTIONS") == "1"
        with TABLE.open(encoding="utf-8", newline="") as file:
            expected = list(csv.DictReader(file))
        known = {row["case"] for row in expected}
        rows = []
        for path in sorted((SOURCE / "configs").glob("*.yaml")):
            text = path.read_text(encoding="utf-8")
            # One that is new is held from the next renewal on.
            if "\nports:" in text and "generate:" in text and (renew or path.stem in known):
                rows.append(self.predict(path.stem, path))
        for name, config in generated().items():
            rows.append(self.predict(name, config))
        if renew:
            with TABLE.open("w", encoding="utf-8", newline="") as file:
                writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
                writer.writeheader()
                writer.writerows(rows)
            expected = rows
        self.assertEqual([row["case"] for row in rows], [row["case"] for row in expected])
        for row, prediction in zip(rows, expected):
            with self.subTest(case=row["case"]):
                self.assertEqual(row, prediction)

    def tables(self, run, *left_out):
        """The rows of every table of the record but those, in an order of their own."""
        with sqlite3.connect(f"file:{run.folder / 'run.sqlite'}?mode=ro", uri=True) as record:
            names = [name for name, in record.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
            return {
                name: sorted(map(repr, record.execute(f'SELECT * FROM "{name}"')))
                for name in names
                if name not in left_out
            }

    def test_ranks_simulated_once_leave_the_record_of_all(self):
        for name in ("data_parallel", "tensor_parallel", "three_kinds_in_hosts", "reduces_take_time"):
            # Messages have ids, so with `all` every rank is simulated.
            records = {
                messages: self.tables(
                    self.call("simulate", generated()[name] | {"record": {"messages": messages}}, out=messages),
                    "messages", "record",
                )
                for messages in ("none", "sampled", "all")
            }
            for of_messages in ("message_latency", "message_buckets"):
                figures = {messages: record.pop(of_messages) for messages, record in records.items()}
                self.assertEqual(figures["none"], [])
                self.assertGreater(len(figures["all"]), 8 if of_messages == "message_latency" else 0)
                self.assertEqual(figures["sampled"], figures["all"])
            self.assertGreater(len(records["all"]["operations"]), 500)
            for table, rows in records["all"].items():
                for messages in ("none", "sampled"):
                    with self.subTest(case=name, table=table, messages=messages):
                        self.assertEqual(records[messages][table], rows)

    def files(self, run):
        """The bytes of the run folder's files, of the record the statements that would make it again, in its order. When it
        was made is left out."""
        paths = [path for path in run.folder.rglob("*") if path.is_file() and path.name != "run.sqlite"]
        files = {str(path.relative_to(run.folder)): path.read_bytes() for path in paths}
        with sqlite3.connect(f"file:{run.folder / 'run.sqlite'}?mode=ro", uri=True) as record:
            (created,) = record.execute("SELECT value FROM record WHERE key = 'created'").fetchone()
            lines = [line for line in record.iterdump() if "'created'" not in line]
            # Rows of runs that go on at a time stand as they came; those of each run are in its order.
            tables = [name for name, in record.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
            first = {name: record.execute("SELECT name FROM pragma_table_info(?)", [name]).fetchone() for name in tables}
            of_runs = tuple(f'INSERT INTO "{name}" VALUES(' for name in tables if first[name] == ("run",))
            place = lambda line: line[: line.index(",")] if line.startswith(of_runs) else ""
            files["run.sqlite"] = sorted(lines, key=place)
        return {
            name: content.replace(created.encode(), b"") if isinstance(content, bytes) else content
            for name, content in files.items()
        }

    def test_the_same_input_gives_the_same_record(self):
        recorded = {"record": {"messages": "all", "causes": True}}
        for how, name, changes, arguments in (
            ("every rank", "three_kinds_in_hosts", recorded, ()),
            ("ranks that behave alike once", "data_parallel", {"record": {"messages": "none"}}, ()),
            ("packets, too", "three_kinds_in_hosts", recorded, ("--twin",)),
            ("packets over a fabric", "ecmp", recorded, ("--twin",)),
        ):
            with self.subTest(how=how):
                config = generated()[name] | changes
                # The same path, which some of the files name.
                first = self.files(self.call("simulate", config, *arguments, out="same"))
                shutil.rmtree(self.folder / "same")
                second = self.files(self.call("simulate", config, *arguments, out="same"))
                self.assertGreater(len(first["run.sqlite"]), 700)
                self.assertEqual(set(first), set(second))
                for file, content in first.items():
                    self.assertTrue(content == second[file], f"two runs of the same input differ in {file}")


if __name__ == "__main__":
    unittest.main()

"""A job of which only some ranks are on wires: exact where all are or none, and how far off it is between."""

import contextlib
import json
import re
import sqlite3
import unittest

import chakra
import schemas
from rankwire import FAILED, OK, SOURCE, USAGE, RankwireTest, rankwire, transformer

HOSTS = 8


def job(wired=None, **changes):
    """16 ranks on 8 hosts, whose data-parallel groups are one NPU of each host: all that is on wires."""
    config = {
        "workload": {"generate": transformer(pipeline_parallel=1, data_parallel=HOSTS, micro_batches=2)},
        "hosts": {"count": HOSTS, "npus": 2},
        "mapping": {"policy": "block"},
        "ports": {"count": HOSTS, "rate": "1Gbps", "device": "memory"},
        "simulation": {"fidelity": ["flow", "twin"]},
    }
    if wired is not None:
        config["hybrid"] = {"wired": list(range(wired))}
    return config | changes


class Hybrid(RankwireTest):
    def operations(self, run, side):
        """When every operation began and ended on that side."""
        return {(row["rank"], row["node"], row["iteration"]): (row[f"{side}_start_ps"], row[f"{side}_end_ps"])
                for row in run.rows("operations")}

    def test_the_error_is_nothing_at_the_ends(self):
        twin_of_whole = reference_of_whole = None
        errors = {}
        for wired in (0, 2, 4, HOSTS):
            run = self.call("simulate", job(wired), "--twin", out=f"wired_{wired}")
            emulated = run.summary["emulated"]["completion_time_ps"]
            models = {model["model"]: model["completion_time_ps"] for model in run.summary["models"]}
            # A few messages on wires end the symmetry of the single run, and what has some is compared with the band.
            self.assertEqual("flow, median" in models, wired > 0)
            if models.pop("flow, median", None):
                self.assertLess(abs(run.summary["ratio"] - 1), 0.005)
            # Whoever is on wires, the reference and the twin of the whole are what they are.
            twin_of_whole = twin_of_whole or models["twin"]
            reference_of_whole = reference_of_whole or models["flow"]
            self.assertEqual(models, {"flow": reference_of_whole, "twin": twin_of_whole})
            errors[wired] = emulated / twin_of_whole - 1
            self.assertEqual(
                run.summary["hybrid"],
                {
                    "hosts": list(range(wired)),
                    "completion_time_ps": emulated,
                    "twin_of_whole_ps": twin_of_whole,
                    "error": (emulated - twin_of_whole) / twin_of_whole,
                    "reference_error": (reference_of_whole - twin_of_whole) / twin_of_whole,
                },
            )
            self.assertEqual(schemas.schema_errors("summary", run.summary), [])
            if wired == 0:
                self.assertEqual(emulated, reference_of_whole)
                self.assertEqual(self.operations(run, "emulated"), self.operations(run, "reference"))
                self.assertEqual(run.transport["packets_tx"], 0)
            if wired == HOSTS:
                self.assertEqual(emulated, twin_of_whole)
                self.assertEqual(run.summary["bytes_local"] + run.summary["bytes_wire"], run.summary["bytes"])
        print("error by hosts on wires:", errors)
        # The reference is off by no more than this, and a mixture of both lies between.
        bound = abs(errors[0]) + 0.01
        for wired in (2, 4):
            self.assertLessEqual(abs(errors[wired]), bound, errors)
        whole = self.call("simulate", job(), "--twin", out="whole").summary
        self.assertEqual(whole["emulated"]["completion_time_ps"], twin_of_whole)
        self.assertIsNone(whole["hybrid"])

    def test_a_line_is_shared_between_what_is_on_wires_and_what_is_not(self):
        # Rank 0 sends as much to rank 1, on wires, as to rank 2, which is not: each has half of its line.
        size, packet = 4 << 20, 4096
        ends = [{"comm_src": 0, "comm_dst": to, "comm_tag": to, "comm_size": size} for to in (1, 2)]
        nodes = [[chakra.Node(to, f"to {to}", chakra.SEND, attributes=ends[to - 1]) for to in (1, 2)]]
        nodes += [[chakra.Node(0, "receive", chakra.RECEIVE, attributes=end)] for end in ends]
        chakra.write_ranks(self.folder / "t", nodes)
        config = job(2, workload={"traces": str(self.folder / "t")}, transport={"mtu": f"{packet}B"})
        config |= {"hosts": {"count": 3, "npus": 1}, "ports": {"count": 3, "rate": "1Gbps", "device": "memory"}}
        config["record"] = {"causes": "on"}
        run = self.call("simulate", config, "--twin")
        # 82 bytes a frame beside its payload: headers, ICRC, FCS, preamble and gap.
        of_packet = (packet + 82) * 8000  # ps at 1 Gbit/s
        alone = size // packet * of_packet
        times = self.operations(run, "emulated")
        for node in ("1", "2"):
            begin, end = (int(time) for time in next(times[key] for key in times if key[:2] == ("0", node)))
            self.assertLess(abs(end - begin - 2 * alone), 4 * of_packet, node)
        # Whoever had the rest of the line, it was neither the device nor congestion control.
        flow = next(row for row in run.rows("flows") if int(row["packets"]) > 0)
        self.assertEqual(int(flow["congestion_control_ps"]), 0)
        self.assertLess(abs(int(flow["port_ps"]) - alone), 4 * of_packet)
        self.assertLess(abs(run.summary["hybrid"]["error"]), 0.002)

    def test_a_full_network_is_no_further_off_than_the_reference(self):
        # Neighbours in the ring, which stand behind different leaves, so that what they send crosses full cables. Held
        # to shares there, what is on wires meets no queue, and what queues, marks and slowing down cost is missing as in
        # the reference. Let go, it would be off by three times as much.
        for wired in ([0, 4], [0, 4, 1, 5], [0, 4, 1, 5, 2, 6]):
            out = self.folder / f"fabric_{len(wired)}"
            process = rankwire("simulate", SOURCE / "configs/fabric.yaml", "--twin", "--quiet", "--out", out, "--set",
                               f"hybrid.wired={wired}", "--set", "simulation.fidelity=[flow, twin]")
            self.assertEqual((process.returncode, process.stderr), (OK, ""))
            hybrid = json.loads((out / "summary.json").read_text(encoding="utf-8"))["hybrid"]
            print(f"fabric, {len(wired)} of 8 hosts on wires: {hybrid['error']:+.4f}")
            self.assertLessEqual(abs(hybrid["error"]), abs(hybrid["reference_error"]) + 0.01, wired)

    def test_ports_of_modelled_hosts_are_made(self):
        written_out, made = job(2), job(2)
        made["hybrid"] |= {"rate": "1Gbps"}
        made["ports"] |= {"count": 2}
        runs = [self.call("simulate", config, "--twin", out=name)
                for name, config in (("written_out", written_out), ("made", made))]
        self.assertEqual(self.operations(runs[0], "emulated"), self.operations(runs[1], "emulated"))

    def test_check_says_what_goes_where(self):
        process = rankwire("check", self.configuration(job(2)), "--json", "--no-measure")
        self.assertEqual((process.returncode, process.stderr), (OK, ""))
        checked = json.loads(process.stdout)
        hybrid = checked["hybrid"]
        self.assertEqual((hybrid["hosts"], hybrid["ranks"], hybrid["ports"]), ([0, 1], [0, 1, 2, 3], ["p0", "p1"]))
        self.assertEqual(hybrid["modelled_ranks"], 12)
        # Each ring of 8 hosts passes once from host 0 to 1, on wires, once from them to others, once back, and 5 times
        # between others.
        ways = ("wire", "wired_to_modelled", "modelled_to_wired", "modelled")
        messages = [hybrid[way]["messages_per_iteration"] for way in ways]
        self.assertEqual(messages, [messages[0]] * 3 + [messages[0] * 5])
        self.assertEqual(hybrid["wire"]["bytes_per_iteration"], checked["bytes_wire_per_iteration"])
        self.assertEqual([port["kind"] for port in checked["ports"]], ["embedded"] * 2 + ["modelled"] * 6)
        printed = rankwire("check", self.configuration(job(2)), "--no-measure").stdout
        self.assertIn("on wires: hosts 0-1, ranks 0-3, ports p0, p1; 12 ranks are modelled", printed)
        # The result says the same again.
        again = rankwire("check", self.configuration(checked["config"]), "--json", "--no-measure")
        self.assertEqual(json.loads(again.stdout)["hybrid"], hybrid)

    def test_what_no_wire_reaches_is_on_time(self):
        # Two groups that share no port: one on wires, one whose ring of 10 steps is modelled.
        groups = {"wired": [0, 1], "modelled": [2, 3, 4, 5, 6, 7]}
        nodes = [[chakra.collective(chakra.ALL_REDUCE, 60_000, group=name)] for name, ranks in groups.items() for _ in ranks]
        chakra.write_ranks(self.folder / "g", nodes)
        (self.folder / "g.json").write_text(json.dumps(groups), encoding="utf-8")
        config = job(2, workload={"traces": str(self.folder / "g")})
        config["hosts"] = {"count": HOSTS, "npus": 1}
        config["simulation"] = {"fidelity": "flow"}
        run = self.call("run", config)
        self.assertGreater(run.transport["data_packets_tx"], 0)
        modelled = [{key: times for key, times in self.operations(run, side).items() if int(key[0]) in groups["modelled"]}
                    for side in ("emulated", "reference")]
        self.assertEqual(len(modelled[0]), 6)
        self.assertEqual(*modelled)

    def test_a_dead_port_is_named_by_those_that_are_modelled(self):
        chakra.write_ranks(self.folder / "t", [[chakra.collective(chakra.ALL_REDUCE, 8 << 20)]] * HOSTS)
        rules = [{"action": "drop", "port": "p1", "direction": way, "transmissions": "all"} for way in ("transmit", "receive")]
        config = job(3, workload={"traces": str(self.folder / "t")}, impairments=rules)
        config |= {"hosts": {"count": HOSTS, "npus": 1}, "simulation": {"fidelity": "flow"}}
        config |= {"transport": {"timeout": 20}, "run": {"stall_timeout": "300ms"}}
        run = self.call("simulate", config, "--twin", status=FAILED)
        stall = run.summary["stall"]
        self.assertEqual((stall["class"], stall["culprit"]), ("dead_peer", 1), stall["text"])
        # Everybody waits for it in the end, and most of them are on no wire.
        self.assertEqual(stall["ranks_behind"], HOSTS - 1, stall["text"])

    def test_the_documented_example_runs(self):
        document = (SOURCE / "docs/hybrid.md").read_text(encoding="utf-8")
        (text,) = re.findall(r"```yaml\n(.*?)```", document, re.DOTALL)
        path = self.folder / "documented.yaml"
        path.write_text(text, encoding="utf-8")
        process = rankwire("check", path, "--json", "--no-measure")
        self.assertEqual(process.returncode, OK, process.stderr)
        hybrid = json.loads(process.stdout)["hybrid"]
        self.assertEqual((hybrid["hosts"], hybrid["ports"]), ([0, 1], [f"p{i}" for i in range(8)]))
        small = ("hidden=64", "sequence=16", "vocabulary=64", "micro_batches=1")
        changes = [word for key in small for word in ("--set", f"workload.generate.{key}")]
        run = self.call("simulate", path, "--twin", *changes, "--set", "simulation.fidelity=flow", "--set",
                        "simulation.ensemble=off")
        self.assertEqual((run.summary["ranks"], run.summary["hybrid"]["hosts"]), (1024, [0, 1]))
        self.assertGreater(run.transport["data_packets_tx"], 0)

    def test_a_run_that_stands_still_did_so_when_the_reference_did(self):
        # A cable of the modelled network goes for ever. The queues of the embedded fabric are looked at all the same, so
        # that something happens until `run.stall_timeout` is over.
        failures = [{"a": "p2", "down": "1ms"}]
        changes = {"fabric": {"topology": "leaf_spine", "leaves": 2, "spines": 2, "failures": failures},
                   "record": {"fabric_interval": "1ms"}, "run": {"stall_timeout": "2s"},
                   "simulation": {"fidelity": "flow"}}
        for wired in (0, 2):
            run = self.call("simulate", job(wired, **changes), "--twin", out=f"wired_{wired}", status=FAILED)
            (reference,) = run.summary["models"]
            self.assertEqual((run.summary["verdict"], reference["verdict"]), ("stalled", "stalled"))
            with contextlib.closing(sqlite3.connect(run.folder / "run.sqlite")) as record:
                known = max(record.execute("SELECT MAX(delivered_ps), MAX(acked_ps) FROM messages WHERE run = 1").fetchone())
            last = run.summary["stall"]["last_progress_ps"]
            self.assertLessEqual(known, last)
            # What is on wires may go on for as long as part of a message is under way: 1/1,024 of 2 s in doubt.
            self.assertLess(last - known, 2e12 / 1024)
            if wired == 0:
                self.assertEqual(last, known)
                self.assertEqual(run.summary["emulated"]["completion_time_ps"], reference["completion_time_ps"])

    def test_where_nothing_is_on_wires(self):
        path = self.configuration(job(0))
        process = rankwire("run", path, "--quiet", "--force", "--out", self.folder / "run")
        self.assert_one_line_error(process, USAGE, "hybrid.wired: names no host", "test.yaml:")
        # Both hosts are of one end of each ring, between which nothing is sent.
        config = job()
        config["hybrid"] = {"wired": [0, 4]}
        checked = rankwire("check", self.configuration(config), "--no-measure")
        self.assertEqual(checked.returncode, OK)
        self.assertIn("nothing goes over wires", checked.stderr)


if __name__ == "__main__":
    unittest.main()

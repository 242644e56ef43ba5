"""`rankwire nic-check` from outside: the emulated NIC, faults planted in it, and what it says of wrong configurations."""

import json
import socket
import subprocess
import sys
import threading
import unittest

import pcapng
from bridge import BridgeTest, ip
from rankwire import FAILED, OK, USAGE, RankwireTest, rankwire

CONFIG = """\
wire:
  port: net_af_packet0,iface=nowhere0
  mac: 02:00:0a:08:00:65
  ip: 10.8.0.101/24
nic:
  verbs: rxe0
  ip: 10.8.0.1
  mac: 52:54:00:08:00:01
"""


class NicCheck(RankwireTest):
    def check(self, *arguments, status):
        process = rankwire("nic-check", *arguments)
        self.assertEqual(process.returncode, status, process.stdout + process.stderr)
        return process

    def test_the_emulated_nic_passes(self):
        out = self.folder / "out"
        process = self.check("--emulated", "--out", out, "--json", status=OK)
        suite = json.loads((out / "suite.json").read_text(encoding="utf-8"))
        self.assertEqual(json.loads(process.stdout), suite)
        self.assert_one_line_error(rankwire("nic-check", "--list", "--mutant", "deaf_to_naks"), USAGE, "--mutant")
        listed = json.loads(self.check("--list", "--json", status=OK).stdout)
        by_verbs = [case["id"] for case in listed if not case["id"].startswith("perftest.")]
        self.assertEqual(by_verbs, [case["id"] for case in suite["cases"]])
        for report in ("junit.xml", "suite.md", "suite.html"):
            self.assertGreater((out / report).stat().st_size, 0, report)

    def test_a_planted_fault_is_found_and_its_frames_are_shown(self):
        out = self.folder / "out"
        self.check("--emulated", "--mutant", "wrong_nak_syndrome", "--only", "responder.gap.one_nak", "--out", out,
                   status=FAILED)
        (case,) = json.loads((out / "suite.json").read_text(encoding="utf-8"))["cases"]
        self.assertEqual(case["verdict"], "fail")
        self.assertIn("0x61", case["reason"])
        (artefact,) = case["artefacts"]
        _, packets = pcapng.read(out / case["folder"] / artefact["file"])
        # The NAK is from the NIC: opcode 0x11 behind Ethernet, IPv4 and UDP, syndrome 0x61 behind BTH.
        shown = [packets[number - 1] for number in artefact["frames"]]
        naks = [p for p in shown if p.direction == pcapng.INBOUND and p.data[42] == 0x11 and p.data[54] == 0x61]
        self.assertEqual(len(naks), 1)

    def test_the_same_happens_every_time(self):
        verdicts = []
        for name in ("first", "second"):
            self.check("--emulated", "--only", "congestion.*", "--out", self.folder / name, status=OK)
            suite = json.loads((self.folder / name / "suite.json").read_text(encoding="utf-8"))
            verdicts.append([(case["id"], case["measurements"], case["curves"]) for case in suite["cases"]])
        self.assertEqual(*verdicts)

    def test_a_recorded_job_with_its_impairments(self):
        """Of two ranks, each of which sends 64 KiB in an all-reduce: half to be reduced, half that is."""
        config = {
            "workload": {"generate": {"kind": "collective", "collective": {
                "operation": "all_reduce", "ranks": 2, "min": "64KiB", "max": "64KiB", "warmup": 0, "iterations": 2}}},
            "hosts": {"count": 2, "npus": 1, "nics": 1},
            "ports": {"count": 2, "device": "memory", "rate": "10Gbps"},
            "transport": {"mtu": "1024B"},
            "record": {"messages": "all"},
            "impairments": [{"action": "drop", "class": "data", "rank": 1, "packet": 3, "count": 1},
                            {"action": "mark_ce", "class": "data", "rank": 0, "packet": 5, "count": 2},
                            {"action": "drop", "class": "ack", "rank": 1, "count": 1}],
        }  # fmt: skip
        run = self.call("simulate", config, "--twin")
        sent = [int(row["bytes"]) for row in run.rows("flows", fidelity="twin", source="1")]
        out = self.folder / "out"
        self.check("--emulated", "--replay", run.folder, "--rank", "1", "--out", out, status=OK)
        (case,) = json.loads((out / "suite.json").read_text(encoding="utf-8"))["cases"]
        values = {m["name"]: m["value"] for m in case["measurements"]}
        self.assertEqual(case["id"], "job.replay")
        # Two calls of two steps; all that is recorded of packets is repeated.
        self.assertEqual(values["messages that the NIC sent"], 4)
        self.assertEqual(values["messages that it received"], 4)
        self.assertEqual(values["impairments"], 4, case["anomalies"])
        _, packets = pcapng.read(out / case["folder"] / "wire.pcapng")
        self.assertGreaterEqual(len(packets), sum(sent) // 1024)
        # Each message of the other rank's run is known by its record alone.
        other = self.call("simulate", config | {"record": {"messages": "none"}}, "--twin", out="other")
        process = rankwire("nic-check", "--emulated", "--replay", other.folder)
        self.assert_one_line_error(process, USAGE, str(other.folder), "record.messages")
        process = rankwire("nic-check", "--emulated", "--replay", run.folder, "--rank", "2")
        self.assert_one_line_error(process, USAGE, "--rank 2: there is no rank 2 in", "ranks are 0 .. 1")

    AGENT = '''wire: {{port: net_ring0, mac: "02:00:0a:08:00:65", ip: 198.18.0.101/24, rate: 1Gbps}}
nic: {{agent: "127.0.0.1:{port}", token: secret, ip: 198.18.0.1, mac: "52:54:00:08:00:01"}}
limits: {{timeout_exponent: 10, answer: 2ms, quiet: 1ms}}
'''
    FACTS = {"name": "fake0", "mac": "525400080001", "ip": "00000000000000000000ffffc6120001", "mtu": 4096, "reads": 4,
             "largest": 1 << 20, "region": {"address": 4096, "bytes": 4 << 20, "rkey": 7}}  # fmt: skip

    def check_by_agent(self, facts, last, *only, gone=None):
        """By an agent that knows as much, of a NIC at which nothing arrives, and ends at request `last`. With `gone`
        that is what it says of its NIC from the third time on that it is to describe it."""
        answers = {"hello": {"protocol": 1}, "describe": facts, "make_queue_pair": {"queue_pair": 101},
                   "poll": {"completions": []}, "counters": {"counters": {}}, "read_guard": {"data": ""}}  # fmt: skip
        listener = socket.create_server(("127.0.0.1", 0))
        listener.settimeout(5)

        def serve():
            client, _ = listener.accept()
            with client, client.makefile("rwb") as lines:
                described = 0
                for number, line in enumerate(lines):
                    if number == last:
                        return
                    op = json.loads(line)["op"]
                    described += op == "describe"
                    is_gone = gone and op == "describe" and described > 2
                    lines.write(json.dumps({"error": gone} if is_gone else answers.get(op, {})).encode() + b"\n")
                    lines.flush()

        port = listener.getsockname()[1]
        file = self.folder / "agent.yaml"
        file.write_text(self.AGENT.format(port=port), encoding="utf-8")
        agent = threading.Thread(target=serve)
        agent.start()
        try:
            patterns = [word for pattern in only for word in ("--only", pattern)]
            process = rankwire("nic-check", file, "--yes", "--out", self.folder / "out", "--force", *patterns)
        finally:
            listener.close()
            agent.join(30)
        return f"127.0.0.1:{port}", process

    def test_an_agent_that_is_lost_is_an_error_of_each_case_after(self):
        name, process = self.check_by_agent(self.FACTS, 40, "requester.*", "responder.write.*")
        self.assertEqual(process.returncode, FAILED, process.stderr)
        out = self.folder / "out"
        suite = json.loads((out / "suite.json").read_text(encoding="utf-8"))
        self.assertFalse(suite["interrupted"])
        verdicts = [case["verdict"] for case in suite["cases"]]
        first = verdicts.index("error")
        self.assertGreater(len(verdicts) - first, 40)
        self.assertEqual(set(verdicts[first:]), {"error"})
        self.assertIn(f"{name}: the agent is lost: it has closed the connection", suite["cases"][first]["reason"])
        for case in suite["cases"][first + 1:]:
            self.assertIn(f"{name}: the agent was lost before: it has closed the connection", case["reason"])
        for file in ("junit.xml", "suite.md", "suite.html"):
            told = (out / file).read_text(encoding="utf-8").count("the agent was lost before")
            self.assertGreaterEqual(told, len(verdicts) - first - 1, file)

    def test_an_agent_that_cannot_be_reached_is_an_error_of_each_case(self):
        with socket.create_server(("127.0.0.1", 0)) as listener:
            port = listener.getsockname()[1]
        file, out = self.folder / "agent.yaml", self.folder / "out"
        file.write_text(self.AGENT.format(port=port), encoding="utf-8")
        how = ("nic-check", file, "--yes", "--out", out, "--only", "requester.loss.*")
        self.assert_one_line_error(rankwire(*how), FAILED, f"127.0.0.1:{port}")
        cases = json.loads((out / "suite.json").read_text(encoding="utf-8"))["cases"]
        self.assertGreater(len(cases), 5)
        self.assertEqual({case["verdict"] for case in cases}, {"error"})
        for report in ("junit.xml", "suite.md", "suite.html"):
            self.assertIn(f"127.0.0.1:{port}", (out / report).read_text(encoding="utf-8"))
        # A pattern of nothing is found before anybody is asked.
        nothing = rankwire(*how[:-1], "requester.los.*", "--resume")
        self.assert_one_line_error(nothing, USAGE, "no test is called 'requester.los.*'")
        # What has been found stays.
        self.assert_one_line_error(rankwire(*how, "--resume"), FAILED, f"127.0.0.1:{port}")
        self.assertEqual(json.loads((out / "suite.json").read_text(encoding="utf-8"))["cases"], cases)

    def test_a_nic_that_vanishes_is_an_error_of_each_case_after(self):
        # Described when it is opened, before the first case, and behind it.
        name, process = self.check_by_agent(self.FACTS, -1, "requester.loss.write.*", "responder.psn.*",
                                            gone="RDMA device fake0: it is not there any more")  # fmt: skip
        self.assertEqual(process.returncode, FAILED, process.stderr)
        cases = json.loads((self.folder / "out/suite.json").read_text(encoding="utf-8"))["cases"]
        self.assertGreater(len(cases), 3)
        self.assertEqual({(case["verdict"], case["reason"]) for case in cases},
                         {("error", f"{name}: RDMA device fake0: it is not there any more")})  # fmt: skip

    def test_what_is_wrong_with_an_agents_answers_is_named(self):
        for key, value, shown in (("mac", "52540008000", '"52540008000"'), ("ip", 7, "7"), ("mtu", "x", '"x"'),
                                  ("largest", -1, "-1"), ("region", [], "[]")):  # fmt: skip
            name, process = self.check_by_agent(self.FACTS | {key: value}, -1, "requester.ack.past")
            self.assert_one_line_error(process, FAILED, f"{name}: the agent's answer to 'describe' has {shown} as '{key}'")
        facts = {key: value for key, value in self.FACTS.items() if key != "reads"}
        name, process = self.check_by_agent(facts, -1, "requester.ack.past")
        self.assert_one_line_error(process, FAILED, f"{name}: the agent's answer to 'describe' has no 'reads'")

    def test_wrong_configurations_are_named(self):
        file = self.folder / "nic.yaml"
        for old, new, *texts in (
            ("ip: 10.8.0.1\n", "ip: nowhere\n", f"{file}:7", "nic.ip"),
            ("verbs: rxe0", "verb: rxe0", f"{file}:6", "verb"),
            ("  verbs: rxe0\n", "  agent: 127.0.0.1:1\n", "nic.token_file", "RANKWIRE_AGENT_TOKEN"),
            ("  verbs: rxe0\n", "  agent: 127.0.0.1:1\n  token_file: absent\n",
             f"{file}:7: nic.token_file: {self.folder}/absent"),
            ("verbs: rxe0", "verbs: no_such_device", f"{file}:6: nic.verbs: "),
            ("  verbs: rxe0\n", "  agent: 127.0.0.1:1\n  token: a\n  token_file: b\n", "'token' or 'token_file'"),
            ("  verbs: rxe0\n", "", f"{file}:5", "one of 'verbs', 'agent' and 'perftest' is needed"),
            ("  verbs: rxe0\n", "  verbs: rxe0\n  perftest: print\n", f"{file}:5",
             "only one of 'verbs', 'agent' and 'perftest' is expected; verbs and perftest are there"),
            ("  verbs: rxe0\n", "  perftest: ssh host\n", f"{file}:6", "{command}", "'print'"),
            ("  verbs: rxe0\n", "  perftest: \"ssh 'host {command}\"\n", f"{file}:6", "no other end"),
            ("  verbs: rxe0\n", "  perftest: print\n", "nic.device"),
            ("  verbs: rxe0\n", "  perftest: print\n  device: a;b\n", f"{file}:7", "RDMA device"),
            ("  verbs: rxe0\n", "  perftest: print\n  device: rxe0\n", "nic.gid_index"),
            ("  verbs: rxe0\n", "  perftest: print\n  device: rxe0\n  gid_index: 1\n", "nic.listen"),
            ("  verbs: rxe0\n", "  verbs: rxe0\n  device: rxe0\n", "nic.perftest", "'device' and 'listen'"),
            ("ip: 10.8.0.1\n", "ip: 10.9.0.1\n", f"{file}:7", "10.9.0.1 is not in the subnet of wire.ip, 10.8.0.101/24"),
            ("ip: 10.8.0.1\n", "ip: 10.8.0.101\n", f"{file}:7", "rankwire's own end"),
            ("  mac: 02:00:0a:08:00:65\n", "", "wire.mac"),
            ("wire:\n", "limits: {timeout_exponent: 10}\nwire:\n", f"{file}:1", "limits.answer"),
        ):
            with self.subTest(texts=texts):
                self.assertIn(old, CONFIG)
                file.write_text(CONFIG.replace(old, new, 1), encoding="utf-8")
                self.assert_one_line_error(rankwire("nic-check", file, "--yes"), USAGE, *texts)

    def test_nothing_is_sent_unless_it_is_meant(self):
        file = self.folder / "nic.yaml"
        file.write_text(CONFIG, encoding="utf-8")
        nobody = ("sh", "-c", 'exec "$0" "$@" </dev/null')
        self.assert_one_line_error(rankwire("nic-check", file, prefix=nobody), USAGE, "--yes", "nowhere0", "10.8.0.1")

    def test_wrong_options_are_named(self):
        self.assert_one_line_error(rankwire("nic-check"), USAGE, "--emulated")
        self.assert_one_line_error(rankwire("nic-check", "--emulated", "--mutant", "deaf"), USAGE, "deaf_to_naks")
        self.assert_one_line_error(rankwire("nic-check", "--emulated", "--only", "nothing.*"), USAGE, "nothing.*")
        self.assert_one_line_error(rankwire("agent", "--device", "rxe0"), USAGE, "--token-file")
        both = rankwire("agent", "--device", "rxe0", "--token", "a", "--token-file", "b")
        self.assertEqual(both.returncode, USAGE, both.stderr)


# Prints its port, and deletes the wire's interface when a queue pair is made for the second time.
VANISHING = """\
import json, socket, subprocess, sys
facts = json.loads(sys.argv[1])
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
made = 0
with listener.accept()[0].makefile("rwb") as lines:
    for line in lines:
        op = json.loads(line)["op"]
        if op == "make_queue_pair":
            made += 1
            if made == 2:
                subprocess.run(["ip", "link", "delete", "rw0"], check=True)
        answer = {"hello": {"protocol": 1}, "describe": facts, "make_queue_pair": {"queue_pair": 101},
                  "poll": {"completions": []}, "counters": {"counters": {}}, "read_guard": {"data": ""}}.get(op, {})
        lines.write(json.dumps(answer).encode() + b"\\n")
        lines.flush()
"""


class NicCheckOverAPort(BridgeTest):
    PORTS = 1

    def test_a_port_that_vanishes_is_no_fault_of_the_nic(self):
        ip("-n", self.near, "link", "set", "lo", "up")
        agent = [*self.inside(), sys.executable, "-c", VANISHING, json.dumps(NicCheck.FACTS)]
        with subprocess.Popen(agent, stdout=subprocess.PIPE, text=True) as process:
            self.addCleanup(process.kill)
            file = self.folder / "agent.yaml"
            text = NicCheck.AGENT.format(port=int(process.stdout.readline()))
            file.write_text(text.replace("net_ring0", '"net_af_packet0,iface=rw0"'), encoding="utf-8")
            patterns = [word for pattern in ("requester.loss.write.*", "responder.drop.*", "responder.psn.*")
                        for word in ("--only", pattern)]  # fmt: skip
            checked = rankwire("nic-check", file, "--yes", "--out", self.folder / "out", *patterns,
                               prefix=self.inside())  # fmt: skip
        self.assertEqual(checked.returncode, FAILED, checked.stdout + checked.stderr)
        suite = json.loads((self.folder / "out/suite.json").read_text(encoding="utf-8"))
        self.assertFalse(suite["interrupted"])
        first, *others = suite["cases"]
        # Nothing arrives at this NIC in its first case either, in which the port is there.
        self.assertEqual(first["verdict"], "fail")
        self.assertGreater(len(others), 3)
        for case in others:
            self.assertEqual(case["verdict"], "error", case)
            self.assertIn("iface=rw0: there is no network interface rw0 any more", case["reason"])


if __name__ == "__main__":
    unittest.main()

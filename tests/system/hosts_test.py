"""A run over several machines: processes that mpirun starts, each with an end of a veth pair and its ranks."""

import contextlib
import html
import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import time
import unittest

import chakra
import hosts
from bridge import ip
from hosts import command_lines, with_clock_ahead, with_mpi
from rankwire import BINARY, FAILED, OK, USAGE, RankwireTest, Run, rankwire, recorded_operations, transformer

MACHINES = ("a", "b")
LINK_MTU = 4200
# net_af_packet joins a fanout group of its process's and its interface's number, which must not be another process's.
FIRST_INDEX, INDEX_STEP = 8192, 4096
# The world of MPI stays on this machine.
MPIRUN = [*hosts.MPIRUN, "--oversubscribe", "--mca", "btl", "self,vader", "--mca", "oob_tcp_if_include", "lo"]


# Of an ensemble that takes two processes a second and more.
MANY_MEMBERS = 300

# A library that has CLOCK_REALTIME 5 ms late.
LATE_CLOCK = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <time.h>
int clock_gettime(clockid_t clock, struct timespec* now) {
  int (*const next)(clockid_t, struct timespec*) = (int (*)(clockid_t, struct timespec*))dlsym(RTLD_NEXT, "clock_gettime");
  const int status = next(clock, now);
  if (status != 0 || clock != CLOCK_REALTIME) return status;
  now->tv_nsec -= 5000000;
  if (now->tv_nsec < 0) now->tv_nsec += 1000000000, --now->tv_sec;
  return 0;
}
"""


class MachinesTest(RankwireTest):
    """Two machines in a network namespace of their own, with PORTS interfaces rw0, rw1, ..., as `build` joins them."""

    def setUp(self):
        super().setUp()
        missing = [tool for tool in ("ip", "mpirun") if shutil.which(tool) is None]
        if os.geteuid() != 0 or missing:
            self.skipTest(f"takes root, ip and mpirun; missing: {missing}")
        if not with_mpi():
            self.skipTest("this rankwire was built without MPI")
        self.space = f"rwhosts{os.getpid()}"
        try:
            ip("netns", "add", self.space)
            self.addCleanup(subprocess.run, ["ip", "netns", "delete", self.space], capture_output=True, check=False)
            ip("-n", self.space, "link", "set", "lo", "up")
            self.build()
        except subprocess.CalledProcessError as error:
            self.skipTest(f"{' '.join(error.cmd)}: {error.stderr.strip()}")

    def config(self, on=True, **changes):
        ports = [{"name": f"p{i}", "device": f"net_af_packet{i},iface=rw{i}", "rate": "500Mbps"}
                 for i in range(self.PORTS)]
        if on:
            ports = [port | {"on": MACHINES[i * len(MACHINES) // self.PORTS]} for i, port in enumerate(ports)]
        return {
            "workload": {"generate": transformer(), "iterations": 3},
            "hosts": {"count": self.PORTS, "npus": 8 // self.PORTS, "nics": 1},
            "ports": ports,
            "switch": {"latency": "20us"},
            "transport": {"mtu": "4096B", "checking": True},
            "record": {"messages": "all"},
            "dpdk": {"memory": f"{64 * self.PORTS}MiB", "eal_arguments": ["--no-pci"]},
            "clock": {"max_error": "100ms"},  # of a machine whose cores others use, too
            "run": {"deadline": "60s"},
        } | changes

    def command(self, paths, prefixes=((), ()), options=()):
        """Starts one process for each of the machines."""
        parts = [[*MPIRUN, *options]]
        for machine, path, prefix in zip(MACHINES, paths, prefixes):
            parts.append(["-n", "1", *prefix, str(BINARY), "run", str(path), "--quiet", "--machine", machine, "--out",
                          str(self.folder / "run"), ":"])
        return ["ip", "netns", "exec", self.space, *sum(parts, [])[:-1]]

    def on_machines(self, *paths, status=OK, **how):
        process = subprocess.run(self.command(paths, **how), capture_output=True, text=True, check=False, timeout=120)
        self.assertEqual(process.returncode, status, process.stdout + process.stderr)
        return process

    def assert_as_alone(self, run):
        """As one process has it that has all ports, with one worker."""
        self.assert_delivered(run)
        alone = self.call("run", self.config(on=False), out="alone", prefix=["ip", "netns", "exec", self.space])
        for count in ("messages", "bytes", "bytes_wire", "bytes_local"):
            self.assertEqual(run.summary[count], alone.summary[count], count)
        for count in ("messages_sent", "messages_delivered", "data_packets_tx"):
            self.assertEqual(run.transport[count] - (run.transport["retransmitted"] if "packets" in count else 0),
                             alone.transport[count] - (alone.transport["retransmitted"] if "packets" in count else 0))
        self.assertEqual(run.summary["record"]["messages_unjoined"], 0)
        executed = [{(row["rank"], row["node"], row["iteration"]) for row in record.rows("operations")
                     if row["emulated_end_ps"]} for record in (run, alone)]
        self.assertEqual(*executed)
        self.assertEqual(len(run.rows("ports", fidelity="emulated")), self.PORTS)
        sent = [{(row["connection"], row["member"]): row["messages"] for row in record.rows("flows")}
                for record in (run, alone)]
        self.assertEqual(*sent)

    def disturb(self, disturb, options=("--enable-recovery",), status=OK, **changes):
        """Begins a run that would take long, calls `disturb` with machine b's process when that has recorded something, and
        returns how many operations it had recorded then, and what mpirun printed."""
        endless = self.config(**changes)
        endless["workload"]["iterations"] = 10_000
        endless["run"]["deadline"] = "15s"
        path = self.configuration(endless)
        # Whoever is left outlives who has died; mpirun then returns 0.
        command = self.command((path, path), options=options)
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True) as process:
            part = self.folder / "run/machines/b"
            deadline = time.monotonic() + 60
            while recorded_operations(part) < 100 and process.poll() is None and time.monotonic() < deadline:
                time.sleep(0.05)
            recorded = recorded_operations(part)
            own = {str(path).encode(), b"--machine", b"b"}
            (disturbed,) = [number for number, words in command_lines().items()
                            if own <= set(words) and words[0].endswith(b"rankwire")]
            disturb(disturbed)
            output, errors = process.communicate(timeout=60)
        self.assertEqual(process.returncode, status, output + errors)
        return recorded, output + errors

    def stall(self, kind, machine):
        """What the run had come to, which names the machine wherever it is told."""
        run = Run(self.folder / "run")
        stall = run.summary["stall"]
        self.assertEqual((stall["class"], stall["machine"]), (kind, machine), (stall, run.summary["reason"]))
        self.assertIn(f"machine '{machine}'", stall["text"])
        page = html.unescape((run.folder / "report.html").read_text(encoding="utf-8"))
        self.assertIn(stall["text"], page)
        return run.summary, stall


class Hosts(MachinesTest):
    PORTS = 2

    def build(self):
        ip("-n", self.space, "link", "add", "rw0", "index", str(FIRST_INDEX), "mtu", str(LINK_MTU), "type", "veth",
           "peer", "name", "rw1", "index", str(FIRST_INDEX + INDEX_STEP), "mtu", str(LINK_MTU))
        for name in ("rw0", "rw1"):
            ip("-n", self.space, "link", "set", name, "addrgenmode", "none", "up")

    def test_as_on_one_machine(self):
        path = self.configuration(self.config())
        self.on_machines(path, path, prefixes=((), with_clock_ahead(1000 * 10**9)))
        run = Run(self.folder / "run")
        self.assertFalse((run.folder / "machines").exists())
        self.assertEqual([machine["machine"] for machine in run.summary["machines"]], list(MACHINES))
        for machine in run.summary["machines"]:
            self.assertEqual(machine["verdict"], "ok")
            # A clock that is 1000 s ahead and not seen to be would be off by that.
            self.assertLess(abs(machine["clock_offset_ps"]), 100 * 10**9)
        self.assert_as_alone(run)

    def test_one_is_told_to_stop(self):
        _, printed = self.disturb(lambda process: os.kill(process, signal.SIGTERM))
        self.assertIn("interrupted: on machine 'b': stopped by a signal", printed)
        run = Run(self.folder / "run")
        self.assertEqual([machine["verdict"] for machine in run.summary["machines"]], ["interrupted"] * 2)
        self.assertIsNone(run.summary["stall"], "it moved until it was stopped")

    def test_the_wire_between_them_goes(self):
        _, printed = self.disturb(lambda _: ip("-n", self.space, "link", "set", "rw1", "down"))
        run = Run(self.folder / "run")
        self.assertEqual(run.summary["reason_code"], "message_failed", printed)
        self.assertEqual([machine["verdict"] for machine in run.summary["machines"]], ["failed"] * 2)
        # Whoever waits, on either machine.
        waiting = {int(line.split()[1]) for line in run.summary["reason"].splitlines() if line.startswith("rank ")}
        self.assertTrue(waiting & {0, 1, 2, 3} and waiting & {4, 5, 6, 7}, waiting)
        # Of the two ends of a cable both have lost it.
        stall = run.summary["stall"]
        self.assertEqual(stall["class"], "lost_link", run.summary["reason"])
        self.assertEqual(stall["machine"], MACHINES[stall["culprit"] % 2], stall["text"])
        for told in ("port p0: ", "port p1: ", "machine '"):
            self.assertIn(told, run.summary["reason"] if told.startswith("port") else stall["text"])
        # One machine knows what is sent, the other what has arrived.
        self.assertRegex(stall["chain"][-1]["state"], "^source QP .* retries .*; destination QP .* expects psn ")

    def put_a_bridge_between(self):
        ip("-n", self.space, "link", "delete", "rw0")
        ip("-n", self.space, "link", "add", "br0", "mtu", str(LINK_MTU), "type", "bridge")
        for i in range(2):
            ip("-n", self.space, "link", "add", f"rw{i}", "index", str(FIRST_INDEX + i * INDEX_STEP), "mtu", str(LINK_MTU),
               "type", "veth", "peer", "name", f"br{i + 1}", "mtu", str(LINK_MTU))
            ip("-n", self.space, "link", "set", f"br{i + 1}", "master", "br0")
        for name in ("br0", "br1", "br2", "rw0", "rw1"):
            ip("-n", self.space, "link", "set", name, "addrgenmode", "none", "up")

    # A packet of rank 0 is more than the bridge lets pass from then on: rank 1 waits for it, for that 2 and for that 3. All
    # else passes.
    def test_who_does_not_answer_is_named_with_its_machine(self):
        nodes = [[], [], [], []]
        for source, size in enumerate((1000, 64, 64)):
            ends = {"comm_src": source, "comm_dst": source + 1, "comm_tag": source, "comm_size": size}
            for rank, kind, name in ((source, chakra.SEND, "send"), (source + 1, chakra.RECEIVE, "receive")):
                before = [node.id for node in nodes[rank]]
                nodes[rank].append(chakra.Node(len(before), f"{name} {source}", kind, before, attributes=ends))
        chakra.write_ranks(self.folder / "t", nodes)
        self.put_a_bridge_between()
        self.disturb(lambda _: ip("-n", self.space, "link", "set", "br2", "mtu", "600"), options=(), status=FAILED,
                     workload={"traces": str(self.folder / "t")}, hosts={"count": 4, "npus": 1},
                     transport={"mtu": "1024B", "timeout": 15}, run={"stall_timeout": "800ms"})
        summary, stall = self.stall("dead_peer", "b")
        self.assertEqual(summary["verdict"], "stalled", summary["reason"])
        self.assertEqual(stall["culprit"], 1, stall)
        self.assertEqual([(link["rank"], link["operation"]) for link in stall["chain"]],
                         [(3, "receive 2"), (2, "receive 1"), (1, "receive 0")])
        self.assertRegex(stall["chain"][-1]["state"], "^source QP .* waiting for ACK .*; destination QP .* expects psn ")

    # Shorter than a machine has to be silent for to have gone.
    def test_a_machine_that_stands_still_is_named(self):
        def stop(process):
            os.kill(process, signal.SIGSTOP)
            time.sleep(1.6)
            os.kill(process, signal.SIGCONT)

        self.disturb(stop, options=(), status=FAILED, transport={"mtu": "4096B", "timeout": 20},
                     run={"stall_timeout": "800ms"})
        summary, stall = self.stall("generator_starvation", "b")
        self.assertEqual((summary["verdict"], stall["culprit"]), ("stalled", None), summary["reason"])

    def test_one_dies(self):
        recorded, printed = self.disturb(lambda process: os.kill(process, signal.SIGKILL))
        self.assertTrue((self.folder / "run/summary.json").exists(), printed)
        run = Run(self.folder / "run")
        self.assertEqual(run.summary["verdict"], "failed", run.summary["reason"])
        self.assertIn("machine 'b' has gone", run.summary["reason"])
        self.assertEqual([machine["verdict"] for machine in run.summary["machines"]][1], "gone")
        _, stall = self.stall("gone_machine", "b")
        self.assertEqual(stall["culprit"] % 2, 1, "hosts, and with them machines, have ranks in turn")
        self.assertEqual(stall["chain"][-1]["peer"], stall["culprit"])
        with contextlib.closing(sqlite3.connect(run.folder / "run.sqlite")) as record:
            kept = record.execute("SELECT count(*) FROM operations WHERE run=1 AND rank % 2 = 1").fetchone()[0]
        self.assertGreaterEqual(kept, recorded)
        self.assertGreater(recorded, 0)

    def test_who_has_another_file_is_named(self):
        own = self.configuration(self.config(name="lab"))
        other = self.configuration(self.config(name="lab", switch={"latency": "21us"}), name="other.yaml")
        process = self.on_machines(own, other, status=USAGE)
        self.assertEqual(process.stderr.count("machine 'b' differs from 'a'"), 1, process.stderr)
        self.assertIn("switch.latency is \"21us\", not \"20us\"", process.stderr)
        self.assertEqual([str(path) for path in self.folder.glob("run/**")], [])

    # By CLOCK_REALTIME, which b is told 5 ms late; pings know that one is wrong, and by how much they may be.
    def test_a_clock_that_is_not_in_step_is_refused(self):
        if shutil.which("cc") is None:
            self.skipTest("takes a C compiler")
        library = self.folder / "late.so"
        subprocess.run(["cc", "-shared", "-fPIC", "-x", "c", "-", "-o", str(library), "-ldl"], input=LATE_CLOCK, text=True,
                       check=True)
        path = self.configuration(self.config(clock={"source": "realtime", "max_error": "100ms"}))
        process = self.on_machines(path, path, prefixes=((), ("env", f"LD_PRELOAD={library}")), status=FAILED)
        told = re.search(r"the clock of machine 'b' is (\S+) s ahead by clock.source \(CLOCK_REALTIME\), within \S+ us, "
                         r"but (\S+) s by pings, within (\S+) us", process.stderr)
        self.assertIsNotNone(told, process.stderr)
        by_source, by_pings = float(told[1]), float(told[2])
        # A source that is late has the machine's own clock seem ahead.
        self.assertAlmostEqual(by_source, 0.005, delta=0.001)
        self.assertLess(abs(by_pings), float(told[3]) / 1e6)
        self.assertEqual([str(path) for path in self.folder.glob("run/**")], [])

    def test_a_source_that_is_no_clock_is_refused(self):
        path = self.configuration(self.config(clock={"source": "/dev/null", "max_error": "100ms"}))
        line = next(number for number, text in enumerate(path.read_text().splitlines(), start=1) if "/dev/null" in text)
        for process in (self.on_machines(path, path, status=USAGE), rankwire("check", path, "--no-measure")):
            self.assertEqual(process.returncode, USAGE)
            self.assertIn(f"{path}:{line}: clock.source: ", process.stderr)
            self.assertIn("/dev/null is no clock", process.stderr)
        # Who has it not may check what others have.
        elsewhere = self.configuration(self.config(clock={"source": "/dev/ptp99"}))
        process = rankwire("check", elsewhere, "--no-measure")
        self.assertEqual(process.returncode, OK, process.stderr)
        self.assertIn("/dev/ptp99 cannot be opened", process.stderr)

    # By mpirun without --enable-recovery, which then stops the other one as well, too. Its part of the record goes when the
    # wires are done with, and then members of the ensemble are simulated for seconds.
    def test_one_dies_while_they_share_the_ensemble(self):
        path = self.configuration(self.config(simulation={"ensemble": MANY_MEMBERS}))
        command = self.command((path, path), options=["--mca", "odls_base_sigkill_timeout", "10"])
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            part = self.folder / "run/machines/b"
            own = {str(path).encode(), b"--machine", b"b"}
            for there in (True, False):
                deadline = time.monotonic() + 60
                while part.exists() != there and process.poll() is None and time.monotonic() < deadline:
                    time.sleep(0.02)
            (disturbed,) = [number for number, words in command_lines().items()
                            if own <= set(words) and words[0].endswith(b"rankwire")]
            os.kill(disturbed, signal.SIGKILL)
            _, errors = process.communicate(timeout=60)
        run = Run(self.folder / "run")
        self.assertIn(run.summary["verdict"], ("ok", "degraded"), run.summary["reason"] + errors)
        self.assertEqual([machine["verdict"] for machine in run.summary["machines"]], ["ok"] * 2)
        self.assertIn("machine 'b' has gone while models and the ensemble were simulated", " ".join(run.summary["warnings"]))
        self.assertGreater(run.summary["reference"]["band"]["runs"], 1)

    # Each member is seeded by its number.
    def test_processes_share_the_members_of_an_ensemble(self):
        path = self.configuration(self.config(on=False, simulation={"ensemble": 6}))
        summaries = []
        for name, start, together in (("one", [], []), ("three", [*MPIRUN, "-n", "3"], ["--together"])):
            command = [*start, str(BINARY), "simulate", str(path), "--quiet", "--out", str(self.folder / name), *together]
            process = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
            self.assertEqual(process.returncode, OK, process.stdout + process.stderr)
            summaries.append(Run(self.folder / name).summary)
        self.assertEqual(summaries[0]["reference"]["band"]["runs"], 6)
        self.assertEqual(*summaries)

    def test_all_ports_on_one_machine_take_one_process(self):
        config = self.config()
        for port in config["ports"]:
            port["on"] = "a"
        process = self.on_machines(self.configuration(config))
        self.assertEqual(Run(self.folder / "run").summary["machines"], [], process.stderr)
        self.assert_delivered(Run(self.folder / "run"))

    def test_without_the_others_it_says_how_to_start_them(self):
        process = rankwire("run", self.configuration(self.config()))
        self.assertEqual(process.returncode, USAGE)
        self.assertIn("mpirun -n 2", process.stderr)
        self.assertIn("srun --mpi=pmix -n 2", process.stderr)

    # Open MPI without PMI-2 ends what joins after `srun --mpi=pmi2`, as it takes this for.
    def test_one_task_of_srun_is_not_to_join(self):
        srun = ["env", "SLURM_JOBID=1", "SLURM_JOB_ID=1", "SLURM_NODELIST=a", "SLURM_NTASKS=1", "SLURM_PROCID=0",
                "SLURM_STEPID=0", "SLURM_STEP_ID=0", "PMI_RANK=0", "PMI_SIZE=1", "PMI_FD=11"]
        process = rankwire("run", self.configuration(self.config()), prefix=srun)
        self.assertEqual(process.returncode, USAGE, process.stderr)
        self.assertIn("ports: are on 2 machines (a, b)", process.stderr)


class SeveralWorkers(MachinesTest):
    """Two workers on each, with a port each: all ports are on one bridge."""

    PORTS = 4

    def build(self):
        ip("-n", self.space, "link", "add", "br0", "mtu", str(LINK_MTU), "type", "bridge")
        for port in range(self.PORTS):
            ip("-n", self.space, "link", "add", f"rw{port}", "index", str(FIRST_INDEX + port * INDEX_STEP), "mtu",
               str(LINK_MTU), "type", "veth", "peer", "name", f"dut{port}", "mtu", str(LINK_MTU))
            ip("-n", self.space, "link", "set", f"dut{port}", "addrgenmode", "none", "master", "br0", "up")
            ip("-n", self.space, "link", "set", f"rw{port}", "addrgenmode", "none", "up")
        ip("-n", self.space, "link", "set", "br0", "addrgenmode", "none", "up")

    def config(self, on=True, **changes):
        return super().config(on, **({"workers": {"count": 2}} if on else {}), **changes)

    def test_each_has_its_workers(self):
        path = self.configuration(self.config())
        self.on_machines(path, path)
        run = Run(self.folder / "run")
        self.assert_as_alone(run)
        # Worker 0 and 1 of a, then those of b.
        self.assertEqual(len(run.summary["generator"]["core_busy"]), 4)
        self.assertEqual([(row["name"], row["worker"]) for row in run.rows("ports", fidelity="emulated")],
                         [(f"p{i}", str(i)) for i in range(4)])

    def test_one_dies(self):
        _, printed = self.disturb(lambda process: os.kill(process, signal.SIGKILL))
        run = Run(self.folder / "run")
        self.assertEqual(run.summary["verdict"], "failed", printed)
        self.assertIn("machine 'b' has gone", run.summary["reason"])

    def test_one_is_interrupted(self):
        _, printed = self.disturb(lambda process: os.kill(process, signal.SIGINT))
        self.assertIn("interrupted: on machine 'b': stopped by a signal", printed)
        run = Run(self.folder / "run")
        self.assertEqual([machine["verdict"] for machine in run.summary["machines"]], ["interrupted"] * 2)

    def test_check_says_what_each_has(self):
        path = self.configuration(self.config())
        process = rankwire("check", path, "--no-measure", "--json")
        self.assertEqual(process.returncode, OK, process.stderr)
        checked = json.loads(process.stdout)
        self.assertEqual(checked["workers"], [])
        self.assertEqual([[worker["ports"] for worker in machine["workers"]] for machine in checked["machines"]],
                         [[["p0"], ["p1"]], [["p2"], ["p3"]]])
        # What one takes rather than all: the emulated run without the ports of the other.
        memory = checked["memory"]
        self.assertIn(memory["machine"], MACHINES)
        process = rankwire("check", self.configuration(self.config(on=False), name="alone.yaml"), "--no-measure", "--json")
        alone = json.loads(process.stdout)["memory"]
        self.assertEqual((memory["runs"][0]["run"], alone["machine"]), ("emulated", None))
        self.assertLess(memory["runs"][0]["frames_bytes"], 0.75 * alone["runs"][0]["frames_bytes"])
        process = rankwire("check", path, "--no-measure", "--set", "workers.count=3")
        self.assertEqual(process.returncode, USAGE)
        self.assertIn("workers.count: 1 more than ports of machine 'a' can be shared by", process.stderr)


if __name__ == "__main__":
    unittest.main()

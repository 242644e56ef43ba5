"""A run over four machines, each a network namespace of a name and a port of its own: packets cross one bridge, and MPI
another."""

import contextlib
import os
import pathlib
import shutil
import signal
import sqlite3
import statistics
import subprocess
import time
import unittest

from bridge import ip
from hosts import MPIRUN, command_lines, with_clock_ahead, with_mpi
from rankwire import BINARY, RankwireTest, Run, recorded_operations, transformer

MACHINES = ("a", "b", "c", "d")
LINK_MTU = 4200
# Where MPI is, as numbers of 198.18.77.0/24.
NETWORK, LAUNCHER = "198.18.77", 254
# Enough for the other machines to have heard of each other, at 100 iterations a second and more.
SOME = 100

# What mpirun calls instead of ssh: HOST COMMAND.
AGENT = """#!/bin/sh
host=$1
shift
exec ip netns exec "{space}$host" unshare --uts sh -c "hostname $host; $*"
"""


class FourHosts(RankwireTest):
    def setUp(self):
        super().setUp()
        missing = [tool for tool in ("ip", "mpirun", "unshare") if shutil.which(tool) is None]
        if os.geteuid() != 0 or missing:
            self.skipTest(f"takes root, ip, mpirun and unshare; missing: {missing}")
        if not with_mpi():
            self.skipTest("this rankwire was built without MPI")
        self.space = f"rwfour{os.getpid()}"
        self.agent = self.folder / "agent"
        self.agent.write_text(AGENT.format(space=self.space), encoding="ascii")
        self.agent.chmod(0o755)
        try:
            self.build()
        except subprocess.CalledProcessError as error:
            self.skipTest(f"{' '.join(error.cmd)}: {error.stderr.strip()}")

    def add_space(self, space):
        ip("netns", "add", space)
        # The interfaces go with their namespace.
        self.addCleanup(subprocess.run, ["ip", "netns", "delete", space], capture_output=True, check=False)
        ip("-n", space, "link", "set", "lo", "up")

    def build(self):
        self.add_space(self.space)
        for bridge in ("data", "control"):
            ip("-n", self.space, "link", "add", bridge, "mtu", str(LINK_MTU), "type", "bridge")
            ip("-n", self.space, "link", "set", bridge, "up")
        ip("-n", self.space, "address", "add", f"{NETWORK}.{LAUNCHER}/24", "dev", "control")
        for number, machine in enumerate(MACHINES, start=1):
            space = self.space + machine
            self.add_space(space)
            # The last machine but one has two ports.
            links = [("eth0", "control"), ("rw0", "data")] + [("rw1", "data")] * (machine == "c")
            for near, bridge in links:
                far = f"{near}{machine}"
                mtu = ["mtu", str(LINK_MTU)] if bridge == "data" else []
                ip("-n", space, "link", "add", near, *mtu, "type", "veth", "peer", "name", far, *mtu, "netns",
                   self.space)
                ip("-n", self.space, "link", "set", far, "master", bridge, "addrgenmode", "none", "up")
                ip("-n", space, "link", "set", near, "addrgenmode", "none", "up")
            ip("-n", space, "address", "add", f"{NETWORK}.{number}/24", "dev", "eth0")

    def config(self, ports, iterations=3):
        """A job of 8 ranks on four emulated hosts, behind `ports`: pairs of a machine and its interface."""
        return {
            "workload": {"generate": transformer(), "iterations": iterations},
            "hosts": {"count": 4, "npus": 2, "nics": 1},
            "ports": [{"name": f"{machine}-{interface}", "on": machine, "rate": "500Mbps",
                       "device": f"net_af_packet{interface[-1]},iface={interface}"} for machine, interface in ports],
            "switch": {"latency": "20us"},
            "transport": {"mtu": "4096B", "checking": True},
            "record": {"messages": "all"},
            "dpdk": {"memory": "128MiB", "eal_arguments": ["--no-pci"]},
            "clock": {"max_error": "100ms"},  # of a machine whose cores others use, too
            "run": {"deadline": "60s"},
        }

    def command(self, machines, path, prefixes=None, options=()):
        """What starts a process on each, which finds out its name for itself."""
        words = ["ip", "netns", "exec", self.space, *MPIRUN, "--mca", "plm_rsh_agent", str(self.agent),
                 "--mca", "btl", "self,tcp", "--mca", "btl_tcp_if_include", f"{NETWORK}.0/24",
                 "--mca", "oob_tcp_if_include", f"{NETWORK}.0/24", *options]
        for machine in machines:
            words += ["--host", machine, "-n", "1", *(prefixes or {}).get(machine, ()), str(BINARY), "run", str(path),
                      "--quiet", "--out", str(self.folder / "run"), ":"]
        return words[:-1]

    def process_of(self, machine, path):
        space = os.stat(f"/run/netns/{self.space}{machine}").st_ino
        (process,) = [number for number, words in command_lines().items()
                      if words[0].endswith(b"rankwire") and str(path).encode() in words and
                      os.stat(f"/proc/{number}/ns/net").st_ino == space]
        return process

    def assert_messages_arrive_after_they_were_sent(self, run, on):
        """`on`: by rank its machine. Most of them: where processes wait for a core, frames that arrive while one waits have
        the time at which it began to."""
        with contextlib.closing(sqlite3.connect(run.folder / "run.sqlite")) as record:
            rows = record.execute("SELECT source, destination, delivered_ps - posted_ps FROM messages WHERE run=1").fetchall()
        took = {}
        for source, destination, time_ps in rows:
            if on[source] != on[destination]:
                took.setdefault((on[source], on[destination]), []).append(time_ps)
        self.assertEqual({machine for pair in took for machine in pair}, set(on))
        for pair, times in took.items():
            self.assertGreater(statistics.median(times), 0, pair)

    # CLOCK_REALTIME is in step on all of them, and within pings' bounds, or nothing would be run.
    # What is 50 ms ahead and is not seen to be has its messages arrive 50 ms late, and the others' before they left.
    def test_one_has_a_clock_that_is_50_ms_ahead(self):
        config = self.config([(machine, "rw0") for machine in MACHINES])
        config["clock"]["source"] = "realtime"
        path = self.configuration(config)
        command = self.command(MACHINES, path, prefixes={"c": with_clock_ahead(50 * 10**6)})
        process = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
        self.assertEqual(process.returncode, 0, process.stdout + process.stderr)
        run = Run(self.folder / "run")
        self.assert_delivered(run)
        # All parts were given to the leader, which took them together and then away.
        self.assertFalse((run.folder / "machines").exists())
        self.assertEqual([machine["machine"] for machine in run.summary["machines"]], list(MACHINES))
        self.assertEqual({machine["verdict"] for machine in run.summary["machines"]}, {"ok"})
        self.assertEqual(run.summary["record"]["messages_unjoined"], 0)
        self.assertEqual(len(run.rows("ports", fidelity="emulated")), len(MACHINES))
        self.assert_messages_arrive_after_they_were_sent(run, [MACHINES[rank // 2] for rank in range(8)])
        # The machines have shared the members of its ensemble.
        alone = self.call("simulate", config, out="alone")
        self.assertGreater(run.summary["reference"]["band"]["runs"], 1)
        self.assertEqual(run.summary["reference"]["band"]["median_ps"], alone.summary["reference"]["band"]["median_ps"])

    def disturb(self, machines, ports, disturb):
        """Begins a run that would take long, and calls `disturb` with machine c's process once that has recorded something.
        How many operations it had recorded by then, and what was printed."""
        path = self.configuration(self.config(ports, iterations=10_000))
        # Whoever is left outlives who has died; mpirun then returns 0.
        command = self.command(machines, path, options=["--enable-recovery"])
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
            deadline = time.monotonic() + 60
            recorded = 0
            while recorded < SOME and process.poll() is None and time.monotonic() < deadline:
                time.sleep(0.05)
                recorded = recorded_operations(self.folder / "run/machines/c")
            disturb(self.process_of("c", path))
            output, _ = process.communicate(timeout=60)
        self.assertTrue((self.folder / "run/summary.json").exists(), output)
        return recorded, output

    def assert_failed_without(self, machines, gone, ranks, recorded, printed):
        """All machines but that one say that the run has failed, and what that one had recorded of its ranks is kept."""
        run = Run(self.folder / "run")
        self.assertEqual(run.summary["verdict"], "failed", printed)
        self.assertIn(f"machine '{gone}' has gone", run.summary["reason"])
        self.assertEqual({machine["machine"]: machine["verdict"] for machine in run.summary["machines"]},
                         {machine: "gone" if machine == gone else "failed" for machine in machines})
        with contextlib.closing(sqlite3.connect(run.folder / "run.sqlite")) as record:
            kept = record.execute("SELECT count(*) FROM operations WHERE run=1 AND rank BETWEEN ? AND ?",
                                  (ranks[0], ranks[-1])).fetchone()[0]
        self.assertGreaterEqual(kept, recorded)
        self.assertGreater(recorded, 0)

    # The last of them has two ports, with half of the ranks.
    def test_one_of_three_dies(self):
        ports = [("a", "rw0"), ("b", "rw0"), ("c", "rw0"), ("c", "rw1")]
        kept = self.disturb("abc", ports, lambda process: os.kill(process, signal.SIGKILL))
        self.assert_failed_without("abc", "c", range(4, 8), *kept)

    # Packets go on between all of them. Each side of the cut hears nothing of the other, and mpirun not that c has ended,
    # until the cut is mended.
    def test_one_of_four_is_cut_off(self):
        far = ("-n", self.space, "link", "set", "eth0c")

        def cut_off(process):
            ip(*far, "down")
            deadline = time.monotonic() + 60
            while pathlib.Path(f"/proc/{process}").exists() and time.monotonic() < deadline:
                time.sleep(0.05)
            ip(*far, "up")

        _, printed = kept = self.disturb(MACHINES, [(machine, "rw0") for machine in MACHINES], cut_off)
        self.assert_failed_without(MACHINES, "c", range(4, 6), *kept)
        self.assertIn("machine 'a' has gone", printed)


if __name__ == "__main__":
    unittest.main()

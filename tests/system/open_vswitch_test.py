"""A device under test that is not ours and forwards in user space: Open vSwitch with its DPDK datapath.

Its ports are vhost-user clients, ours virtio-user servers; both share the memory in which the frames lie, which takes
hugepages. The daemons run on sockets in the test's folder, beside any that the machine may run.
"""

import os
import pathlib
import re
import shutil
import signal
import subprocess
import time
import unittest

from bmwg_device import BmwgDevice, tests
from huge_pages import take_huge_pages
from rankwire import RankwireTest, transformer

PORTS = 4
RANKS_A_PORT = 4
# Of 2 MiB: 512 MiB for each side, what the sockets' memory is rounded up by, and as much for tests at the same time.
HUGE_PAGES = 700 + 2 * 256
SWITCH = pathlib.Path("/usr/lib/openvswitch-switch-dpdk/ovs-vswitchd-dpdk")
SCHEMA = "/usr/share/openvswitch/vswitch.ovsschema"
LINK_MTU = 4200  # 4096 B of payload, 62 B of headers, ICRC
RATE = 1_000_000_000


# The switch tells what it has sent on a port only while somebody is connected there, so that no benchmark asks for it.
class OpenVirtualSwitch(BmwgDevice, RankwireTest):
    def setUp(self):
        super().setUp()
        if os.geteuid() != 0 or not SWITCH.exists():
            self.skipTest("takes root and Open vSwitch with DPDK (package openvswitch-switch-dpdk)")
        if len(os.sched_getaffinity(0)) < 2:
            self.skipTest("the switch polls on a core of its own, and there is one only")
        take_huge_pages(self, HUGE_PAGES)
        self.environment = os.environ | dict.fromkeys(
            ("OVS_RUNDIR", "OVS_LOGDIR", "OVS_DBDIR", "OVS_SYSCONFDIR"), str(self.folder)
        )
        self.start_switch()

    def daemon(self, name, *command):
        pid_file = self.folder / f"{name}.pid"
        self.tool(
            *command,
            f"--pidfile={pid_file}",
            "--detach",
            f"--log-file={self.folder}/{name}.log",
            f"--unixctl={self.folder}/{name}.ctl",
        )
        self.addCleanup(self.end, int(pid_file.read_text(encoding="ascii")))

    def end(self, process):
        """Ends a daemon that this test started, and waits until its hugepages are free again."""
        try:
            os.kill(process, signal.SIGTERM)
            for _ in range(100):
                os.kill(process, 0)
                time.sleep(0.1)
            os.kill(process, signal.SIGKILL)
        except ProcessLookupError:
            pass

    def tool(self, *command):
        process = subprocess.run(
            [*map(str, command)], env=self.environment, capture_output=True, text=True, check=False, timeout=60
        )
        self.assertEqual(process.returncode, 0, f"{command}: {process.stdout}{process.stderr}")
        return process.stdout

    def start_switch(self):
        database = f"unix:{self.folder}/db.sock"
        self.tool("ovsdb-tool", "create", self.folder / "conf.db", SCHEMA)
        self.daemon("ovsdb", "ovsdb-server", self.folder / "conf.db", f"--remote=p{database}")
        first, second = sorted(os.sched_getaffinity(0))[:2]
        dpdk = {
            "dpdk-init": "true",
            "dpdk-extra": '"--no-pci --in-memory --single-file-segments"',
            "dpdk-socket-mem": "512",
            # A pool for all ports would be one of 262,144 frames. The switch tries that when the first of them connects,
            # and until it fails nothing is left for the connections of the others.
            "per-port-memory": "true",
            "dpdk-lcore-mask": hex(1 << first),
            "pmd-cpu-mask": hex(1 << second),
        }
        settings = [f"other_config:{key}={value}" for key, value in dpdk.items()]
        vsctl = ["ovs-vsctl", f"--db={database}", "--timeout=50"]
        self.tool(*vsctl, "--no-wait", "init")
        self.tool(*vsctl, "--no-wait", "set", "Open_vSwitch", ".", *settings)
        self.daemon("vswitchd", SWITCH, database)
        self.tool(*vsctl, "add-br", "br0", "--", "set", "bridge", "br0", "datapath_type=netdev")
        for port in range(PORTS):
            path = f"options:vhost-server-path={self.folder}/rw{port}.sock"
            interface = ["set", "Interface", f"dut{port}", "type=dpdkvhostuserclient", path, f"mtu_request={LINK_MTU}"]
            self.tool(*vsctl, "add-port", "br0", f"dut{port}", "--", *interface)

    def frames_forwarded(self):
        """Frames that the switch has looked up a way for."""
        text = self.tool("ovs-appctl", "-t", self.folder / "vswitchd.ctl", "dpctl/show")
        hit, missed, lost = map(int, re.search(r"hit:(\d+) missed:(\d+) lost:(\d+)", text).groups())
        self.assertEqual(lost, 0)
        return hit + missed

    def call_connected(self, verb, config):
        """A failure shows what the switch has logged."""
        try:
            return self.call(verb, config)
        except AssertionError as error:
            log = (self.folder / "vswitchd.log").read_text(encoding="utf-8").splitlines()
            self.fail("\n".join([str(error), "The switch:", *log[-60:]]))

    def base(self):
        """The switch as the device under test of a configuration."""
        device = "net_virtio_user{0},path={1}/rw{0}.sock,server=1,queue_size=1024"
        return {
            "hosts": {"count": PORTS, "npus": RANKS_A_PORT, "nics": 1},
            "ports": [
                {"name": f"p{port}", "device": device.format(port, self.folder), "rate": f"{RATE}bps"}
                for port in range(PORTS)
            ],
            "switch": {"latency": "20us"},
            # On a busy machine the switch may stand still for a second, and look at a new port after many.
            "transport": {"checking": True, "timeout": 17, "resolve_deadline": "30s"},
        }

    def run_over_switch(self, mtu):
        config = self.base() | {
            "workload": {"generate": transformer(data_parallel=4, micro_batches=2)},
            "run": {"deadline": "120s", "stall_timeout": "30s"},
            "dut": {"vendor": "Open vSwitch", "model": "netdev datapath over vhost-user"},
        }
        config["transport"]["mtu"] = f"{mtu}B"
        before = self.frames_forwarded()
        run = self.call_connected("run", config)
        self.assert_delivered(run)
        summary = run.summary
        self.assertEqual(summary["ranks"], PORTS * RANKS_A_PORT)
        ports = run.rows("ports", fidelity="emulated")
        sent = sum(int(row["tx_frames"]) for row in ports)
        received = sum(int(row["rx_frames"]) for row in ports)
        forwarded = self.frames_forwarded() - before
        # Announcements go to every other port; the switch adds nothing and loses nothing that was acknowledged.
        self.assertGreaterEqual(forwarded, received // PORTS)
        self.assertLessEqual(forwarded, sent)
        self.assertGreaterEqual(forwarded, sent - run.transport["retransmitted"] - run.transport["naks_tx"] - 100)
        seconds = summary["emulated"]["completion_time_ps"] / 1e12
        print(
            f"Open vSwitch, MTU {mtu}: {PORTS * RANKS_A_PORT} ranks, {summary['messages']} messages, "
            f"{summary['bytes_wire']} B on the wire, {forwarded} frames forwarded, {forwarded / seconds / 1e6:.3f} M/s, "
            f"{run.transport['retransmitted']} sent again, ratio {summary['ratio']:.3f}, {summary['fidelity']}",
            flush=True,
        )
        html = (run.folder / "report.html").read_text(encoding="utf-8")
        self.assertIn("netdev datapath over vhost-user", html)

    def test_runs_and_benchmarks(self):
        """One switch carries all of them, whose processes come and go: to set it up takes longer than they do."""
        for mtu in (1024, 4096):
            with self.subTest(mtu=mtu):
                self.run_over_switch(mtu)
        cases = self.benchmark("Open vSwitch", self.base(), tests("T6.jct"))
        if "T6.jct" in cases:
            self.assert_jct(cases["T6.jct"], RATE)


if __name__ == "__main__":
    unittest.main()

"""A device under test that is not ours: a Linux bridge between four kernel interfaces, reached over net_af_packet."""

import json
import shutil
import time
import unittest

from bridge import BridgeTest, command, ip
from rankwire import BINARY, FAILED, SOURCE, USAGE, Run, rankwire, start, transformer

PORTS = BridgeTest.PORTS


class Bridge(BridgeTest):
    def frames_from_us(self):
        """Frames that the bridge's ports have received, by port, as the kernel counts them."""
        links = json.loads(ip("-n", self.far, "-s", "-j", "link"))
        received = {link["ifname"]: link["stats64"]["rx"]["packets"] for link in links}
        return [received[f"dut{port}"] for port in range(PORTS)]

    def configuration_of(self, mtu, device="net_af_packet{0},iface=rw{0}"):
        return {
            "workload": {"generate": transformer()},
            "hosts": {"count": PORTS, "npus": 2, "nics": 1},
            "ports": [{"name": f"p{port}", "device": device.format(port), "rate": "500Mbps"} for port in range(PORTS)],
            "switch": {"latency": "20us"},
            "transport": {"mtu": f"{mtu}B", "checking": True},
            "dpdk": {"eal_arguments": ["--no-pci"]},
            "run": {"deadline": "120s"},
        }

    def run_over_bridge(self, config, mtu):
        """Returns the run."""
        before = self.frames_from_us()
        run = self.call("run", config, prefix=self.inside())
        self.assert_delivered(run)
        self.assertGreater(run.summary["bytes_wire"], 10_000_000)
        ports = sorted(run.rows("ports", fidelity="emulated"), key=lambda row: int(row["port"]))
        self.assertEqual([int(row["port"]) for row in ports], list(range(PORTS)))
        counted = [after - earlier for after, earlier in zip(self.frames_from_us(), before)]
        for row, crossed in zip(ports, counted):
            # The kernel may add frames of its own (multicast listener reports) but lose none of ours.
            self.assertGreaterEqual(crossed, int(row["tx_frames"]))
            self.assertLess(crossed, int(row["tx_frames"]) + 100)
        # A packet holds at most one MTU.
        self.assertGreaterEqual(sum(counted), run.summary["bytes_wire"] // mtu)
        return run

    def test_mtu_1024(self):
        record = {"capture": "1MiB", "fabric_interval": "1ms"}
        run = self.run_over_bridge(self.configuration_of(1024) | {"record": record}, 1024)
        for key in record:
            (warning,) = [warning for warning in run.summary["warnings"] if f"record.{key}" in warning]
            self.assertIn("embedded switch", warning)

    def test_mtu_4096_and_two_workers(self):
        run = self.run_over_bridge(self.configuration_of(4096) | {"workers": {"count": 2}}, 4096)
        self.assertEqual([row["worker"] for row in run.rows("ports", fidelity="emulated")], ["0", "0", "1", "1"])

    def test_ports_of_four_times_the_rate_in_stretched_time(self):
        config = self.configuration_of(1024)
        for port in config["ports"]:
            port["rate"] = "2Gbps"
        run = self.run_over_bridge(config | {"dilation": {"factor": 4}}, 1024)
        self.assertEqual([entry["model"] for entry in run.summary["dilation"]["predictions"]], ["flow"])
        # The bridge's latency, 20 us to the job if it could be stretched, is 5.
        self.assertGreater(run.summary["dilation"]["predictions"][0]["difference"], 0)

    def sweep(self, *axes):
        """The points of a sweep over the bridge, and the packet sockets, by inode, that it had at one time or another."""
        config = self.configuration_of(1024) | {"workload": {"generate": {"kind": "collective", "collective": {
            "operation": "all_reduce", "ranks": PORTS, "min": "64KiB", "max": "64KiB", "iterations": 2, "warmup": 1}}}}
        config["hosts"]["npus"] = 1
        del config["dpdk"]  # whose arguments might leave no memory for the frames of larger windows
        sockets = set()
        with start("run", self.configuration(config), *(word for axis in axes for word in ("--sweep", axis)), "--json",
                   "--out", self.folder / "sweep", "--force", prefix=self.inside()) as process:  # fmt: skip
            while process.poll() is None:
                open_now = command("ip", "netns", "exec", self.near, "cat", "/proc/net/packet").splitlines()[1:]
                # Those that are bound to an interface: the driver has others while it opens one.
                sockets.update(fields[-1] for fields in map(str.split, open_now) if fields[4] != "0")
                time.sleep(0.02)
            output, errors = process.communicate()
        self.assertTrue(output, errors)
        return json.loads(output)["points"], sockets

    def test_a_sweep_has_its_devices_open_once(self):
        points, sockets = self.sweep("transport.window=16,4", "transport.congestion_control.algorithm=none,dcqcn")
        self.assertEqual([point["verdict"] for point in points], ["ok"] * 4)
        self.assertEqual(len(sockets), PORTS)
        for point in points:  # each counts its own frames
            ports = Run(self.folder / "sweep" / point["folder"]).rows("ports", fidelity="emulated")
            self.assertLess(max(int(row["tx_frames"]) for row in ports), 2000)

    def test_a_sweep_opens_anew_what_a_point_changes(self):
        points, sockets = self.sweep("transport.mtu=1024B,4096B")
        self.assertEqual([point["verdict"] for point in points], ["ok", "ok"])
        self.assertEqual(len(sockets), 2 * PORTS)
        # The second cannot be had, and its neighbours run.
        points, _ = self.sweep("ports[0].pfc=software,hardware,off")
        self.assertEqual([point["verdict"] for point in points], ["ok", "failed", "ok"])
        self.assertIn("'hardware' is not possible on port 'p0'", points[1]["reason"])

    def test_devices_stay_open_for_each_repetition(self):
        config = self.configuration_of(1024)
        config["ports"][0]["queues"] = 2
        run = self.call("run", config, "--set", "run.repeat=3", prefix=self.inside())
        self.assert_delivered(run)
        # The kernel chooses by which queue a frame comes, and the queue pairs take turns to send.
        queues = [row for row in run.rows("ports", fidelity="emulated") if row["port"] == "0"]
        self.assertEqual({row["name"] for row in queues}, {"p0", "p0 queue 1"})
        self.assertTrue(all(int(row["tx_frames"]) > 0 for row in queues), queues)
        self.assertEqual([entry["verdict"] for entry in run.summary["repetitions"]["runs"]], ["ok"] * 3)

    def test_configuration_for_af_packet(self):
        self.run_over_bridge(SOURCE / "configs/af_packet.yaml", 1024)

    def test_without_root(self):
        self.folder.chmod(0o777)
        config = self.configuration_of(1024)
        binary = shutil.copy(BINARY, self.folder)  # where anybody may enter

        def nobody(*capabilities):
            granted = ",".join(["-all", *(f"+{name}" for name in capabilities)])
            return [*self.inside(), "setpriv", "--reuid", "65534", "--clear-groups", "--bounding-set", granted,
                    "--inh-caps", granted, "--ambient-caps", granted]  # fmt: skip

        run = self.call("run", config, prefix=nobody("net_raw", "net_admin", "ipc_lock"), binary=binary)
        self.assert_delivered(run)
        for status, missing, rest in ((USAGE, "CAP_NET_RAW", ("net_admin", "ipc_lock")),
                                      (USAGE, "CAP_IPC_LOCK", ("net_raw", "net_admin")),
                                      (FAILED, "CAP_NET_ADMIN", ("net_raw", "ipc_lock"))):  # fmt: skip
            with self.subTest(missing=missing):
                arguments = ["run", self.configuration(config), "--out", self.folder / missing]
                process = rankwire(*arguments, prefix=nobody(*rest), binary=binary)
                self.assert_one_line_error(process, status, missing)

    def test_frames_that_the_rings_cannot_hold(self):
        path = self.configuration(self.configuration_of(4096, "net_af_packet{0},iface=rw{0},framesz=2048"))
        arguments = ["run", path, "--out", self.folder / "run"]
        process = rankwire(*arguments, prefix=self.inside())
        self.assert_one_line_error(process, USAGE, "net_af_packet0", "framesz")

    def test_interface_that_carries_too_little(self):
        ip("-n", self.near, "link", "set", "rw2", "mtu", "1500")
        path = self.configuration(self.configuration_of(4096))
        process = rankwire("run", path, "--out", self.folder / "run", prefix=self.inside())
        self.assert_one_line_error(process, USAGE, "rw2", "1500")


if __name__ == "__main__":
    unittest.main()

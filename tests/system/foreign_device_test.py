"""A device under test that is not ours: a Linux bridge between four kernel interfaces, reached over net_af_packet."""

import json
import shutil
import unittest

from bridge import BridgeTest, ip
from rankwire import BINARY, FAILED, SOURCE, USAGE, rankwire, transformer

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

    def test_devices_are_opened_anew_for_each_repetition(self):
        run = self.call("run", self.configuration_of(1024), "--set", "run.repeat=3", prefix=self.inside())
        self.assert_delivered(run)
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

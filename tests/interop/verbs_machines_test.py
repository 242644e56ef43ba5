"""A run over two machines whose ports are RDMA devices: processes that mpirun starts in a guest, each with a soft-RoCE
device of its own, or with a DPDK port that answers such a device."""

import json
import unittest

from back_to_back import ADDRESSES, DEVICES, BackToBackTest
from rankwire_guest import BUILD, LINK_MTU, RUN_DEADLINE, GuestTest, chakra, collectives, rankwire

MACHINES = ("a", "b")
MPIRUN = ("mpirun --allow-run-as-root --bind-to none --oversubscribe --mca plm isolated --mca pml ob1 "
          "--mca btl self,vader --mca oob_tcp_if_include lo")  # fmt: skip
RANKS = 4
# net_af_packet joins a fanout group of its process's and its interface's number, which must not be another process's.
INDICES = {"w0": 8192, "x0": 12288}
# Packets that a device has sent when its process is killed.
UNDER_WAY = 200


class MachinesTest(GuestTest):
    @classmethod
    def setUpClass(cls):
        if b"MPI_Init_thread" not in (BUILD / "rankwire").read_bytes():
            raise unittest.SkipTest("this rankwire was built without MPI")
        super().setUpClass()
        if cls.guest.run("which mpirun")[0] != 0:
            raise unittest.SkipTest("no mpirun (package openmpi-bin)")

    def config(self, workload, ports, **transport):
        """`ports`: of each machine. The first half of the ranks is on the first."""
        named = [{"name": f"{machine}{i}", "rate": "500Mbps", "on": machine} | port
                 for machine, own in zip(MACHINES, ports) for i, port in enumerate(own)]  # fmt: skip
        return {
            "workload": workload.section,
            "hosts": {"count": RANKS, "npus": 1},
            "mapping": {"policy": "block"},
            "addresses": {"ip": "10.9.0.101/24"},
            "ports": named,
            "transport": {"checking": True, "timeout": 18} | transport,
            "dpdk": {"memory": "128MiB", "eal_arguments": ["--no-pci"]},
            "clock": {"max_error": "100ms"},
            "run": {"deadline": "60s", "stall_timeout": "20s"},
        }

    def processes(self, config, options=""):
        """The command that starts one for each machine, and the name of the run folder, below /run."""
        self.guest.runs += 1
        name = f"machines{self.guest.runs}"
        (self.guest.share / f"{name}.yaml").write_text(json.dumps(config, indent=1), encoding="utf-8")
        each = (f"-n 1 rankwire run /share/{name}.yaml --quiet --machine {machine} --out /run/{name}"
                for machine in MACHINES)  # fmt: skip
        return f"{MPIRUN} {options} {' : '.join(each)}", name

    def on_machines(self, config, status=rankwire.OK):
        command, name = self.processes(config)
        code, output = self.guest.run(command, RUN_DEADLINE)
        run = self.guest.fetched(name)
        self.assertEqual(code, status, output)
        return run, output

    def check_whole(self, run, workload):
        """All that was sent has arrived, and the record has both ends of all that was on wires."""
        self.assert_delivered(run)
        self.assertEqual([(m["machine"], m["verdict"]) for m in run.summary["machines"]], [(m, "ok") for m in MACHINES])
        self.assertEqual(run.summary["bytes"], workload.bytes)
        self.assertEqual(run.transport["messages_sent"], run.summary["messages"])
        flows = run.rows("flows", fidelity="emulated", path="wire")
        self.assertEqual(sum(int(row["bytes"]) for row in flows), run.summary["bytes_wire"])
        self.assertTrue(all(int(row["source_qp"]) and int(row["destination_qp"]) for row in flows))


class RdmaMachines(MachinesTest, BackToBackTest):
    PORTS = ([{"verbs": "rxe2"}], [{"verbs": "netdev eth3"}])

    @classmethod
    def make_network(cls, guest):
        super().make_network(guest)
        cls.all_reduce = collectives(guest, "reduced", (chakra.ALL_REDUCE, 1 << 18), (chakra.ALL_REDUCE, 12_347),
                                     ranks=RANKS)  # fmt: skip

    def test_as_on_one_machine(self):
        config = self.config(self.all_reduce, self.PORTS, queue_pairs=2)
        sent = [self.guest.hardware_counter(device, "sent_pkts") for device in DEVICES.values()]
        with self.routed():
            # It is what the narrower of two devices carries, each of which is known to its machine alone.
            self.guest.do("ip link set eth3 mtu 1500")
            run, _ = self.on_machines(config)
            self.guest.do(f"ip link set eth3 mtu {LINK_MTU}")
            one = [{key: value for key, value in port.items() if key != "on"} for port in config["ports"]]
            alone = self.run_in_guest(config | {"ports": one}, "--set transport.mtu=1024B")
        self.check_whole(run, self.all_reduce)
        self.assertEqual(run.summary["config"]["transport"]["mtu"], "1024B")
        for count in ("messages", "bytes", "bytes_wire", "bytes_local"):
            self.assertEqual(run.summary[count], alone.summary[count], count)
        counters = {(row["port_name"], row["name"]): int(row["after"]) - int(row["before"])
                    for row in run.rows("hardware", fidelity="emulated")}
        for machine, device, before in zip(MACHINES, DEVICES.values(), sent):
            packets = counters[f"{machine}0", "hw_counters.sent_pkts"]
            # A ring sends evenly, and a packet holds one path MTU at most.
            self.assertGreaterEqual(packets, run.summary["bytes_wire"] / 2 / 1024)
            self.assertLess(packets, self.guest.hardware_counter(device, "sent_pkts") - before)
            self.table.append((f"machine {machine}, {device}", f"{packets} packets"))

    def test_one_is_killed(self):
        config = self.config(self.all_reduce, self.PORTS, mtu="4096B")
        config["workload"] = config["workload"] | {"iterations": 200}
        command, name = self.processes(config, "--enable-recovery")
        counter = f"/sys/class/infiniband/{DEVICES['eth3']}/ports/1/hw_counters/sent_pkts"
        (self.guest.share / "kill.sh").write_text(
            f"{command} &\nfirst=$(cat {counter})\n"
            f"for i in $(seq 600); do [ $(($(cat {counter}) - first)) -gt {UNDER_WAY} ] && break; usleep 50000; done\n"
            "for p in $(pidof rankwire); do grep -q -a machine.b /proc/$p/cmdline && kill -9 $p; done\nwait\n",
            encoding="utf-8",
        )
        with self.routed():
            _, output = self.guest.run("sh /share/kill.sh", RUN_DEADLINE)
        run = self.guest.fetched(name)
        self.assertEqual(run.summary["verdict"], "failed", output)
        self.assertIn("machine 'b' has gone", run.summary["reason"])
        self.assertEqual([m["verdict"] for m in run.summary["machines"]][1], "gone")

    def test_a_device_that_is_not_there(self):
        """It is missed when its path MTU is asked for, or when the ports are opened."""
        for machine, ports, transport in (("a", ([{"verbs": "rxe9"}], self.PORTS[1]), {"mtu": "1024B"}),
                                          ("b", (self.PORTS[0], [{"verbs": "rxe9"}]), {})):  # fmt: skip
            with self.subTest(machine=machine, transport=transport):
                run, output = self.on_machines(self.config(self.all_reduce, ports, **transport), rankwire.USAGE)
                self.assertIn(f"error: machine '{machine}': ", output)
                self.assertIn("there is no RDMA device 'rxe9'; there are rxe2", output)
                self.assert_no_result(run)


class MixedMachines(MachinesTest):
    """Machine a has soft-RoCE on v0 and a DPDK port, machine b a DPDK port: all on one bridge."""

    @classmethod
    def make_network(cls, guest):
        cls.all_reduce = collectives(guest, "mixed", (chakra.ALL_REDUCE, 1 << 17), (chakra.ALL_TO_ALL, 100_003),
                                     ranks=RANKS)  # fmt: skip
        guest.do(f"ip link add br0 mtu {LINK_MTU} type bridge", "ip link set br0 addrgenmode none up")
        for name in ("v0", *INDICES):
            index = f"index {INDICES[name]}" if name in INDICES else ""
            guest.do(f"ip link add {name} {index} mtu {LINK_MTU} type veth peer name {name}b mtu {LINK_MTU}",
                     f"ip link set {name}b master br0 addrgenmode none up",
                     f"ip link set {name} {'' if name == 'v0' else 'addrgenmode none'} up",
                     # Else the kernel says at each of them that it has the address of v0.
                     f"sysctl -w net.ipv4.conf.{name}.arp_ignore=1")  # fmt: skip
        guest.make_rdma_device("rxe0", "v0", ["10.9.0.1/24"])

    def test_an_rdma_device_talks_to_ports_of_both(self):
        ports = [[{"verbs": "rxe0"}, self.dpdk(0, "w0")], [self.dpdk(1, "x0")]]
        config = self.config(self.all_reduce, ports, mtu="4096B")
        run, _ = self.on_machines(config)
        self.check_whole(run, self.all_reduce)
        ends = {row["rank"]: row["port"] for row in run.rows("ranks", fidelity="emulated")}
        self.assertEqual(len(set(ends.values())), 3)

    @staticmethod
    def dpdk(number, interface):
        return {"device": f"net_af_packet{number},iface={interface},framesz=4352,blocksz=69632,framecnt=512"}


if __name__ == "__main__":
    unittest.main()

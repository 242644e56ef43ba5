"""A guest in which rankwire itself runs, on soft-RoCE devices and on DPDK ports of interfaces that the guest makes.

Configurations and traces go in and run folders come out through a folder that both sides see.
"""

import atexit
import contextlib
import functools
import json
import os
import pathlib
import shutil
import sys
import tempfile
import time
import unittest

import capture
import guest_image
from guest import ANSWER_DEADLINE, Guest, Silence
from guest_image import Unavailable

sys.path.append(str(pathlib.Path(__file__).parents[1] / "system"))
import chakra  # noqa: E402
import corpus  # noqa: E402
import rankwire  # noqa: E402
import traffic  # noqa: E402

BUILD = pathlib.Path(os.environ.get("RANKWIRE_INTEROP_BUILD", rankwire.SOURCE / "build/release"))
RANKS = 8
LINK_MTU = 4200  # 4096 B of payload, 62 B of headers, ICRC: the RDMA device then offers a path MTU of 4096
RUN_DEADLINE = 90  # s
SETUP_DEADLINE = 5  # s, for the addresses of an interface to become GIDs


class RankwireGuest(Guest):
    # One processor for rankwire's loop and one for the kernel, which would else wait for the end of its time slice. The
    # queues of 4,000 queue pairs are the kernel's, and each queue of a DPDK port has frames of its own.
    memory, processors = 768, 2  # MB

    def __init__(self, folder):
        super().__init__(folder)
        self.share = folder / "share"
        self.share.mkdir()
        self.runs = 0

    def prepare(self, kernel, initramfs):
        guest_image.rankwire_archive(kernel, BUILD / "rankwire").write(initramfs)

    def devices(self):
        return ["-virtfs", f"local,path={self.share},mount_tag=share,security_model=none"]

    def do(self, *commands):
        """Commands of the guest's shell, all of which must succeed; what they wrote."""
        self.shell.say("run set -e; " + "; ".join(commands))
        status, output = self.finish()
        if status != 0:
            raise AssertionError(f"{'; '.join(commands)}: exit status {status}: {output}")
        return output

    def call(self, verb, config, *arguments, prefix="", file=""):
        """The exit status of `rankwire VERB`, what it wrote, and the run folder, or of that this file alone."""
        self.runs += 1
        name = f"run{self.runs}"
        (self.share / f"{name}.yaml").write_text(json.dumps(config, indent=1), encoding="utf-8")
        command = f"{prefix} rankwire {verb} /share/{name}.yaml --quiet --out /run/{name} {' '.join(arguments)}"
        status, output = self.run(command, RUN_DEADLINE)
        return status, output, self.fetched(name, file)

    def fetched(self, name, file=""):
        """The run folder of this name below /run, which goes there, or of that this file alone."""
        # A database needs more of a file system than the share has, which takes longer for a small file than for a large
        # one.
        archive = f"tar -c -C /run {name}/{file} | dd of=/share/{name}.tar obs=256k 2>/run/dd.log"
        self.do(f"if [ -d /run/{name} ]; then {archive}; rm -r /run/{name}; fi")
        if (self.share / f"{name}.tar").exists():
            shutil.unpack_archive(self.share / f"{name}.tar", self.share)
            (self.share / f"{name}.tar").unlink()
        return rankwire.Run(self.share / name)

    def make_rdma_device(self, name, interface, addresses):
        """Soft-RoCE on an interface that is up, with these addresses, each with its prefix."""
        # Without duplicate address detection an address is usable at once.
        commands = (f"ip address add {address} dev {interface} {'nodad' if ':' in address else ''}"
                    for address in addresses)  # fmt: skip
        self.do(*commands, f"rdma link add {name} type rxe netdev {interface}")
        table = f"cat /sys/class/infiniband/{name}/ports/1/gids/* 2>/dev/null"
        gids = f"{table} | grep -v -c -e ^fe80 -e ^0000:0000:0000:0000:0000:0000"
        end = time.monotonic() + SETUP_DEADLINE
        while int(self.do(f"{gids} || true")) < len(addresses):
            if time.monotonic() > end:
                raise Silence(f"{name} has not got all its GIDs: {self.do('rdma link', 'ip address')}")

    def hardware_counter(self, device, name):
        return int(self.do(f"cat /sys/class/infiniband/{device}/ports/1/hw_counters/{name}"))

    def remove_networks(self):
        self.do(
            "for device in $(ls /sys/class/infiniband); do rdma link delete $device; done",
            # One end of a pair takes the other with it.
            "for name in $(ls /sys/class/net); do [ $name = lo ] || ip link delete $name 2>/dev/null || true; done",
        )

    def make_pair(self):
        """Soft-RoCE rxe0 on v0, and v1 for DPDK."""
        self.do(
            f"ip link add v0 mtu {LINK_MTU} type veth peer name v1 mtu {LINK_MTU}",
            "ip link set v1 addrgenmode none up",
            "ip link set v0 up",
        )
        self.make_rdma_device("rxe0", "v0", [address for addresses, _ in NETWORKS.values() for address in addresses])

    def lose(self, percent):
        """This share of the frames in either direction, from now on; 0: none."""
        for interface in ("v0", "v1"):
            self.do(f"tc qdisc delete dev {interface} root 2>/dev/null || true")
            if percent:
                self.do(f"tc qdisc add dev {interface} root netem loss {percent}% limit 10000")

    def dropped(self):
        """Frames, since `lose`."""
        disciplines = json.loads(self.do("tc -s -j qdisc show"))
        return sum(d["drops"] for d in disciplines if d["kind"] == "netem")

    @contextlib.contextmanager
    def silenced(self, address):
        """RoCEv2 from an address of rankwire's own arrives nowhere meanwhile."""
        # Where they come in: af_packet offers a frame again that is refused where it goes out.
        family = "ipv6" if ":" in address else "ip"
        match = f"flower src_ip {address} ip_proto udp dst_port {capture.ROCE_PORT}"
        self.do("tc qdisc add dev v0 clsact", f"tc filter add dev v0 ingress protocol {family} {match} action drop")
        try:
            yield
        finally:
            self.do("tc qdisc delete dev v0 clsact")

    @contextlib.contextmanager
    def captured(self):
        """The RoCEv2 packets that cross the pair meanwhile, as `capture` decodes them, with the time of each in s."""
        file = "/run/capture.pcap"
        dumpcap = f"dumpcap -q -i v0 -P -B 32 -f 'udp port {capture.ROCE_PORT}' -w {file}"
        self.do(
            f"rm -f {file}",
            f"{dumpcap} >/run/dumpcap.log 2>&1 & echo $! >/run/dumpcap.pid",
            f"for i in $(seq 100); do [ -s {file} ] && break; usleep 50000; done; [ -s {file} ]",
        )
        packets = []
        try:
            yield packets
        finally:
            self.do(
                "kill -INT $(cat /run/dumpcap.pid)",
                "while [ -d /proc/$(cat /run/dumpcap.pid) ]; do usleep 20000; done",
                f"cp {file} /share/",
            )
        log = self.do("cat /run/dumpcap.log")
        if "received/dropped on interface 'v0': " not in log or "/0 (pcap" not in log:
            raise Silence(f"the capture has holes: {log}")
        data = (self.share / "capture.pcap").read_bytes()
        packets += [(at, capture.decode(frame)) for at, frame in capture.timed_frames(data)]


@functools.cache
def booted_guest():
    """The guest of all tests of this process."""
    home = pathlib.Path(tempfile.mkdtemp(prefix="rankwire-guest-"))
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    guest = RankwireGuest(home)
    atexit.register(guest.close)
    guest.boot()
    return guest


class GuestTest(rankwire.RankwireTest):
    """Tests that share a network in the guest. `make_network` is called once."""

    @classmethod
    def setUpClass(cls):
        cls.table = []
        try:
            cls.guest = booted_guest()
        except Unavailable as reason:
            raise unittest.SkipTest(str(reason)) from reason
        cls.addClassCleanup(cls.guest.remove_networks)
        cls.make_network(cls.guest)

    @classmethod
    def make_network(cls, guest):
        raise NotImplementedError

    @classmethod
    def tearDownClass(cls):
        for name, *cells in cls.table:
            print(f"{name:<44}" + "".join(f" {cell:>14}" for cell in cells))

    def run_in_guest(self, config, *arguments, status=rankwire.OK):
        code, output, run = self.guest.call("run", config, *arguments)
        if code != status:
            reason = run.summary["reason"] if (run.folder / "summary.json").exists() else ""
            self.fail(f"exit status {code}: {output}{reason}")
        return run

    def assert_error_before_the_run(self, config, *texts, prefix=""):
        code, output, run = self.guest.call("run", config, prefix=prefix)
        self.assertEqual(code, rankwire.USAGE, output)
        self.assertEqual(len(output.strip().splitlines()), 1, output)
        for text in texts:
            self.assertIn(text, output)
        self.assert_no_result(run)

    def assert_no_result(self, run, reason_code="error"):
        """A run whose devices or connections could not be had has no summary, or one that says so and has no time."""
        if not (run.folder / "summary.json").exists():
            return
        self.assertEqual((run.summary["verdict"], run.summary["reason_code"]), ("failed", reason_code))
        self.assertIsNone(run.summary["emulated"]["completion_time_ps"])


class Workload:
    """Traces in the guest, and the bytes that they move, counted apart from the program."""

    def __init__(self, name, section, moved):
        self.name, self.section, self.bytes = name, section, moved


def collectives(guest, name, *nodes, ranks=RANKS):
    """All ranks do the same; (kind, bytes) one after the other."""
    chain = [chakra.collective(kind, size, id=i, after=[i - 1] if i else []) for i, (kind, size) in enumerate(nodes)]
    chakra.write_ranks(guest.share / name, [chain] * ranks)
    moved = sum(traffic.sent_by_group(kind, size, ranks, 1) for kind, size in nodes)
    return Workload(name, {"traces": f"/share/{name}"}, moved)


def gpt3(guest, scale):
    """The public set, its sizes scaled; None where it is absent."""
    archive = rankwire.TEST_DATA / corpus.GPT3.archive
    if not archive.exists():
        return None
    folder = guest.share / "gpt3"
    folder.mkdir(exist_ok=True)
    guest_image.output_of("tar", "xf", archive, "-C", folder)
    section = {"traces": f"/share/gpt3/{corpus.GPT3.traces}", "groups": f"/share/gpt3/{corpus.GPT3.groups}"}
    section |= {"element_size": "2B", "scale": {"bytes": scale, "compute": "1/1000"}}
    return Workload("gpt3_8r", section, corpus.GPT3.bytes_of(folder, section))


NETWORKS = {
    # Addresses of the kernel's end, one for each rank behind it, and the first of rankwire's own.
    "IPv4": ([f"10.8.0.{i}/24" for i in range(1, 5)], "10.8.0.101/24"),
    "IPv6": ([f"2001:db8:8::{i}/64" for i in range(1, 5)], "2001:db8:8::101/64"),
}
# qdisc_bypass=0: what the kernel is to drop passes its queueing disciplines.
DPDK_PORT = "net_af_packet0,iface=v1,framesz=4352,blocksz=69632,framecnt=512,qdisc_bypass=0"


class MixedTest(GuestTest):
    @classmethod
    def make_network(cls, guest):
        guest.make_pair()

    def config(self, workload, family="IPv4", mtu=4096, **transport):
        _, ours = NETWORKS[family]
        ports = [{"name": f"rdma{i}", "verbs": "rxe0", "rate": "500Mbps"} for i in range(RANKS // 2)]
        ports.append({"name": "dpdk", "device": DPDK_PORT, "rate": "100Mbps"})
        mapping = [{"rank": r, "host": r, "npu": 0, "nic": 0, "port": "dpdk" if r % 2 else f"rdma{r // 2}"}
                   for r in range(RANKS)]
        return {
            "workload": workload.section,
            "addresses": {"ip": ours},
            "hosts": {"count": RANKS, "npus": 1},
            "ports": ports,
            "mapping": {"policy": "explicit", "ranks": mapping},
            "transport": {"mtu": f"{mtu}B", "checking": True, "timeout": 16, "retry_count": 6} | transport,
            "dpdk": {"memory": "128MiB"},
            "run": {"deadline": "60s", "stall_timeout": "20s"},
        }

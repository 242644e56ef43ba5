"""A guest of QEMU with a soft-RoCE device, and rankwire's end: both are talked to line by line, with deadlines."""

import ctypes
import dataclasses
import ipaddress
import os
import pathlib
import select
import shutil
import socket
import subprocess
import time

import guest_image
from guest_image import Unavailable

TAP = "tap0"
LINK_MTU = 4200  # 4096 B of payload, 62 B of headers, ICRC: the RDMA device then offers a path MTU of 4096
# Of af_packet, each direction. The default of 1024 frames is more memory than an ordinary user may lock, 8 MiB.
RINGS = "framesz=4352,blocksz=69632,framecnt=256"
BOOT_DEADLINE = 90  # s; about 4 s on an idle machine
BOOTS = 2  # an emulated machine that has not begun by then is started anew: seldom one never does
ANSWER_DEADLINE = 45  # s; longer than the guest's own, so that the guest says what it waits for
COMMAND_DEADLINE = 150  # s; of a command in the guest: perftest's -a took 63 s beside six busy processes

CLONE_NEWUSER, CLONE_NEWNET = 0x10000000, 0x40000000  # sched.h


@dataclasses.dataclass(frozen=True)
class Network:
    """A subnet of the line: rankwire's address and the guest's in it, with its prefix."""

    name: str
    ours: str
    guests: str
    vlan: int = 0  # 0: untagged
    priority: int = 0  # PCP of the guest's frames

    @property
    def our_ip(self):
        return str(ipaddress.ip_interface(self.ours).ip)

    @property
    def guest_ip(self):
        return str(ipaddress.ip_interface(self.guests).ip)


OUR_MAC, GUEST_MAC = "02:00:00:00:00:09", "52:54:00:05:00:01"
VLAN, PRIORITY = 100, 3
IPV4 = Network("IPv4", "10.5.0.9/24", "10.5.0.1/24")
IPV6 = Network("IPv6", "2001:db8:5::9/64", "2001:db8:5::1/64")
VLAN_IPV4 = Network("VLAN", "10.6.0.9/24", "10.6.0.1/24", VLAN, PRIORITY)
VLAN_IPV6 = Network("VLAN IPv6", "2001:db8:6::9/64", "2001:db8:6::1/64", VLAN, PRIORITY)


class Silence(Exception):
    """The other side said nothing, or an error; the text says what is known."""


class Conversation:
    """Lines to and from a process; `evidence` is called for what to tell when it falls silent. Who was silent once is
    not listened to again: what it says later would be taken for the answer to something else."""

    def __init__(self, name, reader, writer, evidence):
        self.name, self.reader, self.writer, self.evidence = name, reader, writer, evidence
        self.received = b""
        self.silence = ""

    def say(self, line):
        os.write(self.writer, line.encode() + b"\n")

    def line(self, deadline=ANSWER_DEADLINE):
        if self.silence:
            raise Silence(f"as before, {self.silence}")
        end = time.monotonic() + deadline
        while b"\n" not in self.received:
            ready, _, _ = select.select([self.reader], [], [], max(0, end - time.monotonic()))
            if not ready:
                self.silence = f"{self.name} said nothing for {deadline} s: {self.evidence()}"
                raise Silence(self.silence)
            piece = os.read(self.reader, 65536)
            if not piece:
                raise Silence(f"{self.name} has ended: {self.evidence()}")
            self.received += piece
        line, self.received = self.received.split(b"\n", 1)
        return line.decode().strip()

    def lines(self, count):
        return [self.line() for _ in range(count)]

    def command(self, line, deadline=ANSWER_DEADLINE):
        """The lines in front of `ok`."""
        self.say(line)
        return self.answer(deadline)

    def answer(self, deadline=ANSWER_DEADLINE):
        lines = []
        while (line := self.line(deadline)) != "ok":
            if line.startswith("error"):
                raise Silence(f"{self.name}: {line}; {self.evidence()}")
            lines.append(line)
        return lines


def enter_network_namespace():
    """Puts this process and its children into a network of their own, which ends with them. Takes no privilege where
    user namespaces are allowed."""
    user, group = os.geteuid(), os.getegid()
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNET | (CLONE_NEWUSER if user != 0 else 0)) != 0:
        raise Unavailable(f"no network namespace: {os.strerror(ctypes.get_errno())}")
    if user != 0:
        for name, text in (("setgroups", "deny"), ("uid_map", f"0 {user} 1"), ("gid_map", f"0 {group} 1")):
            pathlib.Path("/proc/self", name).write_text(text, encoding="ascii")


def make_tap():
    """The line to the guest, in the network namespace of the process. No address: the kernel must stay silent on it."""
    for arguments in (
        ["tuntap", "add", "dev", TAP, "mode", "tap"],
        ["link", "set", TAP, "mtu", str(LINK_MTU), "addrgenmode", "none"],
        ["link", "set", TAP, "up"],
    ):
        guest_image.output_of("ip", *arguments)


class Guest:
    """`shell` is the conversation with the program that has the control port. The guest powers off when nobody listens
    to it any more."""

    memory, processors = 512, 1  # MB

    def __init__(self, folder):
        self.folder = folder
        self.console = folder / "console.log"
        self.process = self.control = self.shell = None

    def prepare(self, kernel, initramfs):
        """Writes the archive of the guest's root file system, and makes what its devices stand on."""
        raise NotImplementedError

    def settings(self):
        """Of /setup."""
        return {}

    def devices(self):
        """QEMU's arguments for devices beside the control port."""
        return []

    def boot(self):
        qemu = shutil.which("qemu-system-x86_64")
        if qemu is None:
            raise Unavailable("no qemu-system-x86_64 (package qemu-system-x86)")
        kernel = guest_image.kernel_folder()
        initramfs = self.folder / "initramfs"
        self.prepare(kernel, initramfs)
        command = [qemu, *self.machine(kernel / "vmlinux", initramfs), *self.devices()]
        for left in reversed(range(BOOTS)):
            self.power_on(command)
            try:
                self.shell.answer(BOOT_DEADLINE)
                return
            except Silence:
                # One whose kernel has said something has another fault.
                if left == 0 or self.console.stat().st_size > 0:
                    raise
                self.close()
                (self.folder / "control").unlink(missing_ok=True)

    def power_on(self, command):
        with open(self.folder / "qemu.log", "wb") as log:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self.control = self.connect(time.monotonic() + BOOT_DEADLINE)
        self.shell = Conversation("guest", self.control.fileno(), self.control.fileno(), self.evidence)

    def machine(self, kernel, initramfs):
        words = [f"rankwire.{key}={value}" for key, value in self.settings().items()]
        # Emulation only, so that the result does not depend on the machine's own virtualisation; of the oldest processor
        # that DPDK runs on, since wide vectors are emulated in pieces and took a third of the time.
        return [
            *("-accel", "tcg,thread=multi", "-machine", "pc", "-cpu", "Nehalem"),
            *("-smp", str(self.processors), "-m", str(self.memory)),
            *("-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"),
            *("-serial", f"file:{self.console}", "-kernel", str(kernel), "-initrd", str(initramfs)),
            # Without random addresses what was translated of a program serves all its processes: half the time of each.
            *("-append", " ".join(["console=ttyS0 quiet panic=-1 tsc=reliable mitigations=off nokaslr norandmaps",
                                   "cryptomgr.notests", *words])),
            *("-device", "virtio-rng-pci", "-device", "virtio-serial-pci"),
            *("-chardev", f"socket,id=control,path={self.folder / 'control'},server=on,wait=off"),
            *("-device", "virtserialport,chardev=control,name=control"),
        ]

    def start(self, command, deadline=COMMAND_DEADLINE):
        """Begins a command line of the guest's shell; `finish` tells how it went."""
        self.shell.say(f"run timeout {deadline} {command}")

    def finish(self, deadline=COMMAND_DEADLINE):
        """The exit status of the command that was begun, and what it wrote."""
        *lines, status = self.shell.answer(deadline + ANSWER_DEADLINE)
        return int(status.removeprefix("status ")), "".join(line.removeprefix("|") + "\n" for line in lines)

    def run(self, command, deadline=COMMAND_DEADLINE):
        self.start(command, deadline)
        return self.finish(deadline)

    def connect(self, end):
        control = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        while True:
            try:
                control.connect(str(self.folder / "control"))
                return control
            except (FileNotFoundError, ConnectionRefusedError) as error:
                if self.process.poll() is not None or time.monotonic() > end:
                    raise Silence(f"QEMU does not listen: {self.evidence()}") from error
                time.sleep(0.02)

    def evidence(self):
        texts = []
        for path in (self.console, self.folder / "qemu.log"):
            if path.exists():
                texts.append(path.read_text(encoding="utf-8", errors="replace")[-600:].strip())
        return " | ".join(texts)

    def close(self):
        if self.control is not None:
            self.control.close()
        if self.process is not None:
            self.process.kill()
            self.process.wait()


class LineGuest(Guest):
    """The other end of TAP, in a network of this process. `verbs` is the conversation with verbs_peer; `capture` a pcap
    file that grows with every frame at the guest's end of the line."""

    def __init__(self, folder, verbs_peer, programs=None):
        """`programs`: further ones of this machine for `run`, with the packages that have them."""
        super().__init__(folder)
        self.capture = folder / "line.pcap"
        self.verbs_peer, self.programs = verbs_peer, programs or {}

    @property
    def verbs(self):
        return self.shell

    def prepare(self, kernel, initramfs):
        guest_image.line_archive(kernel, self.verbs_peer, self.programs).write(initramfs)
        enter_network_namespace()
        make_tap()

    def settings(self):
        settings = {"mtu": LINK_MTU, "vlan": VLAN, "priority": PRIORITY, "ipv4": IPV4.guests, "ipv6": IPV6.guests}
        return settings | {"vlan_ipv4": VLAN_IPV4.guests, "vlan_ipv6": VLAN_IPV6.guests}

    def devices(self):
        return [
            # Without vnet_hdr the capture holds bare frames, and the guest leaves no checksum to the line.
            *("-netdev", f"tap,id=line,ifname={TAP},script=no,downscript=no,vnet_hdr=off"),
            *("-device", f"virtio-net-pci,netdev=line,mac={GUEST_MAC},host_mtu={LINK_MTU},romfile="),
            *("-object", f"filter-dump,id=capture,netdev=line,file={self.capture},maxlen=65535"),
        ]


class RankwirePeer:
    """A process of rankwire_peer on the guest's line; `.talk` is the conversation with it."""

    def __init__(self, binary, folder):
        self.log = folder / "rankwire_peer.log"
        command = [binary, f"net_af_packet0,iface={TAP},{RINGS}"]
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log)
        streams = self.process.stdout.fileno(), self.process.stdin.fileno()
        self.talk = Conversation("rankwire_peer", *streams, lambda: self.log.read_text(encoding="utf-8").strip())
        self.talk.answer()

    def counters(self):
        lines = (line.split() for line in self.talk.command("counters"))
        return {name: int(value) for name, value in lines}

    def close(self):
        """Ends at the end of its input; the exit status."""
        self.process.stdin.close()
        try:
            return self.process.wait(ANSWER_DEADLINE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()
        finally:
            self.process.stdout.close()

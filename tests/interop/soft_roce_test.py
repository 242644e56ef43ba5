"""RoceTransport against Linux soft-RoCE (rdma_rxe) in an emulated guest, as target and as initiator.

A DPDK af_packet port of rankwire and the guest's network interface are the ends of one TAP, in a network namespace of
the test's own. Neither knows the other's link address. Payloads are compared at the receiving end; every frame is
captured at the guest's end of the line, its ICRC computed and its operations put together again here, and tshark
decodes it too where it is installed. The capture remains under interop/ in the build folder.
"""

import contextlib
import dataclasses
import itertools
import os
import pathlib
import shutil
import struct
import subprocess
import tempfile
import time
import unittest

import capture
import guest
from guest import IPV4, IPV6, VLAN_IPV4, VLAN_IPV6, Guest, RankwirePeer, Silence
from guest_image import Unavailable

BUILD = pathlib.Path(os.environ.get("RANKWIRE_INTEROP_BUILD", pathlib.Path(__file__).parents[2] / "build/release"))
# Empty, one byte, padded, exactly one and just over one packet of either path MTU, and many packets.
SIZES = (0, 1, 1023, 1024, 1025, 4096, 4097, 30_003)
DEPTH = 4  # messages of a queue pair in flight
ROUNDS = 2
NETWORKS = (IPV4, IPV6, VLAN_IPV4)
MTUS = {1024: "rankwire", 4096: "rxe"}  # and the profile of rankwire's end
LOSSES = (0, 0.001, 0.01)  # of frames, in either direction
ACK_TIMEOUT = 16  # 4.096 us x 2^16 = 0.27 s: the guest is slow
TRAFFIC_CLASS = 26 << 2 | 2  # of the guest's packets and rankwire's: DSCP 26, ECT(0)
PRIORITY = 5  # PCP of rankwire's data on a VLAN
WORD, STEP = 1 << 64, 0x9E3779B97F4A7C15
# What Wireshark looks for in payloads.
PAYLOAD_PROTOCOLS = ("rpcordma", "smc", "smb_direct", "nvme-rdma", "lnet", "iser", "infiniband_sdp", "fcoib")
READY_TO_SEND, GET_FINISHED = struct.Struct(">IIQII"), struct.Struct(">I")  # dataplane/rendezvous.h


@dataclasses.dataclass(frozen=True)
class End:
    """One end of a queue pair as its peer must know it."""

    queue_pair: int
    psn: int
    rkey: int
    address: int

    @classmethod
    def parse(cls, line):
        kind, *numbers = line.split()
        assert kind == "end", line
        return cls(*(int(number, 0) for number in numbers))

    def __str__(self):
        return f"{self.queue_pair:#x} {self.psn:#x} {self.rkey:#x} {self.address:#x}"


@dataclasses.dataclass(frozen=True)
class Case:
    role: str  # rankwire's
    verb: str = "write_imm"  # of rankwire's messages, or by which it takes them
    network: guest.Network = IPV4
    mtu: int = 1024
    loss: float = 0
    sizes: tuple = SIZES  # of the messages of each connection
    queue_pairs: int = 1  # of a connection
    parts: tuple = None  # the size of what each queue pair carries; the whole message if nothing else is said
    options: tuple = ()  # further ones of rankwire's end
    receives: int = 2 * DEPTH  # that the guest has posted from the beginning

    @property
    def carried(self):
        return self.parts or self.sizes

    def offsets(self):
        """Of the parts in their messages."""
        n = self.queue_pairs
        return [sum(self.carried[i - i % n : i]) for i in range(len(self.carried))]


def guest_key(connection, index):
    """The key of a message that the guest sends: message_key in verbs_queue_pair.cc."""
    return ((connection + 1) << 32 | (index + 1)) * 0xD1342543DE82EF95 % WORD


def payload_of(key, size):
    """64-bit little-endian words: word i is key + i x STEP modulo 2^64."""
    words = range((size + 7) // 8)
    return b"".join(((key + i * STEP) % WORD).to_bytes(8, "little") for i in words)[:size]


def leading(key, size):
    """What is left of the key in the first bytes of a message that is shorter."""
    return key % (1 << 8 * min(size, 8))


class Run:
    """One case: rankwire's transport and the guest's queue pairs, connected; what each queue pair was given to carry."""

    def __init__(self, test, case):
        self.test, self.case = test, case
        self.verbs, self.rankwire = test.guest.verbs, test.peer.talk
        self.begin = test.guest.capture.stat().st_size
        network = case.network
        options = {"role": case.role, "verb": case.verb, "mtu": case.mtu, "profile": MTUS[case.mtu]}
        options |= {"timeout": ACK_TIMEOUT, "mac": guest.OUR_MAC, "ip": network.our_ip, "peer_ip": network.guest_ip}
        options |= {"prefix": network.ours.split("/")[1], "priority": PRIORITY, "depth": DEPTH}
        options |= {"loss_ppm": int(case.loss * 1e6), "seed": next(test.seeds), "queue_pairs": case.queue_pairs}
        options |= {"sizes": ",".join(map(str, case.sizes))}
        if network.vlan:
            options["vlan"] = network.vlan
        words = [f"{key}={value}" for key, value in (options | dict(case.options)).items()]
        self.ours = [End.parse(line) for line in self.rankwire.command("open " + " ".join(words))]
        carried = " ".join(f"{size}@{offset}" for size, offset in zip(case.carried, case.offsets()))
        command = f"open {case.mtu} {2 * DEPTH} {case.receives} {case.queue_pairs} {carried}"
        self.theirs = [End.parse(line) for line in self.verbs.command(command)]
        self.sent = [[] for _ in self.theirs]  # by queue pair: (capture's verb, immediate, payload)

    def connect(self, ours=None, theirs=None):
        """Each end may be told something else than the truth."""
        network = self.case.network
        self.rankwire.command(f"connect {' '.join(map(str, theirs or self.theirs))}")
        ends = " ".join(map(str, ours or self.ours))
        self.verbs.command(f"connect {network.guest_ip} {network.our_ip} {TRAFFIC_CLASS} {ends}")

    def events(self, count):
        return self.rankwire.command(f"events {count}")

    def close(self):
        self.verbs.command("close")
        self.rankwire.command("close")

    def packets(self):
        """Those of this run so far."""
        with open(self.test.guest.capture, "rb") as whole:
            header = whole.read(capture.PCAP_HEADER)
            whole.seek(max(self.begin, capture.PCAP_HEADER))
            frames = capture.frames(header + whole.read())
            return [capture.decode(frame) for frame in frames if capture.is_roce(frame)]

    # The guest is the initiator.

    def guest_sends(self, verb, first, count=DEPTH):
        """Returns what rankwire must report; `first` is also the first index of messages that name none."""
        self.verbs.command(f"{verb} {first} {count}")
        operation = capture.WRITE if verb.startswith("write") else capture.SEND
        wanted = []
        for i, size in enumerate(self.case.carried):
            for index in range(first, first + count):
                key = guest_key(i // self.case.queue_pairs, index)
                immediate = index if verb.endswith("imm") else None
                self.sent[i].append((operation, immediate, payload_of(key, size)))
        for connection, size in enumerate(self.case.sizes):
            for index in range(first, first + count):
                wanted.append(f"received {connection} {index} {size} {leading(guest_key(connection, index), size):#x}")
        return wanted

    def guest_offers(self, first, count=DEPTH):
        """Messages that rankwire reads. Returns what it must report."""
        self.verbs.command(f"offer {first} {count}")
        wanted = []
        for connection, size in enumerate(self.case.sizes):
            for index in range(first, first + count):
                key = guest_key(connection, index)
                self.sent[connection].append((capture.READ, index, payload_of(key, size)))
                wanted.append(f"received {connection} {index} {size} {leading(key, size):#x}")
        return wanted

    # rankwire is the initiator.

    def rankwire_sends(self, first, count=DEPTH):
        """Every message with the same payload, because it may go to the same memory. Returns what rankwire and, if it
        is told, the guest must report."""
        keys = {}
        for line in self.rankwire.command(f"post {first} {count}"):
            _, connection, key = line.split()
            keys[int(connection)] = int(key, 0)
        sent, received = [], []
        for connection in range(len(self.case.sizes)):
            sent += [f"sent {connection} {index}" for index in range(first, first + count)]
        for i, size in enumerate(self.case.carried):
            key = keys[i // self.case.queue_pairs]
            for index in range(first, first + count):
                self.sent[i] += self.operations_of(index, payload_of(key, size))
                bytes_told = 0 if self.case.verb == "write_then_imm" else size
                index_told = "-" if self.case.verb == "send" else index
                received.append(f"received {i} {index_told} {bytes_told} {leading(key, size):#x} right")
        return sent, received

    def operations_of(self, index, payload):
        return {
            "write_imm": [(capture.WRITE, index, payload)],
            "write_then_imm": [(capture.WRITE, None, payload), (capture.WRITE, index, b"")],
            "write": [(capture.WRITE, None, payload)],
            "send": [(capture.SEND, None, payload)],
            "send_imm": [(capture.SEND, index, payload)],
            "read": [(capture.READ, index, payload)],
        }[self.case.verb]


class SoftRoce(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cells, cls.lost, cls.seeds = {}, {}, itertools.count(1)
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="rankwire-interop-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        cls.guest = Guest(cls.folder)
        cls.addClassCleanup(cls.guest.close)
        try:
            cls.guest.boot(BUILD / "verbs_peer")
        except Unavailable as reason:
            raise unittest.SkipTest(str(reason)) from reason
        cls.peer = RankwirePeer(BUILD / "rankwire_peer", cls.folder)
        cls.addClassCleanup(cls.peer.close)

    @contextlib.contextmanager
    def run_of(self, case):
        run = Run(self, case)
        try:
            yield run
        except Exception as error:
            error.add_note(f"in {case}")
            raise
        finally:
            # A conversation that broke off says no more.
            with contextlib.suppress(Silence):
                run.close()

    # The matrix.

    def test_target(self):
        for verb in ("WRITE", "WRITE imm", "SEND", "SEND imm", "READ"):
            for network, mtu, loss in itertools.product(NETWORKS, MTUS, LOSSES):
                self.check_target(Case("target", "read" if verb == "READ" else "write_imm", network, mtu, loss), verb)
        self.check_losses("target")

    def test_initiator(self):
        names = {"write": "WRITE", "write_imm": "WRITE imm", "write_then_imm": "WRITE, imm"}
        names |= {"send": "SEND", "send_imm": "SEND imm", "read": "READ"}
        for verb, name in names.items():
            for network, mtu, loss in itertools.product(NETWORKS, MTUS, LOSSES):
                self.check_initiator(Case("initiator", verb, network, mtu, loss), name)
        self.check_losses("initiator")

    def check_losses(self, role):
        """Drawn frame by frame, with a seed for each run: of hundreds of frames some, of thousands many."""
        for loss in LOSSES:
            self.assertGreater(self.lost[role, loss], -1 if loss == 0 else 1e4 * loss / 10)

    def check_target(self, case, verb):
        with self.run_of(case) as run:
            run.connect()
            for number in range(ROUNDS):
                # A message that names no index is counted.
                if verb == "READ":
                    wanted = run.guest_offers(number * DEPTH)
                else:
                    wanted = run.guest_sends(verb.lower().replace(" ", "_"), number * DEPTH)
                self.assertEqual(sorted(run.events(len(wanted))), sorted(wanted))
            self.check_run(run)
        self.note(run, verb)

    def check_initiator(self, case, verb):
        with self.run_of(case) as run:
            run.connect()
            for number in range(ROUNDS):
                if case.verb != "write":
                    run.verbs.say(f"receive {DEPTH}")
                sent, received = run.rankwire_sends(number * DEPTH)
                self.assertEqual(sorted(run.events(len(sent))), sorted(sent))
                if case.verb != "write":
                    self.assertEqual(sorted(run.verbs.answer()), sorted(received))
                else:
                    memory = [f"memory {line.split()[1]} {' '.join(line.split()[4:])}" for line in received]
                    self.assertEqual(run.verbs.command("inspect"), memory[::DEPTH])
            self.check_run(run)
        self.note(run, verb)

    def note(self, run, verb):
        case, counters = run.case, run.counters
        lost = counters["lost_tx"] + counters["lost_rx"]
        self.lost[case.role, case.loss] = self.lost.get((case.role, case.loss), 0) + lost
        row = self.cells.setdefault((case.role, verb, case.network.name, case.mtu), {})
        row[case.loss] = f"{ROUNDS * DEPTH * len(case.sizes)} right, {lost} lost, {run.again} again"

    # Beside the matrix.

    def test_messages_are_split_over_queue_pairs(self):
        # ceil(ceil(bytes / 4) / 128) x 128 a part, the last ones less or none.
        parts = (1, 0, 0, 0, 384, 384, 257, 0, 7552, 7552, 7552, 7347)
        for role in ("initiator", "target"):
            case = Case(role, sizes=(1, 1025, 30_003), queue_pairs=4, parts=parts, options=(("spread", "split"),))
            with self.run_of(case) as run:
                run.connect()
                if role == "initiator":
                    run.verbs.say(f"receive {DEPTH}")
                    sent, received = run.rankwire_sends(0)
                    self.assertEqual(sorted(run.events(len(sent))), sorted(sent))
                    self.assertEqual(sorted(run.verbs.answer()), sorted(received))
                else:
                    wanted = run.guest_sends("write_imm", 0)
                    self.assertEqual(sorted(run.events(len(wanted))), sorted(wanted))
                self.check_run(run)

    def test_target_refuses_a_wrong_key(self):
        with self.run_of(Case("target", sizes=(1025,))) as run:
            run.connect(ours=[dataclasses.replace(run.ours[0], rkey=run.ours[0].rkey ^ 1)])
            with self.assertRaisesRegex(Silence, "remote access error"):
                run.verbs.command("write_imm 0 1")
            self.assertEqual(self.peer.counters()["refused"], 1)

    def test_target_needs_no_key_for_an_empty_message(self):
        # IBTA 9.7.4.1.5
        with self.run_of(Case("target", sizes=(0,))) as run:
            run.connect(ours=[dataclasses.replace(run.ours[0], rkey=run.ours[0].rkey ^ 1)])
            run.verbs.command("write_imm 0 1")
            self.assertEqual(run.events(1), ["received 0 0 0 0x0"])

    def test_initiator_learns_of_a_wrong_key(self):
        with self.run_of(Case("initiator", sizes=(1025,))) as run:
            run.connect(theirs=[dataclasses.replace(run.theirs[0], rkey=run.theirs[0].rkey ^ 1)])
            run.rankwire.command("post 0 2")
            self.assertEqual(run.events(2), ["failed 0 0 remote access error", "failed 0 1 flushed"])

    def test_initiator_waits_for_a_receiver_that_is_not_ready(self):
        for verb in ("send_imm", "write_imm"):
            with self.run_of(Case("initiator", verb, sizes=(4097,), receives=0)) as run:
                run.connect()
                sent, received = run.rankwire_sends(0)
                self.await_counter("rnr_naks")
                run.verbs.command(f"post_receives {DEPTH}")
                self.assertEqual(sorted(run.events(len(sent))), sorted(sent))
                self.assertEqual(sorted(run.verbs.command(f"receive {DEPTH}")), sorted(received))
                self.check_run(run)

    def test_target_lets_the_sender_wait_until_it_is_ready(self):
        # Two receives, which come back only with the events that nobody asks for yet.
        for verb in ("send_imm", "write_imm"):
            with self.run_of(Case("target", sizes=(4097,), options=(("receives", 2),))) as run:
                run.connect()
                run.rankwire.command("hold")
                run.verbs.say(f"{verb} 0 {DEPTH}")
                self.await_counter("rnr_naks_tx")
                delivered = run.events(DEPTH)
                run.verbs.answer()
                wanted = [f"received 0 {index} 4097 {guest_key(0, index):#x}" for index in range(DEPTH)]
                self.assertEqual(delivered, wanted)

    def await_counter(self, name):
        deadline = time.monotonic() + guest.ANSWER_DEADLINE
        while self.peer.counters()[name] == 0:
            self.assertLess(time.monotonic(), deadline, name)

    def test_the_nic_answers_ping(self):
        for network, ping in ((IPV4, "ping"), (IPV6, "ping -6"), (VLAN_IPV4, "ping"), (VLAN_IPV6, "ping -6")):
            with self.run_of(Case("target", network=network, sizes=(1,))):
                status, output = self.guest.run(f"{ping} -c 2 -W 20 -s 1000 {network.our_ip}")
                self.assertEqual(status, 0, output)
                self.assertIn("2 packets received, 0% packet loss", output)

    # What every run is judged by.

    def check_run(self, run):
        run.counters = self.peer.counters()
        self.check_counters(run)
        packets = run.packets()
        requests = [p for p in packets if not capture.is_answer(p)]
        run.again = len(requests) - len({(p.destination_qp, p.psn) for p in requests})
        for ours, theirs, offset, sent in zip(run.ours, run.theirs, run.case.offsets(), run.sent):
            self.check_queue_pair(run, packets, ours, theirs, offset, sent)
        self.check_headers(run, packets)

    def check_counters(self, run):
        counters = run.counters
        wrong = ("icrc_errors", "malformed", "unknown_qp", "payload_errors", "rx_missed")
        self.assertEqual({name: counters[name] for name in wrong}, dict.fromkeys(wrong, 0), counters)
        if run.case.loss == 0:
            self.assertEqual((counters["lost_tx"], counters["lost_rx"]), (0, 0))

    def check_queue_pair(self, run, packets, ours, theirs, offset, sent):
        case = run.case
        to_us = [p for p in packets if (p.destination, p.destination_qp) == (case.network.our_ip, ours.queue_pair)]
        to_them = [p for p in packets if (p.source, p.destination_qp) == (case.network.our_ip, theirs.queue_pair)]
        port = capture.source_port(ours.queue_pair, theirs.queue_pair)
        self.assertEqual({p.source_port for p in to_us + to_them}, {port})
        by_us, by_them = self.asked(to_them, to_us, ours, case), self.asked(to_us, to_them, theirs, case)
        initiator, target, forth, back = ours, theirs, by_us, by_them
        if case.role == "target":
            initiator, target, forth, back = theirs, ours, by_them, by_us
        if case.verb == "read":
            self.check_rendezvous(forth, back, sent)
        else:
            self.assertEqual([(op.verb, op.immediate, op.payload) for op in forth], sent)
            self.assertEqual(back, [])
            for op in forth:
                if op.verb == capture.WRITE:
                    # An empty WRITE may name any address.
                    address = target.address + (offset if op.payload else op.first.address - target.address)
                    self.assertEqual((op.first.address, op.first.rkey), (address, target.rkey))

    def check_rendezvous(self, forth, back, sent):
        """The source offers, the destination reads and says so."""
        offers = [READY_TO_SEND.unpack(op.payload) for op in forth]
        self.assertEqual({op.verb for op in forth}, {capture.SEND})
        reads = [op for op in back if op.verb == capture.READ]
        answers = [GET_FINISHED.unpack(op.payload)[0] for op in back if op.verb == capture.SEND]
        self.assertEqual(len(reads) + len(answers), len(back))
        self.assertEqual([(capture.READ, index, length) for index, _, _, _, length in offers],
                         [(verb, index, len(payload)) for verb, index, payload in sent])
        self.assertEqual([(op.first.address, op.first.rkey) for op in reads],
                         [(address, rkey) for _, _, address, rkey, _ in offers])
        self.assertEqual([op.payload for op in reads], [payload for _, _, payload in sent])
        self.assertEqual(sorted(answers), sorted(cookie for _, cookie, _, _, _ in offers))

    def asked(self, there, back, requester, case):
        """The operations that an end asked for by what it sent; the last of them was acknowledged by what it got, and
        their number told."""
        requests = [p for p in there if not capture.is_answer(p)]
        answers = [p for p in back if capture.is_answer(p)]
        done = capture.operations(requests, answers, requester.psn, case.mtu)
        if done:
            last = max(requests, key=lambda p: (p.psn - requester.psn) & capture.PSN_MASK)
            final = [p for p in answers if p.psn == last.psn and p.syndrome == 0x1F]
            self.assertEqual({p.msn for p in final}, {len(done)})
        return done

    def check_headers(self, run, packets):
        network = run.case.network
        ends = network.our_ip, network.guest_ip
        self.assertEqual({(p.vlan, p.source, p.destination) for p in packets},
                         {(network.vlan, *ends), (network.vlan, *reversed(ends))})
        # No fragments, no UDP checksum, the default partition, transport version 0.
        same = {(p.fragmentable, p.udp_checksum, p.partition_key, p.version) for p in packets}
        self.assertEqual(same, {(False, 0, 0xFFFF, 0)})
        self.assertEqual({p.type_of_service for p in packets if p.source == network.guest_ip}, {TRAFFIC_CLASS})
        ours = [p for p in packets if p.source == network.our_ip]
        self.assertEqual({p.time_to_live for p in ours}, {64})
        self.assertEqual({p.migrated for p in ours}, {MTUS[run.case.mtu] == "rankwire"})
        if network.vlan:
            self.assertEqual({p.priority for p in packets if p.source == network.guest_ip}, {guest.PRIORITY})
            data = [p for p in ours if p.opcode != capture.ACKNOWLEDGE]
            self.assertLessEqual({p.priority for p in data}, {PRIORITY})

    @classmethod
    def tearDownClass(cls):
        losses = "".join(f"  loss {loss:<24.1%}" for loss in LOSSES)
        if not cls.cells:
            return
        print(f"\n{'rankwire':<10} {'operation':<11} {'network':<8} {'path MTU':>8}{losses}")
        for (role, verb, network, mtu), cells in cls.cells.items():
            texts = "".join(f"  {cells.get(loss, ''):<29}" for loss in LOSSES)
            print(f"{role:<10} {verb:<11} {network:<8} {mtu:>8}{texts}")

    def test_the_whole_capture(self):
        """The last test by name. An independent decoder sees the same packets in the whole capture and finds nothing malformed."""
        path = BUILD / "interop" / "soft_roce.pcap"
        path.parent.mkdir(exist_ok=True)
        shutil.copy(self.guest.capture, path)
        if shutil.which("tshark") is None:
            print("tshark is absent: it decodes nothing")
            return
        frames = capture.frames(path.read_bytes())
        packets = [capture.decode(frame) for frame in frames if capture.is_roce(frame)]
        names = ("opcode", "destqp", "psn")
        fields = [f"infiniband.bth.{name}" for name in names] + ["infiniband.reth.dmalen", "_ws.malformed"]
        arguments = [word for field in fields for word in ("-e", field)]
        # A payload may begin like that of another protocol, whose dissector would then find it malformed.
        arguments += ["--disable-heuristic", "eth_over_ib"]
        arguments += [word for name in PAYLOAD_PROTOCOLS for word in ("--disable-protocol", name)]
        command = ["tshark", "-n", "-r", path, "-T", "fields", *arguments]
        command += ["-Y", f"udp.dstport == {capture.ROCE_PORT}"]
        output = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout
        lines = [line.split("\t") for line in output.splitlines()]
        seen = [[int(text, 0) if text else 0 for text in line[:4]] for line in lines]
        self.assertEqual(seen, [[p.opcode, p.destination_qp, p.psn, p.dma_length] for p in packets])
        self.assertEqual({line[4] for line in lines}, {""})
        print(f"tshark agrees on {len(packets)} packets, whose ICRCs are right")


if __name__ == "__main__":
    unittest.main()

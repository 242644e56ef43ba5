"""RoceTransport against Linux soft-RoCE (rdma_rxe) in an emulated guest, as target and as initiator.

A DPDK af_packet port of rankwire and the guest's network interface are the ends of one TAP, in a network namespace of
the test's own. Payloads are compared at the receiving end; every frame of every run is captured at the guest's end of
the line, its ICRC computed and its messages put together again here, and tshark decodes it too where it is installed.
The captures remain under interop/ in the build folder.
"""

import contextlib
import dataclasses
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

import capture
from guest import Guest, RankwirePeer, Silence
from guest_image import Unavailable

BUILD = pathlib.Path(os.environ.get("RANKWIRE_INTEROP_BUILD", pathlib.Path(__file__).parents[2] / "build/release"))
# Empty, one byte, padded, exactly one and just over one packet of either path MTU, and many packets.
SIZES = (0, 1, 1023, 1024, 1025, 4096, 4097, 100_003)
DEPTH = 4  # messages of a queue pair in flight
ROUNDS = 3
ACK_TIMEOUT = 16  # 4.096 us x 2^16 = 0.27 s: the guest is slow
WORD, STEP = 1 << 64, 0x9E3779B97F4A7C15


@dataclasses.dataclass(frozen=True)
class Addresses:
    mac: str = "02:00:00:00:00:09"
    ip: str = "10.5.0.9"
    guest_mac: str = "52:54:00:05:00:01"
    guest_ip: str = "10.5.0.1"


@dataclasses.dataclass(frozen=True)
class End:
    """One end of a connection as its peer must know it."""

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
    mtu: int
    loss: float  # of frames, in either direction
    migration: str = "armed"
    sizes: tuple = SIZES  # of the messages of each connection

    @property
    def name(self):
        return f"{self.role}-{self.mtu}-{self.loss:g}"


def guest_key(connection, index):
    """The key of a message that the guest writes: message_key in verbs_peer.cc."""
    return ((connection + 1) << 32 | (index + 1)) * 0xD1342543DE82EF95 % WORD


def payload_of(key, size):
    """64-bit little-endian words: word i is key + i x STEP modulo 2^64."""
    words = range((size + 7) // 8)
    return b"".join(((key + i * STEP) % WORD).to_bytes(8, "little") for i in words)[:size]


def leading(key, size):
    """What is left of the key in the first bytes of a message that is shorter."""
    return key % (1 << 8 * min(size, 8))


class SoftRoce(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.addresses = Addresses()
        cls.table = []
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="rankwire-interop-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        cls.guest = Guest(cls.folder)
        cls.addClassCleanup(cls.guest.close)
        try:
            cls.guest.boot(BUILD / "verbs_peer", cls.addresses)
        except Unavailable as reason:
            raise unittest.SkipTest(str(reason)) from reason

    @classmethod
    def tearDownClass(cls):
        print("\nrankwire   path MTU  loss   messages  data packets  sent again  NAKs  lost  ICRCs  tshark")
        for row in cls.table:
            print("{:<10} {:>8} {:>5.1%} {:>10} {:>13} {:>11} {:>5} {:>5} {:>6}  {}".format(*row))

    def test_target(self):
        self.run_cases("target", self.play_target)

    def test_initiator(self):
        self.run_cases("initiator", self.play_initiator)

    def run_cases(self, role, play):
        for mtu, migration in ((1024, "armed"), (4096, "migrated")):
            for loss in (0, 0.001, 0.01):
                case = Case(role, mtu, loss, migration)
                try:
                    self.run_case(case, play)
                except Exception as error:
                    error.add_note(f"in {case}")
                    raise

    @contextlib.contextmanager
    def peer_for(self, case):
        options = {"mtu": case.mtu, "size": case.sizes, "depth": DEPTH, "loss_ppm": int(case.loss * 1e6)}
        options |= {"timeout": ACK_TIMEOUT, "migration": case.migration}
        peer = RankwirePeer(BUILD / "rankwire_peer", self.folder, self.addresses, case.role, **options)
        try:
            yield peer
        finally:
            status = peer.close()
        self.assertEqual(status, 0, peer.talk.evidence())

    def open_ends(self, case, peer):
        sizes = " ".join(map(str, case.sizes))
        ours = [End.parse(line) for line in peer.talk.lines(len(case.sizes))]
        theirs = [End.parse(line) for line in self.guest.verbs.command(f"open {case.mtu} {DEPTH} {sizes}")]
        return ours, theirs

    def connect(self, peer, ours, theirs):
        self.guest.verbs.command(f"connect {self.addresses.ip} {' '.join(map(str, ours))}")
        for end in theirs:
            peer.talk.say(f"end {end}")
        self.assertEqual(peer.talk.line(), "connected")

    def run_case(self, case, play):
        with self.peer_for(case) as peer:
            ours, theirs = self.open_ends(case, peer)
            begin = self.guest.capture.stat().st_size
            self.connect(peer, ours, theirs)
            expected = play(peer)
            counters = peer.counters()
            self.guest.verbs.command("close")
        self.check_counters(case, counters)
        path = self.keep_capture(case, begin)
        packets = [capture.decode(frame) for frame in capture.frames(path.read_bytes()) if capture.is_roce(frame)]
        self.check_capture(case, packets, ours, theirs, expected)
        judged = self.check_tshark(path, packets)
        self.table.append(self.row(case, counters, expected, packets, judged))

    def test_target_refuses_a_wrong_key(self):
        case = Case("target", 1024, 0, sizes=(1025,))
        with self.peer_for(case) as peer:
            (ours,), theirs = self.open_ends(case, peer)
            self.connect(peer, [dataclasses.replace(ours, rkey=ours.rkey ^ 1)], theirs)
            with self.assertRaisesRegex(Silence, "remote access error"):
                self.guest.verbs.command("write_imm 0 1")
            self.assertEqual(peer.counters()["refused"], 1)

    def test_target_needs_no_key_for_an_empty_message(self):
        # IBTA 9.7.4.1.5
        case = Case("target", 1024, 0, sizes=(0,))
        with self.peer_for(case) as peer:
            (ours,), theirs = self.open_ends(case, peer)
            self.connect(peer, [dataclasses.replace(ours, rkey=ours.rkey ^ 1)], theirs)
            self.guest.verbs.command("write_imm 0 1")
            self.assertEqual(peer.talk.line(), "received 0 0 0 0x0")

    def test_initiator_learns_of_a_wrong_key(self):
        case = Case("initiator", 1024, 0, sizes=(1025,))
        with self.peer_for(case) as peer:
            ours, (theirs,) = self.open_ends(case, peer)
            self.connect(peer, ours, [dataclasses.replace(theirs, rkey=theirs.rkey ^ 1)])
            peer.talk.say("post 0 2")
            self.assertEqual(peer.talk.lines(2), ["failed 0 0 remote access error", "failed 0 1 flushed"])

    def play_target(self, peer):
        """The guest writes. Returns the messages of each connection: (index, its immediate or None, key)."""
        expected = [[] for _ in SIZES]
        for number in range(ROUNDS):
            first = number * 2 * DEPTH
            self.guest.verbs.command(f"write {first} {DEPTH}")
            first += DEPTH
            self.guest.verbs.command(f"write_imm {first} {DEPTH}")
            delivered = sorted(peer.talk.line() for _ in range(DEPTH * len(SIZES)))
            wanted = []
            for connection, size in enumerate(SIZES):
                for index in range(first, first + DEPTH):
                    key = leading(guest_key(connection, index), size)
                    wanted.append(f"received {connection} {index} {size} {key:#x}")
                expected[connection] += [(None, guest_key(connection, i)) for i in range(first - DEPTH, first)]
                expected[connection] += [(i, guest_key(connection, i)) for i in range(first, first + DEPTH)]
            self.assertEqual(delivered, sorted(wanted))
        return expected

    def play_initiator(self, peer):
        """rankwire writes, every message of a round with the same payload, because it goes to the same memory."""
        expected = [[] for _ in SIZES]
        for number in range(ROUNDS):
            first = number * DEPTH
            self.guest.verbs.say(f"receive {DEPTH}")
            peer.talk.say(f"post {first} {DEPTH}")
            keys = {}
            for line in peer.talk.lines(DEPTH * len(SIZES)):
                verb, connection, index, key = line.split()
                self.assertEqual(verb, "sent", line)
                keys[int(connection), int(index)] = int(key, 0)
            wanted = []
            for connection, size in enumerate(SIZES):
                for index in range(first, first + DEPTH):
                    key = keys[connection, index]
                    wanted.append(f"received {connection} {index} {size} {leading(key, size):#x} right")
                    expected[connection].append((index, key))
            self.assertEqual(sorted(self.guest.verbs.answer()), sorted(wanted))
        return expected

    def check_counters(self, case, counters):
        wrong = ("icrc_errors", "malformed", "unknown_qp", "payload_errors", "refused", "misdirected", "ghost_acks")
        self.assertEqual({name: counters[name] for name in wrong}, dict.fromkeys(wrong, 0), counters)
        if case.loss == 0:
            self.assertEqual((counters["lost_tx"], counters["lost_rx"]), (0, 0))
        elif case.loss >= 0.01:
            # Drawn frame by frame with a fixed seed, so that some of the hundreds of requests are always lost; of the
            # few acknowledgements, and at lower rates, perhaps none.
            self.assertGreater(counters["lost_rx" if case.role == "target" else "lost_tx"], 0)

    def keep_capture(self, case, begin):
        """The part of the capture that begins at byte `begin`, as a file of its own."""
        with open(self.guest.capture, "rb") as whole:
            header = whole.read(capture.PCAP_HEADER)
            whole.seek(max(begin, capture.PCAP_HEADER))
            records = whole.read()
        path = BUILD / "interop" / f"{case.name}.pcap"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(header + records)
        return path

    def check_capture(self, case, packets, ours, theirs, expected):
        initiator = case.role == "initiator"
        writers, targets = (ours, theirs) if initiator else (theirs, ours)
        for connection, (writer, target) in enumerate(zip(writers, targets)):
            requests = [p for p in packets if p.destination_qp == target.queue_pair and p.opcode != capture.ACKNOWLEDGE]
            messages = capture.written_messages(requests, writer.psn, case.mtu)
            self.assertEqual(len(messages), len(expected[connection]))
            for (reth, immediate, payload), (index, key) in zip(messages, expected[connection]):
                self.assertEqual(immediate, index)
                self.assertEqual(payload, payload_of(key, SIZES[connection]))
                self.assertEqual((reth.address, reth.rkey), (target.address, target.rkey))
            replies = [p for p in packets if p.destination_qp == writer.queue_pair and p.opcode == capture.ACKNOWLEDGE]
            last_psn = max(requests, key=lambda p: (p.psn - writer.psn) & capture.PSN_MASK).psn
            final = [p for p in replies if p.psn == last_psn and p.syndrome == 0x1F]
            self.assertEqual({p.msn for p in final}, {len(messages)})
            port = capture.source_port(writer.queue_pair, target.queue_pair)
            self.assertEqual({p.source_port for p in requests + replies}, {port})
        self.check_our_headers(case, [p for p in packets if p.source == self.addresses.ip])

    def check_our_headers(self, case, sent):
        self.assertGreater(len(sent), 0)
        # DSCP 26, ECT(0), 64 hops, DF, no UDP checksum, the default partition, transport version 0.
        same = [
            (p.type_of_service, p.time_to_live, p.dont_fragment, p.udp_checksum, p.partition_key, p.version)
            for p in sent
        ]
        self.assertEqual(set(same), {(26 << 2 | 2, 64, True, 0, 0xFFFF, 0)})
        self.assertEqual({p.migrated for p in sent}, {case.migration == "migrated"})

    def check_tshark(self, path, packets):
        """An independent decoder sees the same packets and finds nothing malformed."""
        if shutil.which("tshark") is None:
            return "absent"
        fields = ("infiniband.bth.opcode", "infiniband.bth.destqp", "infiniband.bth.psn", "infiniband.reth.dmalen")
        arguments = [word for field in fields for word in ("-e", field)] + ["-e", "_ws.malformed"]
        # A payload may begin like an EtherType, whose dissector would then find it malformed.
        command = ["tshark", "-n", "--disable-heuristic", "eth_over_ib", "-r", path, "-T", "fields", *arguments]
        command += ["-Y", f"udp.dstport == {capture.ROCE_PORT}"]
        output = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout
        seen = [[int(text, 0) if text else 0 for text in line.split("\t")[:4]] for line in output.splitlines()]
        self.assertEqual(seen, [[p.opcode, p.destination_qp, p.psn, p.dma_length] for p in packets])
        self.assertEqual({line.split("\t")[4] for line in output.splitlines()}, {""})
        return "agrees"

    def row(self, case, counters, expected, packets, judged):
        initiator = case.role == "initiator"
        requests = [p for p in packets if p.opcode != capture.ACKNOWLEDGE]
        distinct = len({(p.destination_qp, p.psn) for p in requests})
        again = counters["retransmitted"] if initiator else len(requests) - distinct
        naks = sum(p.opcode == capture.ACKNOWLEDGE and p.syndrome >> 5 == 3 for p in packets)
        lost = counters["lost_tx"] + counters["lost_rx"]
        messages = sum(map(len, expected))
        return case.role, case.mtu, case.loss, messages, distinct, again, naks, lost, len(packets), judged


if __name__ == "__main__":
    unittest.main()

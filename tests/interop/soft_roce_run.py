"""One case of the tests against soft-RoCE: a transport of rankwire and queue pairs of the guest, connected, and what
each queue pair was given to carry."""

import dataclasses

import capture
import guest
from guest import IPV4

# Empty, one byte, padded, exactly one and just over one packet of either path MTU, and many packets.
SIZES = (0, 1, 1023, 1024, 1025, 4096, 4097, 30_003)
DEPTH = 4  # messages of a queue pair in flight
MTUS = {1024: "rankwire", 4096: "rxe"}  # and the profile of rankwire's end
ACK_TIMEOUT = 16  # 4.096 us x 2^16 = 0.27 s: the guest is slow
TRAFFIC_CLASS = 26 << 2 | 2  # of the guest's packets and rankwire's: DSCP 26, ECT(0)
PRIORITY = 5  # PCP of rankwire's data on a VLAN
WORD, STEP = 1 << 64, 0x9E3779B97F4A7C15


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
    """`sent`: by queue pair, what it was given to carry: (capture's verb, immediate, payload). `counters`: rankwire's
    and `again`: requests that were repeated, both at the end."""

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
        self.sent = [[] for _ in self.theirs]
        self.counters, self.again = {}, 0

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

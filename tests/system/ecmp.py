"""Equal-cost paths through a leaf-spine fabric, from the description in docs/configuration.md ("Which path") alone."""

import dataclasses
import ipaddress
import struct

_MASK = (1 << 64) - 1
_GOLDEN = 0x9E3779B97F4A7C15
ROCE_PORT = 4791


def mix(x):
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & _MASK
    x = (x ^ x >> 27) * 0x94D049BB133111EB & _MASK
    return x ^ x >> 31


@dataclasses.dataclass(frozen=True)
class Flow:
    """What a switch hashes, and where the frame is to go."""

    destination_mac: bytes
    source: int
    destination: int
    protocol: int
    source_port: int
    destination_port: int
    queue_pair: int  # 0 where the frame has none


def parse(frame):
    """The flow of an untagged IPv4 frame with UDP in it, without options; None for others."""
    if frame[12:14] != b"\x08\x00" or frame[14] != 0x45 or frame[23] != 17:
        return None
    source, destination = (int(ipaddress.IPv4Address(frame[at : at + 4])) for at in (26, 30))
    source_port, destination_port = struct.unpack_from(">HH", frame, 34)
    queue_pair = int.from_bytes(frame[47:50], "big") if destination_port == ROCE_PORT else 0
    return Flow(frame[:6], source, destination, frame[23], source_port, destination_port, queue_pair)


def flow_hash(flow, with_queue_pair):
    ports = flow.source_port << 48 | flow.destination_port << 32 | flow.protocol << 24
    value = mix(ports + (flow.queue_pair if with_queue_pair else 0) + _GOLDEN & _MASK)
    for word in (0, flow.source, 0, flow.destination):
        value = mix(value ^ word)
    return value >> 32


def member(flow, seed, switch, members, with_queue_pair, shared=False):
    """Which of so many ports the switch of this number takes; `shared`: `fabric.balancing.seeds`."""
    switch_seed = mix(seed) if shared else mix(mix(seed + switch * _GOLDEN & _MASK))
    return (mix(flow_hash(flow, with_queue_pair) ^ switch_seed) >> 32) * members >> 32

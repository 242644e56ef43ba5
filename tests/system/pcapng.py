"""Reads PCAP Next Generation files (draft-ietf-opsawg-pcapng) of one section, in this machine's or the other byte order."""

import dataclasses
import pathlib
import struct

SECTION, INTERFACE, PACKET = 0x0A0D0D0A, 1, 6
NAME, RESOLUTION, FLAGS = 2, 9, 2
INBOUND, OUTBOUND = 1, 2


@dataclasses.dataclass
class Packet:
    """A packet block: `interface` is a name, `time` in units of the interface's resolution, `direction` of its flags."""

    interface: str
    time: int
    direction: int
    length: int  # on the line, without FCS
    data: bytes


def _options(data, order):
    at, options = 0, {}
    while at + 4 <= len(data):
        code, length = struct.unpack_from(order + "HH", data, at)
        if code == 0:
            break
        options[code] = data[at + 4 : at + 4 + length]
        at += 4 + (length + 3) // 4 * 4
    return options


def read(path):
    """The names of the interfaces with their exponents of ten of a second, and the packets in their order."""
    data = pathlib.Path(path).read_bytes()
    order = "<" if data[8:12] == struct.pack("<I", 0x1A2B3C4D) else ">"
    interfaces, packets, at = [], [], 0
    while at < len(data):
        kind, length = struct.unpack_from(order + "II", data, at)
        body = data[at + 8 : at + length - 4]
        if struct.unpack_from(order + "I", data, at + length - 4)[0] != length:
            raise ValueError(f"block at {at}: its two lengths differ")
        if kind == INTERFACE:
            options = _options(body[8:], order)
            interfaces.append((options[NAME].decode(), options[RESOLUTION][0]))
        elif kind == PACKET:
            interface, high, low, kept, whole = struct.unpack_from(order + "IIIII", body)
            options = _options(body[20 + (kept + 3) // 4 * 4 :], order)
            direction = struct.unpack(order + "I", options[FLAGS])[0] & 3
            packets.append(Packet(interfaces[interface][0], high << 32 | low, direction, whole, body[20 : 20 + kept]))
        at += length
    return interfaces, packets

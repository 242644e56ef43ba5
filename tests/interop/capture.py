"""RoCEv2 out of pcap files, decoded from the specifications alone: InfiniBand Architecture Specification (IBTA) Vol. 1
chapter 9 and Annex A17, RFC 791, RFC 768. Shares nothing with the code under test."""

import dataclasses
import struct
import zlib

ROCE_PORT = 4791
PSN_MASK = 0xFFFFFF

WRITE_FIRST, WRITE_MIDDLE, WRITE_LAST, WRITE_LAST_IMMEDIATE, WRITE_ONLY, WRITE_ONLY_IMMEDIATE = range(0x06, 0x0C)
ACKNOWLEDGE = 0x11
WITH_RETH = (WRITE_FIRST, WRITE_ONLY, WRITE_ONLY_IMMEDIATE)
WITH_IMMEDIATE = (WRITE_LAST_IMMEDIATE, WRITE_ONLY_IMMEDIATE)
ENDING = (WRITE_LAST, WRITE_LAST_IMMEDIATE, WRITE_ONLY, WRITE_ONLY_IMMEDIATE)

PCAP_HEADER, RECORD_HEADER = 24, 16


class Wrong(Exception):
    """A frame or a sequence of frames that breaks a rule, which the text names."""


@dataclasses.dataclass(frozen=True)
class Packet:
    source: str
    type_of_service: int
    time_to_live: int
    dont_fragment: bool
    source_port: int
    udp_checksum: int
    opcode: int
    migrated: bool
    version: int
    partition_key: int
    destination_qp: int
    ack_request: bool
    psn: int
    address: int = 0
    rkey: int = 0
    dma_length: int = 0
    immediate: int = None
    syndrome: int = 0
    msn: int = 0
    payload: bytes = b""


def frames(capture):
    """The frames of a little-endian pcap file of Ethernet, given as bytes."""
    magic, *_, link_type = struct.unpack_from("<IHHiIII", capture)
    if magic != 0xA1B2C3D4 or link_type != 1:
        raise Wrong(f"no pcap file of Ethernet: magic {magic:#x}, link type {link_type}")
    at = PCAP_HEADER
    while at < len(capture):
        _, _, length, original = struct.unpack_from("<IIII", capture, at)
        if length != original:
            raise Wrong(f"a frame of {original} bytes was cut to {length}")
        yield capture[at + RECORD_HEADER : at + RECORD_HEADER + length]
        at += RECORD_HEADER + length


def icrc(ip):
    """Annex A17.3.3: CRC-32 over eight bytes of ones, standing for the LRH, and the packet from the IP header on, the
    fields that change on the way as ones. The first byte on the wire is the least significant."""
    masked = bytearray(ip)
    masked[1] = masked[8] = 0xFF  # type of service, time to live
    masked[10:12] = masked[26:28] = b"\xff\xff"  # checksums of IP and UDP
    masked[32] = 0xFF  # FECN, BECN and reserved bits of the BTH
    return zlib.crc32(b"\xff" * 8 + masked)


def ip_checksum_is_right(header):
    total = sum(struct.unpack(">10H", header))
    total = (total & 0xFFFF) + (total >> 16)
    return (total & 0xFFFF) + (total >> 16) == 0xFFFF


def is_roce(frame):
    return frame[12:14] == b"\x08\x00" and frame[23] == 17 and frame[36:38] == struct.pack(">H", ROCE_PORT)


def decode(frame):
    """A RoCEv2 frame over untagged IPv4 whose checksums are right."""
    length = struct.unpack_from(">H", frame, 16)[0]
    ip = frame[14 : 14 + length]
    if ip[0] != 0x45 or len(ip) != length or not ip_checksum_is_right(ip[:20]):
        raise Wrong(f"IP header {ip[:20].hex()} of a frame of {len(frame)} bytes")
    source_port, _, udp_length, udp_checksum = struct.unpack_from(">HHHH", ip, 20)
    if udp_length != length - 20:
        raise Wrong(f"UDP length {udp_length} in an IP packet of {length}")
    if icrc(ip[:-4]) != int.from_bytes(ip[-4:], "little"):
        raise Wrong(f"ICRC {ip[-4:].hex()}, computed {icrc(ip[:-4]).to_bytes(4, 'little').hex()}")
    opcode, flags, partition_key, qp, psn = struct.unpack_from(">BBHII", ip, 28)
    fields, at = {}, 40
    if opcode in WITH_RETH:
        fields["address"], fields["rkey"], fields["dma_length"] = struct.unpack_from(">QII", ip, at)
        at += 16
    if opcode in WITH_IMMEDIATE:
        fields["immediate"] = struct.unpack_from(">I", ip, at)[0]
        at += 4
    if opcode == ACKNOWLEDGE:
        (aeth,) = struct.unpack_from(">I", ip, at)
        fields["syndrome"], fields["msn"] = aeth >> 24, aeth & PSN_MASK
        at += 4
    return Packet(
        source=".".join(map(str, ip[12:16])),
        type_of_service=ip[1],
        time_to_live=ip[8],
        dont_fragment=ip[6] & 0x40 != 0,
        source_port=source_port,
        udp_checksum=udp_checksum,
        opcode=opcode,
        migrated=flags & 0x40 != 0,
        version=flags & 0x0F,
        partition_key=partition_key,
        destination_qp=qp & PSN_MASK,
        ack_request=psn >> 31 != 0,
        psn=psn & PSN_MASK,
        payload=ip[at : len(ip) - 4 - (flags >> 4 & 3)],
        **fields,
    )


def source_port(local_qp, remote_qp):
    """Linux include/rdma/ib_verbs.h: rdma_calc_flow_label, rdma_flow_label_to_udp_sport."""
    label = local_qp * remote_qp
    label ^= label >> 20
    label ^= label >> 40
    label &= 0xFFFFF
    return 0xC000 | ((label & 0x3FFF) ^ (label >> 14))


def requests_by_psn(packets, first_psn):
    """The requests to one queue pair in the order of their PSNs, each once; those sent again must not differ."""
    distinct = {}
    for packet in packets:
        distance = (packet.psn - first_psn) & PSN_MASK
        same = dataclasses.replace(packet, ack_request=False)
        if distinct.setdefault(distance, same) != same:
            raise Wrong(f"PSN {packet.psn:#x} was sent again with other contents")
    if sorted(distinct) != list(range(len(distinct))):
        raise Wrong(f"the PSNs from {first_psn:#x} have gaps")
    return [distinct[distance] for distance in range(len(distinct))]


def written_messages(packets, first_psn, mtu):
    """The RDMA WRITEs to one queue pair: (RETH's packet, immediate or None, payload) for each, in order (IBTA 9.7.4.1,
    9.9.2: opcodes in sequence, every packet but the last full, lengths that add up)."""
    messages, first, payload = [], None, b""
    for packet in requests_by_psn(packets, first_psn):
        if (packet.opcode in WITH_RETH) == (first is not None):
            raise Wrong(f"opcode {packet.opcode:#x} at PSN {packet.psn:#x}")
        first = first or packet
        payload += packet.payload
        if packet.opcode not in ENDING:
            if len(packet.payload) != mtu:
                raise Wrong(f"{len(packet.payload)} bytes at PSN {packet.psn:#x} inside a message")
            continue
        if len(payload) != first.dma_length or len(packet.payload) > mtu:
            raise Wrong(f"a message of {first.dma_length} bytes carries {len(payload)}")
        messages.append((first, packet.immediate, payload))
        first, payload = None, b""
    if first is not None:
        raise Wrong("the last message has no end")
    return messages

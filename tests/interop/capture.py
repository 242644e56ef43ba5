"""RoCEv2 out of pcap files, decoded from the specifications alone: InfiniBand Architecture Specification (IBTA) Vol. 1
chapter 9 and Annex A17, IEEE 802.1Q, RFC 791, RFC 8200, RFC 768. Shares nothing with the code under test."""

import dataclasses
import ipaddress
import struct
import zlib

ROCE_PORT = 4791
PSN_MASK = 0xFFFFFF
IPV4, IPV6, VLAN = 0x0800, 0x86DD, 0x8100
UDP = 17

SEND_FIRST, SEND_MIDDLE, SEND_LAST, SEND_LAST_IMMEDIATE, SEND_ONLY, SEND_ONLY_IMMEDIATE = range(0x00, 0x06)
WRITE_FIRST, WRITE_MIDDLE, WRITE_LAST, WRITE_LAST_IMMEDIATE, WRITE_ONLY, WRITE_ONLY_IMMEDIATE = range(0x06, 0x0C)
READ_REQUEST, RESPONSE_FIRST, RESPONSE_MIDDLE, RESPONSE_LAST, RESPONSE_ONLY, ACKNOWLEDGE = range(0x0C, 0x12)
WITH_RETH = (WRITE_FIRST, WRITE_ONLY, WRITE_ONLY_IMMEDIATE, READ_REQUEST)
WITH_IMMEDIATE = (SEND_LAST_IMMEDIATE, SEND_ONLY_IMMEDIATE, WRITE_LAST_IMMEDIATE, WRITE_ONLY_IMMEDIATE)
WITH_AETH = (RESPONSE_FIRST, RESPONSE_LAST, RESPONSE_ONLY, ACKNOWLEDGE)
RESPONSES = (RESPONSE_FIRST, RESPONSE_MIDDLE, RESPONSE_LAST, RESPONSE_ONLY)

# The operation of which an opcode begins, continues or ends the packets (IBTA table 38).
SEND, WRITE, READ = "SEND", "WRITE", "READ"
BEGINNING = (SEND_FIRST, SEND_ONLY, SEND_ONLY_IMMEDIATE, WRITE_FIRST, WRITE_ONLY, WRITE_ONLY_IMMEDIATE)
ENDING = (SEND_LAST, SEND_LAST_IMMEDIATE, SEND_ONLY, SEND_ONLY_IMMEDIATE)
ENDING += (WRITE_LAST, WRITE_LAST_IMMEDIATE, WRITE_ONLY, WRITE_ONLY_IMMEDIATE)

PCAP_HEADER, RECORD_HEADER = 24, 16


class Wrong(Exception):
    """A frame or a sequence of frames that breaks a rule, which the text names."""


@dataclasses.dataclass(frozen=True)
class Packet:
    vlan: int  # 0: untagged
    priority: int
    source: str
    destination: str
    type_of_service: int  # or traffic class
    time_to_live: int  # or hop limit
    fragmentable: bool
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


@dataclasses.dataclass(frozen=True)
class Operation:
    """One SEND, RDMA WRITE or RDMA READ as its requests, or its request and the responses, tell it."""

    verb: str
    first: Packet
    immediate: int
    payload: bytes


def frames(capture):
    """The frames of a little-endian pcap file of Ethernet, given as bytes."""
    return (frame for _, frame in timed_frames(capture))


def timed_frames(capture):
    """The same, each with the time when it was captured, in seconds."""
    magic, *_, link_type = struct.unpack_from("<IHHiIII", capture)
    if magic != 0xA1B2C3D4 or link_type != 1:
        raise Wrong(f"no pcap file of Ethernet: magic {magic:#x}, link type {link_type}")
    at = PCAP_HEADER
    while at < len(capture):
        seconds, microseconds, length, original = struct.unpack_from("<IIII", capture, at)
        if length != original:
            raise Wrong(f"a frame of {original} bytes was cut to {length}")
        yield seconds + microseconds / 1e6, capture[at + RECORD_HEADER : at + RECORD_HEADER + length]
        at += RECORD_HEADER + length


def network_layer(frame):
    """EtherType, VLAN, priority and what follows."""
    ether_type, tag = struct.unpack_from(">HH", frame, 12)
    if ether_type != VLAN:
        return ether_type, 0, 0, frame[14:]
    return struct.unpack_from(">H", frame, 16)[0], tag & 0xFFF, tag >> 13, frame[18:]


def is_roce(frame):
    ether_type, _, _, ip = network_layer(frame)
    if ether_type == IPV4:
        return ip[9] == UDP and ip[22:24] == struct.pack(">H", ROCE_PORT)
    return ether_type == IPV6 and ip[6] == UDP and ip[42:44] == struct.pack(">H", ROCE_PORT)


def icrc(ip, udp):
    """Annex A17.3.3: CRC-32 over eight bytes of ones, standing for the LRH, and the packet from the IP header on, the
    fields that change on the way as ones. The first byte on the wire is the least significant."""
    header, rest = bytearray(ip), bytearray(udp)
    if header[0] >> 4 == 4:
        header[1] = header[8] = 0xFF  # type of service, time to live
        header[10:12] = b"\xff\xff"  # checksum
    else:
        header[0:4] = b"\x6f\xff\xff\xff"  # traffic class, flow label
        header[7] = 0xFF  # hop limit
    rest[6:8] = b"\xff\xff"  # checksum
    rest[12] = 0xFF  # FECN, BECN and reserved bits of the BTH
    return zlib.crc32(b"\xff" * 8 + header + rest)


def ip_checksum_is_right(header):
    total = sum(struct.unpack(">10H", header))
    total = (total & 0xFFFF) + (total >> 16)
    return (total & 0xFFFF) + (total >> 16) == 0xFFFF


def split_ipv4(packet):
    length = struct.unpack_from(">H", packet, 2)[0]
    ip, udp = packet[:20], packet[20:length]
    if ip[0] != 0x45 or len(packet) < length or not ip_checksum_is_right(ip):
        raise Wrong(f"IP header {ip.hex()} of a packet of {len(packet)} bytes")
    fields = {"type_of_service": ip[1], "time_to_live": ip[8], "fragmentable": ip[6] & 0x40 == 0}
    return ip, udp, fields | {"source": ip[12:16], "destination": ip[16:20]}


def split_ipv6(packet):
    word, length = struct.unpack_from(">IH", packet)
    ip, udp = packet[:40], packet[40 : 40 + length]
    if word >> 28 != 6 or len(udp) != length:
        raise Wrong(f"IPv6 header {ip.hex()} of a packet of {len(packet)} bytes")
    fields = {"type_of_service": word >> 20 & 0xFF, "time_to_live": ip[7], "fragmentable": False}
    return ip, udp, fields | {"source": ip[8:24], "destination": ip[24:40]}


def decode(frame):
    """A RoCEv2 frame whose lengths and checksums are right."""
    ether_type, vlan, priority, packet = network_layer(frame)
    ip, udp, fields = (split_ipv4 if ether_type == IPV4 else split_ipv6)(packet)
    for end in ("source", "destination"):
        fields[end] = str(ipaddress.ip_address(fields[end]))
    source_port, _, udp_length, udp_checksum = struct.unpack_from(">HHHH", udp)
    if udp_length != len(udp):
        raise Wrong(f"UDP length {udp_length} in an IP packet with {len(udp)}")
    if icrc(ip, udp[:-4]) != int.from_bytes(udp[-4:], "little"):
        computed = icrc(ip, udp[:-4]).to_bytes(4, "little").hex()
        raise Wrong(f"ICRC {udp[-4:].hex()}, computed {computed}")
    opcode, flags, partition_key, qp, psn = struct.unpack_from(">BBHII", udp, 8)
    at = 20
    if opcode in WITH_RETH:
        fields["address"], fields["rkey"], fields["dma_length"] = struct.unpack_from(">QII", udp, at)
        at += 16
    if opcode in WITH_IMMEDIATE:
        fields["immediate"] = struct.unpack_from(">I", udp, at)[0]
        at += 4
    if opcode in WITH_AETH:
        (aeth,) = struct.unpack_from(">I", udp, at)
        fields["syndrome"], fields["msn"] = aeth >> 24, aeth & PSN_MASK
        at += 4
    return Packet(
        vlan=vlan,
        priority=priority,
        source_port=source_port,
        udp_checksum=udp_checksum,
        opcode=opcode,
        migrated=flags & 0x40 != 0,
        version=flags & 0x0F,
        partition_key=partition_key,
        destination_qp=qp & PSN_MASK,
        ack_request=psn >> 31 != 0,
        psn=psn & PSN_MASK,
        payload=udp[at : len(udp) - 4 - (flags >> 4 & 3)],
        **fields,
    )


def source_port(local_qp, remote_qp):
    """Linux include/rdma/ib_verbs.h: rdma_calc_flow_label, rdma_flow_label_to_udp_sport."""
    label = local_qp * remote_qp
    label ^= label >> 20
    label ^= label >> 40
    label &= 0xFFFFF
    return 0xC000 | ((label & 0x3FFF) ^ (label >> 14))


def is_answer(packet):
    return packet.opcode == ACKNOWLEDGE or packet.opcode in RESPONSES


def packets_of(request, mtu):
    """The sequence numbers that a request takes: a READ those of its responses (IBTA 9.7.3.1)."""
    return max(1, -(-request.dma_length // mtu)) if request.opcode == READ_REQUEST else 1


def requests_by_psn(packets, first_psn, mtu):
    """The requests to one queue pair in the order of their PSNs, each once; those sent again must not differ, but that
    a READ may ask for the rest only (IBTA 9.7.5.1.3)."""
    distinct = {}
    for packet in packets:
        distance = (packet.psn - first_psn) & PSN_MASK
        same = dataclasses.replace(packet, ack_request=False)
        if distinct.setdefault(distance, same) != same:
            raise Wrong(f"PSN {packet.psn:#x} was sent again with other contents")
    order, expected = [], 0
    for distance in sorted(distinct):
        request = distinct[distance]
        if distance < expected:
            check_is_rest(order[-1], request, mtu)
            continue
        if distance != expected:
            raise Wrong(f"the PSNs from {first_psn:#x} have gaps")
        order.append(request)
        expected += packets_of(request, mtu)
    return order


def check_is_rest(whole, rest, mtu):
    skipped = ((rest.psn - whole.psn) & PSN_MASK) * mtu
    expected = READ_REQUEST, whole.address + skipped, whole.dma_length - skipped
    if (rest.opcode, rest.address, rest.dma_length) != expected:
        raise Wrong(f"PSN {rest.psn:#x} is no rest of the READ at {whole.psn:#x}")


def operations(requests, responses, first_psn, mtu):
    """What one queue pair asked of another: the `requests` to it and its `responses`, with the rules of IBTA 9.7.4.1
    and 9.9.2: opcodes in sequence, every packet but the last full, lengths that add up."""
    done, first, payload = [], None, b""
    answers = {}
    for response in responses:
        if response.opcode in RESPONSES:
            answers.setdefault(response.psn, set()).add(response.payload)
    for packet in requests_by_psn(requests, first_psn, mtu):
        if (packet.opcode in BEGINNING or packet.opcode == READ_REQUEST) == (first is not None):
            raise Wrong(f"opcode {packet.opcode:#x} at PSN {packet.psn:#x}")
        if packet.opcode == READ_REQUEST:
            done.append(Operation(READ, packet, None, read_payload(packet, answers, mtu)))
            continue
        first = first or packet
        verb = SEND if first.opcode <= SEND_ONLY_IMMEDIATE else WRITE
        if verb != (SEND if packet.opcode <= SEND_ONLY_IMMEDIATE else WRITE):
            raise Wrong(f"opcode {packet.opcode:#x} at PSN {packet.psn:#x} inside a {verb}")
        payload += packet.payload
        if packet.opcode not in ENDING:
            if len(packet.payload) != mtu:
                raise Wrong(f"{len(packet.payload)} bytes at PSN {packet.psn:#x} inside a message")
            continue
        if len(packet.payload) > mtu or (verb == WRITE and len(payload) != first.dma_length):
            raise Wrong(f"a message of {first.dma_length} bytes carries {len(payload)}")
        done.append(Operation(verb, first, packet.immediate, payload))
        first, payload = None, b""
    if first is not None:
        raise Wrong("the last message has no end")
    return done


def read_payload(request, answers, mtu):
    """What was read: every response that was sent, and sent again, for the same PSN carries the same."""
    payload = b""
    for i in range(packets_of(request, mtu)):
        found = answers.get((request.psn + i) & PSN_MASK, set())
        if len(found) != 1:
            raise Wrong(f"{len(found)} different responses to the READ at {request.psn:#x}, packet {i}")
        payload += found.pop()
    if len(payload) != request.dma_length:
        raise Wrong(f"a READ of {request.dma_length} bytes was answered with {len(payload)}")
    return payload

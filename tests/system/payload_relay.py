"""A device between two interfaces that passes frames on, and inverts a bit of some RoCEv2 payloads.

payload_relay.py ONE OTHER LENGTH COUNT: of the first COUNT data packets with a payload of LENGTH bytes; it makes their ICRC
right again, as no fault on a wire would, so that nothing but a look at the payload tells. Prints a line once it is there.
"""

import select
import socket
import struct
import sys
import zlib

ETHERNET, IPV4, UDP, BTH, RETH, ICRC = 14, 20, 8, 12, 16, 4
ROCE_PORT = 4791
EVERYTHING = 3  # ETH_P_ALL
WITH_RETH = {0x06, 0x0A, 0x0B}  # RDMA WRITE first, only, only with immediate data
IMMEDIATE = {0x03, 0x05, 0x09, 0x0B}  # last or only with four bytes of immediate data, of SENDs and WRITEs
DATA = range(0x00, 0x0C)  # SENDs and WRITEs of reliable connections


def payload_of(frame):
    """Where it begins and ends; of what is no data packet both the same."""
    bth = ETHERNET + IPV4 + UDP
    if len(frame) < bth + BTH + ICRC or frame[12:14] != b"\x08\x00" or frame[23] != socket.IPPROTO_UDP:
        return 0, 0
    port, length = struct.unpack_from(">HH", frame, ETHERNET + IPV4 + 2)
    opcode, flags = frame[bth], frame[bth + 1]
    if port != ROCE_PORT or opcode not in DATA:
        return 0, 0
    begin = bth + BTH + (RETH if opcode in WITH_RETH else 0) + (4 if opcode in IMMEDIATE else 0)
    return begin, ETHERNET + IPV4 + length - ICRC - (flags >> 4 & 3)  # bytes of padding


def inverted(frame, at):
    """With another bit there and the ICRC of that. CRCs are linear: what changes with a bit is the same in any packet."""
    end = ETHERNET + IPV4 + struct.unpack_from(">H", frame, ETHERNET + IPV4 + 4)[0] - ICRC
    changed = bytearray(frame)
    changed[at] ^= 1
    nothing = bytes(end - ETHERNET)
    one = bytearray(nothing)
    one[at - ETHERNET] = 1
    change = zlib.crc32(bytes(one)) ^ zlib.crc32(nothing)
    (icrc,) = struct.unpack_from("<I", frame, end)
    struct.pack_into("<I", changed, end, icrc ^ change)
    return bytes(changed)


def main(one, other, length, count):
    ends = []
    for name in (one, other):
        end = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(EVERYTHING))
        end.bind((name, EVERYTHING))
        ends.append(end)
    print("ready", flush=True)
    while True:
        for end in select.select(ends, [], [])[0]:
            frame, address = end.recvfrom(65536)
            if address[2] == socket.PACKET_OUTGOING:
                continue
            begin, behind = payload_of(frame)
            if behind - begin == length and count > 0:
                frame = inverted(frame, begin)
                count -= 1
            ends[1 - ends.index(end)].send(frame)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))

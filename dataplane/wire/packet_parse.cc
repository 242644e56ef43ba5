// Packets on the way in.
#include <cstring>

#include "dataplane/wire/icrc.h"
#include "dataplane/wire/packet.h"

namespace rankwire {
namespace {

template <class Header>
const Header& header_at(const Frame& frame, uint32_t offset) noexcept {
  static_assert(alignof(Header) == 1);
  return *reinterpret_cast<const Header*>(frame.head + offset);
}

// Reads what a UDP packet of either version has at `udp_offset`. Behind this a frame is RoCEv2, whatever else it is.
Reject check_udp_port(const Frame& frame, uint32_t udp_offset) noexcept {
  if (frame.head_length < udp_offset + offsetof(UdpHeader, length)) return Reject::kRunt;
  const bool roce = header_at<UdpHeader>(frame, udp_offset).destination_port.value() == kRoceUdpPort;
  return roce ? Reject::kNone : Reject::kUdpPort;
}

Reject check_udp_length(const Frame& frame, uint32_t udp_offset, uint32_t end) noexcept {
  if (udp_offset + sizeof(TransportHeader) + kIcrcBytes > end) return Reject::kIpLength;
  if (end > frame.length()) return Reject::kTruncated;
  return udp_offset + header_at<UdpHeader>(frame, udp_offset).length.value() == end ? Reject::kNone
                                                                                    : Reject::kUdpLength;
}

// Why a frame is not an unfragmented packet without options to RoCEv2's port whose headers are all in `head`. What does
// not say that it goes to that port is other people's.
[[gnu::noinline]] Reject reject_ipv4(const Frame& frame, uint32_t ip_offset) noexcept {
  if (frame.head_length < ip_offset + sizeof(Ipv4Header)) return Reject::kRunt;
  const auto& ip = header_at<Ipv4Header>(frame, ip_offset);
  const uint32_t words = ip.version_length & 0x0F;
  if (ip.version_length >> 4 != 4 || words < sizeof(Ipv4Header) / 4) return Reject::kIpVersion;
  if (ip.protocol != kIpProtocolUdp) return ip.protocol == kIpProtocolIcmp ? Reject::kIcmp : Reject::kIpProtocol;
  if ((ip.flags_and_offset.value() & Ipv4Header::kOffsetBits) != 0) return Reject::kUdpPort;
  if (const Reject reject = check_udp_port(frame, ip_offset + 4 * words); reject != Reject::kNone) return reject;
  if (ip.version_length != Ipv4Header::kVersionAndLength) return Reject::kIpVersion;
  return frame.head_length < ip_offset + sizeof ip + sizeof(TransportHeader) ? Reject::kTruncated : Reject::kIpFragment;
}

// Checks up to and with the UDP header; `bth_offset` and `icrc_offset` are found on the way.
Reject check_ipv4(const Frame& frame, ParsedPacket& packet) noexcept {
  const uint32_t udp_offset = packet.ip_offset + sizeof(Ipv4Header);
  if (frame.head_length < udp_offset + sizeof(TransportHeader)) return reject_ipv4(frame, packet.ip_offset);
  const auto& ip = header_at<Ipv4Header>(frame, packet.ip_offset);
  if (ip.version_length != Ipv4Header::kVersionAndLength || ip.protocol != kIpProtocolUdp ||
      (ip.flags_and_offset.value() & Ipv4Header::kFragmentBits) != 0 ||
      header_at<UdpHeader>(frame, udp_offset).destination_port.value() != kRoceUdpPort)
    return reject_ipv4(frame, packet.ip_offset);
  if (ip.checksum != ipv4_checksum(ip)) return Reject::kIpChecksum;
  packet.ip_version = IpVersion::kIpv4;
  packet.bth_offset = static_cast<uint8_t>(udp_offset + sizeof(UdpHeader));
  packet.dscp = ip.type_of_service >> 2;
  packet.ecn = static_cast<Ecn>(ip.type_of_service & 3);
  const uint32_t end = packet.ip_offset + uint32_t{ip.total_length.value()};
  packet.icrc_offset = end - kIcrcBytes;
  return check_udp_length(frame, udp_offset, end);
}

Reject check_ipv6(const Frame& frame, ParsedPacket& packet) noexcept {
  const uint32_t udp_offset = packet.ip_offset + sizeof(Ipv6Header);
  if (frame.head_length < udp_offset) return Reject::kRunt;
  const auto& ip = header_at<Ipv6Header>(frame, packet.ip_offset);
  if (ip.version() != 6) return Reject::kIpVersion;
  if (ip.next_header != kIpProtocolUdp)
    return ip.next_header == kIpProtocolIcmpv6 ? Reject::kIcmpv6 : Reject::kIpProtocol;
  if (const Reject reject = check_udp_port(frame, udp_offset); reject != Reject::kNone) return reject;
  packet.ip_version = IpVersion::kIpv6;
  packet.bth_offset = static_cast<uint8_t>(udp_offset + sizeof(UdpHeader));
  if (frame.head_length < packet.bth_offset + sizeof(Bth)) return Reject::kTruncated;
  packet.dscp = ip.traffic_class() >> 2;
  packet.ecn = static_cast<Ecn>(ip.traffic_class() & 3);
  const uint32_t end = udp_offset + ip.payload_length.value();
  packet.icrc_offset = end - kIcrcBytes;
  return check_udp_length(frame, udp_offset, end);
}

Reject check_link_and_network(const Frame& frame, ParsedPacket& packet) noexcept {
  if (frame.head_length < sizeof(EthernetHeader)) return Reject::kRunt;
  packet.head = frame.head;
  packet.ip_offset = sizeof(EthernetHeader);
  uint16_t ether_type = packet.ethernet().ether_type.value();
  if (ether_type == kEtherTypeVlan) {
    packet.ip_offset += sizeof(VlanTag);
    if (frame.head_length < packet.ip_offset) return Reject::kRunt;
    const auto& tag = header_at<VlanTag>(frame, sizeof(EthernetHeader));
    packet.vlan = tag.control.value() & VlanTag::kIdentifierMask;
    packet.priority = static_cast<uint8_t>(tag.control.value() >> VlanTag::kPriorityShift);
    ether_type = tag.ether_type.value();
  }
  switch (ether_type) {
    case kEtherTypeIpv4:
      return check_ipv4(frame, packet);
    case kEtherTypeIpv6:
      return check_ipv6(frame, packet);
    case kEtherTypeArp:
      return Reject::kArp;
    case kEtherTypeVlan:
    case kEtherTypeServiceVlan:
      return Reject::kVlanTag;
    default:
      return Reject::kEtherType;
  }
}

Reject check_bth(const Bth& bth) noexcept {
  if ((bth.flags & Bth::kVersionMask) != 0) return Reject::kBthVersion;
  // IBTA 10.9.3: the low 15 bits match, and one of the two is a full member, which this end is.
  if (((bth.partition_key.value() ^ kDefaultPartitionKey) & 0x7FFF) != 0) return Reject::kPartitionKey;
  return layout_of(bth.opcode).known ? Reject::kNone : Reject::kOpcode;
}

void read_bth(const Bth& bth, ParsedPacket& packet) noexcept {
  packet.opcode = bth.opcode;
  packet.solicited = (bth.flags & Bth::kSolicited) != 0;
  packet.pad = (bth.flags & Bth::kPadMask) >> Bth::kPadShift;
  packet.ack_request = (bth.ack_request & Bth::kAckRequest) != 0;
  packet.destination_qp = bth.destination_qp.value();
  packet.psn = bth.psn.value();
}

void read_extended_headers(const OpcodeLayout& layout, const uint8_t* p, ParsedPacket& packet) noexcept {
  if (layout.reth) {
    Reth reth;
    std::memcpy(&reth, p, sizeof reth);
    packet.address = reth.address.value();
    packet.rkey = reth.rkey.value();
    packet.dma_length = reth.dma_length.value();
    p += sizeof reth;
  }
  if (layout.aeth) {
    Aeth aeth;
    std::memcpy(&aeth, p, sizeof aeth);
    packet.syndrome = aeth.syndrome;
    packet.msn = aeth.msn.value();
    p += sizeof aeth;
  }
  if (layout.immediate) {
    ImmediateHeader immediate;
    std::memcpy(&immediate, p, sizeof immediate);
    packet.immediate = immediate.value.value();
  }
}

// Finds payload and pad between the headers' end and the ICRC.
Reject locate_payload(const Frame& frame, const OpcodeLayout& layout, uint32_t headers_end,
                      ParsedPacket& packet) noexcept {
  if (headers_end > packet.icrc_offset) return Reject::kExtendedHeader;
  const uint32_t padded = packet.icrc_offset - headers_end;
  if (packet.pad > padded || (!layout.payload && padded > 0)) return Reject::kPad;
  packet.payload_length = padded - packet.pad;
  if (frame.payload_length == 0 && frame.tail_length == 0) {
    packet.payload = frame.head + headers_end;
    return Reject::kNone;
  }
  packet.payload = frame.payload;
  const bool whole = frame.head_length == headers_end && frame.payload_length == packet.payload_length &&
                     frame.tail_length == packet.pad + kIcrcBytes;
  return whole ? Reject::kNone : Reject::kScattered;
}

Reject parse_into(const Frame& frame, ParsedPacket& packet) noexcept {
  if (const Reject reject = check_link_and_network(frame, packet); reject != Reject::kNone) return reject;
  const Bth& bth = packet.bth();
  if (const Reject reject = check_bth(bth); reject != Reject::kNone) return reject;
  read_bth(bth, packet);
  const OpcodeLayout& layout = layout_of(packet.opcode);
  const uint32_t bth_end = packet.bth_offset + sizeof(Bth);
  const uint32_t headers_end = bth_end + layout.extended_header_bytes;
  if (headers_end > frame.head_length) return Reject::kExtendedHeader;
  if (const Reject reject = locate_payload(frame, layout, headers_end, packet); reject != Reject::kNone) return reject;
  read_extended_headers(layout, frame.head + bth_end, packet);
  return Reject::kNone;
}

uint32_t load_little_endian(const uint8_t* in) noexcept {
  return in[0] | uint32_t{in[1]} << 8 | uint32_t{in[2]} << 16 | uint32_t{in[3]} << 24;
}

IpAddress address_at(const ParsedPacket& packet, uint32_t from_udp) noexcept {
  const uint8_t* const udp = packet.head + packet.bth_offset - sizeof(UdpHeader);
  if (packet.ip_version == IpVersion::kIpv4) {
    Be32 ip;
    std::memcpy(&ip, udp - from_udp * sizeof ip, sizeof ip);
    return Ipv4Address{ip.value()};
  }
  IpAddress ip;
  std::memcpy(&ip, udp - from_udp * sizeof ip, sizeof ip);
  return ip;
}

}  // namespace

const char* to_string(Reject reject) {
  switch (reject) {
    case Reject::kNone:
      return "accepted";
    case Reject::kArp:
      return "ARP";
    case Reject::kIcmp:
      return "ICMP";
    case Reject::kIcmpv6:
      return "ICMPv6";
    case Reject::kVlanTag:
      return "stacked VLAN tags";
    case Reject::kEtherType:
      return "other EtherType";
    case Reject::kIpProtocol:
      return "not UDP";
    case Reject::kUdpPort:
      return "other UDP port";
    case Reject::kRunt:
      return "runt";
    case Reject::kTruncated:
      return "truncated";
    case Reject::kIpVersion:
      return "IP version or options";
    case Reject::kIpChecksum:
      return "IP checksum";
    case Reject::kIpFragment:
      return "IP fragment";
    case Reject::kIpLength:
      return "IP length";
    case Reject::kUdpLength:
      return "UDP length";
    case Reject::kBthVersion:
      return "BTH version";
    case Reject::kPartitionKey:
      return "partition key";
    case Reject::kOpcode:
      return "opcode";
    case Reject::kExtendedHeader:
      return "no room for extended headers";
    case Reject::kPad:
      return "pad count";
    case Reject::kScattered:
      return "scattered";
  }
  return "unknown";
}

IpAddress ParsedPacket::source_ip() const noexcept {
  return address_at(*this, 2);
}

IpAddress ParsedPacket::destination_ip() const noexcept {
  return address_at(*this, 1);
}

ParsedPacket parse(const Frame& frame) noexcept {
  ParsedPacket packet;
  packet.reject = parse_into(frame, packet);
  return packet;
}

bool icrc_matches(const Frame& frame, const ParsedPacket& packet) noexcept {
  const uint8_t* const found =
      frame.tail_length > 0 ? frame.tail + frame.tail_length - kIcrcBytes : frame.head + packet.icrc_offset;
  return load_little_endian(found) == icrc(frame, packet.ip_offset, packet.icrc_offset);
}

}  // namespace rankwire

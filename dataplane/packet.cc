#include "dataplane/packet.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "dataplane/icrc.h"

namespace rankwire {
namespace {

// Which headers follow BTH (IBTA table 38).
struct Layout {
  bool known = false, reth = false, aeth = false, immediate = false, payload = false;
  uint8_t reserved = 0;  // bytes that carry nothing (CNP, Annex A17.9.3)

  constexpr uint32_t size() const { return (reth ? 16u : 0u) + (aeth ? 4u : 0u) + (immediate ? 4u : 0u) + reserved; }
};

constexpr Layout choose_layout(Opcode opcode) {
  switch (opcode) {
    case Opcode::kSendFirst:
    case Opcode::kSendMiddle:
    case Opcode::kSendLast:
    case Opcode::kSendOnly:
    case Opcode::kWriteMiddle:
    case Opcode::kWriteLast:
      return {.known = true, .payload = true};
    case Opcode::kSendLastImmediate:
    case Opcode::kSendOnlyImmediate:
    case Opcode::kWriteLastImmediate:
      return {.known = true, .immediate = true, .payload = true};
    case Opcode::kWriteFirst:
    case Opcode::kWriteOnly:
      return {.known = true, .reth = true, .payload = true};
    case Opcode::kWriteOnlyImmediate:
      return {.known = true, .reth = true, .immediate = true, .payload = true};
    case Opcode::kReadRequest:
      return {.known = true, .reth = true};
    case Opcode::kAcknowledge:
      return {.known = true, .aeth = true};
    case Opcode::kCongestionNotification:
      return {.known = true, .reserved = 16};
  }
  return {};
}

constexpr auto kLayouts = [] {
  std::array<Layout, 256> layouts{};
  for (size_t i = 0; i < layouts.size(); ++i) layouts[i] = choose_layout(static_cast<Opcode>(i));
  return layouts;
}();

const Layout& layout_of(Opcode opcode) noexcept {
  return kLayouts[static_cast<size_t>(opcode)];
}

Reject check_link_and_network(const Frame& frame, const BaseHeader& header) noexcept {
  const Ipv4Header& ip = header.ip;
  if (ip.version_length != Ipv4Header::kVersionAndLength) return Reject::kIpVersion;
  if (ip.checksum != ipv4_checksum(ip)) return Reject::kIpChecksum;
  if (ip.protocol != kIpProtocolUdp) return Reject::kIpProtocol;
  if ((ip.flags_and_offset.value() & Ipv4Header::kFragmentBits) != 0) return Reject::kIpFragment;
  if (header.udp.destination_port.value() != kRoceUdpPort) return Reject::kUdpPort;
  const uint32_t total = ip.total_length.value();
  if (total < sizeof(BaseHeader) - sizeof(EthernetHeader) + kIcrcBytes) return Reject::kIpLength;
  if (sizeof(EthernetHeader) + total > frame.length()) return Reject::kTruncated;
  if (header.udp.length.value() + sizeof(Ipv4Header) != total) return Reject::kUdpLength;
  return Reject::kNone;
}

Reject check_ethernet(const Frame& frame) noexcept {
  if (frame.head_length < sizeof(EthernetHeader)) return Reject::kTruncated;
  EthernetHeader ethernet;
  std::memcpy(&ethernet, frame.head, sizeof ethernet);
  switch (ethernet.ether_type.value()) {
    case kEtherTypeIpv4:
      return frame.head_length < sizeof(BaseHeader) ? Reject::kTruncated : Reject::kNone;
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
  return Reject::kNone;
}

void read_extended_headers(const Layout& layout, const uint8_t* p, ParsedPacket& packet) noexcept {
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

// Finds payload, pad and ICRC between the headers' end and the end of the IP packet.
Reject locate_payload(const Frame& frame, const Layout& layout, uint32_t headers_end, ParsedPacket& packet) noexcept {
  const uint32_t end = sizeof(EthernetHeader) + packet.header->ip.total_length.value();
  if (headers_end + kIcrcBytes > end) return Reject::kExtendedHeader;
  packet.icrc_offset = end - kIcrcBytes;
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
  if (const Reject reject = check_ethernet(frame); reject != Reject::kNone) return reject;
  const BaseHeader& header = *reinterpret_cast<const BaseHeader*>(frame.head);
  packet.header = &header;
  if (const Reject reject = check_link_and_network(frame, header); reject != Reject::kNone) return reject;
  if (const Reject reject = check_bth(header.bth); reject != Reject::kNone) return reject;
  packet.opcode = header.bth.opcode;
  const Layout& layout = layout_of(packet.opcode);
  if (!layout.known) return Reject::kOpcode;
  packet.ecn = static_cast<Ecn>(header.ip.type_of_service & 3);
  packet.pad = (header.bth.flags & Bth::kPadMask) >> Bth::kPadShift;
  packet.ack_request = (header.bth.ack_request & Bth::kAckRequest) != 0;
  packet.destination_qp = header.bth.destination_qp.value();
  packet.psn = header.bth.psn.value();
  const uint32_t headers_end = sizeof(BaseHeader) + layout.size();
  if (headers_end > frame.head_length) return Reject::kExtendedHeader;
  if (const Reject reject = locate_payload(frame, layout, headers_end, packet); reject != Reject::kNone) return reject;
  read_extended_headers(layout, frame.head + sizeof(BaseHeader), packet);
  return Reject::kNone;
}

const uint8_t* icrc_bytes(const Frame& frame) noexcept {
  return frame.tail + frame.tail_length - kIcrcBytes;
}

// RFC 1624 equation 3: the header checksum after the total length has changed.
Be16 checksum_with_length(const Ipv4Header& ip, uint16_t total_length) noexcept {
  uint32_t sum = static_cast<uint16_t>(~ip.checksum.value()) +
                 uint32_t{static_cast<uint16_t>(~ip.total_length.value())} + uint32_t{total_length};
  sum = (sum & 0xFFFF) + (sum >> 16);
  sum = (sum & 0xFFFF) + (sum >> 16);
  return Be16(static_cast<uint16_t>(~sum));
}

// `size` counts the bytes from BTH to the ICRC, both included.
BaseHeader* start_packet(const HeaderTemplate& path, uint32_t size, Frame& frame) noexcept {
  std::memcpy(frame.head, &path.header, sizeof(BaseHeader));
  auto* const header = reinterpret_cast<BaseHeader*>(frame.head);
  const auto udp_length = static_cast<uint16_t>(sizeof(UdpHeader) + size);
  const auto total_length = static_cast<uint16_t>(sizeof(Ipv4Header) + udp_length);
  header->ip.checksum = checksum_with_length(path.header.ip, total_length);
  header->ip.total_length = Be16(total_length);
  header->udp.length = Be16(udp_length);
  return header;
}

void store_little_endian(uint32_t value, uint8_t* out) noexcept {
  for (int i = 0; i < 4; ++i) out[i] = static_cast<uint8_t>(value >> (8 * i));
}

uint32_t load_little_endian(const uint8_t* in) noexcept {
  return in[0] | uint32_t{in[1]} << 8 | uint32_t{in[2]} << 16 | uint32_t{in[3]} << 24;
}

}  // namespace

const char* to_string(Reject reject) {
  switch (reject) {
    case Reject::kNone:
      return "accepted";
    case Reject::kArp:
      return "ARP";
    case Reject::kVlanTag:
      return "VLAN tag";
    case Reject::kEtherType:
      return "other EtherType";
    case Reject::kIpProtocol:
      return "not UDP";
    case Reject::kUdpPort:
      return "other UDP port";
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

ParsedPacket parse(const Frame& frame) noexcept {
  ParsedPacket packet;
  packet.reject = parse_into(frame, packet);
  return packet;
}

bool icrc_matches(const Frame& frame, const ParsedPacket& packet) noexcept {
  const uint8_t* const found = frame.tail_length > 0 ? icrc_bytes(frame) : frame.head + packet.icrc_offset;
  return load_little_endian(found) == icrc(frame, packet.icrc_offset);
}

HeaderTemplate make_template(const PacketPath& path) {
  HeaderTemplate result;
  BaseHeader& header = result.header;
  header.ethernet = {path.destination_mac, path.source_mac, Be16(kEtherTypeIpv4)};
  header.ip.type_of_service = static_cast<uint8_t>(path.dscp << 2 | static_cast<uint8_t>(path.ecn));
  header.ip.flags_and_offset = Be16(Ipv4Header::kDontFragment);
  header.ip.time_to_live = path.time_to_live;
  header.ip.source = Be32(path.source_ip.ipv4().value);
  header.ip.destination = Be32(path.destination_ip.ipv4().value);
  header.ip.checksum = ipv4_checksum(header.ip);
  header.udp.source_port = Be16(udp_source_port(path.source_qp, path.destination_qp));
  header.udp.destination_port = Be16(kRoceUdpPort);
  header.bth.flags = path.migration == Migration::kMigrated ? Bth::kMigrated : 0;
  header.bth.partition_key = Be16(kDefaultPartitionKey);
  header.bth.destination_qp = Be24(path.destination_qp);
  result.icrc_register = icrc_register(header);
  return result;
}

HeaderTemplate make_middle_template(const PacketPath& path, uint32_t payload_length) {
  HeaderTemplate result = make_template(path);
  std::array<uint8_t, sizeof(BaseHeader)> bytes;
  Frame frame;
  frame.head = bytes.data();
  write_headers(result, {.opcode = Opcode::kWriteMiddle, .payload_length = payload_length}, frame);
  std::memcpy(&result.header, bytes.data(), bytes.size());
  result.icrc_register = icrc_register(result.header);
  return result;
}

void write_headers(const HeaderTemplate& path, const WritePacket& packet, Frame& frame) noexcept {
  const Layout& layout = layout_of(packet.opcode);
  const uint32_t pad = -packet.payload_length & 3;
  const uint32_t size = sizeof(Bth) + layout.size() + packet.payload_length + pad + kIcrcBytes;
  BaseHeader* const header = start_packet(path, size, frame);
  header->bth.opcode = packet.opcode;
  header->bth.flags |= static_cast<uint8_t>(pad << Bth::kPadShift);
  header->bth.ack_request = packet.ack_request ? Bth::kAckRequest : 0;
  header->bth.psn = Be24(packet.psn);
  uint8_t* p = frame.head + sizeof(BaseHeader);
  if (layout.reth) {
    const Reth reth{Be64(packet.address), Be32(packet.rkey), Be32(packet.dma_length)};
    std::memcpy(p, &reth, sizeof reth);
    p += sizeof reth;
  }
  if (layout.immediate) {
    const ImmediateHeader immediate{Be32(packet.immediate)};
    std::memcpy(p, &immediate, sizeof immediate);
    p += sizeof immediate;
  }
  frame.head_length = static_cast<uint16_t>(p - frame.head);
  frame.payload = nullptr;
  frame.payload_length = 0;
  frame.tail_length = 0;
}

void write_acknowledgement(const HeaderTemplate& path, const Acknowledgement& acknowledgement, Frame& frame) noexcept {
  BaseHeader* const header = start_packet(path, sizeof(Bth) + sizeof(Aeth) + kIcrcBytes, frame);
  header->bth.opcode = Opcode::kAcknowledge;
  header->bth.psn = Be24(acknowledgement.psn);
  const Aeth aeth{acknowledgement.syndrome, Be24(acknowledgement.msn)};
  std::memcpy(frame.head + sizeof(BaseHeader), &aeth, sizeof aeth);
  frame.head_length = sizeof(BaseHeader) + sizeof aeth;
  frame.payload = nullptr;
  frame.payload_length = 0;
  frame.tail_length = 0;
  seal(frame);
}

void seal(Frame& frame) noexcept {
  const auto& header = *reinterpret_cast<const BaseHeader*>(frame.head);
  const uint32_t pad = (header.bth.flags & Bth::kPadMask) >> Bth::kPadShift;
  const uint32_t covered = frame.length() + pad;
  uint8_t* const trailer = frame.payload_length > 0 ? frame.tail : frame.head + frame.head_length;
  std::memset(trailer, 0, pad);
  if (frame.payload_length > 0) {
    frame.tail_length = static_cast<uint8_t>(pad);
    store_little_endian(icrc(frame, covered), trailer + pad);
    frame.tail_length += kIcrcBytes;
  } else {
    frame.head_length = static_cast<uint16_t>(frame.head_length + pad);
    store_little_endian(icrc(frame, covered), trailer + pad);
    frame.head_length += kIcrcBytes;
  }
}

void write_arp_announcement(MacAddress mac, Ipv4Address ip, Frame& frame) noexcept {
  constexpr size_t kMinimumFrame = 60;
  const EthernetHeader ethernet{{{0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF}}, mac, Be16(kEtherTypeArp)};
  ArpPacket arp;
  arp.hardware_type = Be16(ArpPacket::kHardwareEthernet);
  arp.protocol_type = Be16(kEtherTypeIpv4);
  arp.operation = Be16(ArpPacket::kRequest);
  arp.sender_mac = mac;
  arp.sender_ip = arp.target_ip = Be32(ip.value);
  std::memset(frame.head, 0, kMinimumFrame);
  std::memcpy(frame.head, &ethernet, sizeof ethernet);
  std::memcpy(frame.head + sizeof ethernet, &arp, sizeof arp);
  frame.head_length = kMinimumFrame;
  frame.payload = nullptr;
  frame.payload_length = 0;
  frame.tail_length = 0;
}

}  // namespace rankwire

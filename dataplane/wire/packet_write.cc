// Packets on the way out.
#include <array>
#include <cstring>

#include "dataplane/wire/icrc.h"
#include "dataplane/wire/packet.h"

namespace rankwire {
namespace {

// The template's headers have one of four lengths: two copies of the least length, which overlap, need no branch.
void copy_headers(const HeaderTemplate& path, uint8_t* head) noexcept {
  const uint32_t rest = path.header_length - uint32_t{kMinBaseHeaderBytes};
  std::memcpy(head, path.header(), kMinBaseHeaderBytes);
  std::memcpy(head + rest, path.header() + rest, kMinBaseHeaderBytes);
}

// Writes everything up to BTH; `size` counts the bytes from BTH to the ICRC, both included. Returns BTH.
Bth& start_packet(const HeaderTemplate& path, PacketKind kind, uint32_t size, Frame& frame) noexcept {
  copy_headers(path, frame.head);
  uint8_t* const end = frame.head + path.header_length;
  auto& transport = *reinterpret_cast<TransportHeader*>(end - sizeof(TransportHeader));
  const HeaderTemplate::KindBytes& bytes = path.kinds[static_cast<size_t>(kind)];
  const auto udp_length = static_cast<uint16_t>(sizeof(UdpHeader) + size);
  transport.udp.length = Be16(udp_length);
  uint32_t ip_offset = path.header_length - uint32_t{sizeof(TransportHeader)};
  if (path.ip_version == IpVersion::kIpv4) {
    ip_offset -= sizeof(Ipv4Header);
    auto& ip = *reinterpret_cast<Ipv4Header*>(frame.head + ip_offset);
    const auto total_length = static_cast<uint16_t>(sizeof(Ipv4Header) + udp_length);
    ip.type_of_service = bytes.traffic_class;
    ip.total_length = Be16(total_length);
    ip.checksum = checksum_with_length(bytes.checksum, total_length);
  } else {
    ip_offset -= sizeof(Ipv6Header);
    auto& ip = *reinterpret_cast<Ipv6Header*>(frame.head + ip_offset);
    ip.version_class_flow =
        Ipv6Header::word(bytes.traffic_class, ip.version_class_flow.value() & Ipv6Header::kFlowLabelMask);
    ip.payload_length = Be16(udp_length);
  }
  if (ip_offset > sizeof(EthernetHeader))
    reinterpret_cast<VlanTag*>(frame.head + sizeof(EthernetHeader))->control = bytes.tag_control;
  return transport.bth;
}

void finish_headers(const uint8_t* end, Frame& frame) noexcept {
  frame.head_length = static_cast<uint16_t>(end - frame.head);
  frame.payload = nullptr;
  frame.payload_length = 0;
  frame.tail_length = 0;
}

void set_source_port(uint16_t port, Bth& bth) noexcept {
  auto* const udp = reinterpret_cast<UdpHeader*>(reinterpret_cast<uint8_t*>(&bth) - sizeof(UdpHeader));
  udp->source_port = Be16(port);
}

void set_hop_limit(const HeaderTemplate& path, uint8_t hop_limit, Frame& frame) noexcept {
  uint8_t* const ip = frame.head + (path.ip() - path.header());
  if (path.ip_version == IpVersion::kIpv6) {
    reinterpret_cast<Ipv6Header*>(ip)->hop_limit = hop_limit;
    return;
  }
  auto& header = *reinterpret_cast<Ipv4Header*>(ip);
  header.time_to_live = hop_limit;
  header.checksum = ipv4_checksum(header);
}

uint8_t* write_extended_headers(const OpcodeLayout& layout, const OutboundPacket& packet, uint8_t* p) noexcept {
  if (layout.reth) {
    const Reth reth{Be64(packet.address), Be32(packet.rkey), Be32(packet.dma_length)};
    std::memcpy(p, &reth, sizeof reth);
    p += sizeof reth;
  }
  if (layout.aeth) {
    const Aeth aeth{packet.syndrome, Be24(packet.msn)};
    std::memcpy(p, &aeth, sizeof aeth);
    p += sizeof aeth;
  }
  if (layout.immediate) {
    const ImmediateHeader immediate{Be32(packet.immediate)};
    std::memcpy(p, &immediate, sizeof immediate);
    p += sizeof immediate;
  }
  std::memset(p, 0, layout.other);
  return p + layout.other;
}

void store_little_endian(uint32_t value, uint8_t* out) noexcept {
  for (int i = 0; i < 4; ++i) out[i] = static_cast<uint8_t>(value >> (8 * i));
}

}  // namespace

HeaderTemplate make_middle_template(const PacketPath& path, uint32_t payload_length) {
  HeaderTemplate result = make_template(path);
  std::array<uint8_t, kMaxHeaderBytes> bytes;
  Frame frame;
  frame.head = bytes.data();
  write_headers(result, {.opcode = Opcode::kWriteMiddle, .payload_length = payload_length}, frame);
  std::memcpy(result.header(), bytes.data(), result.header_length);
  result.icrc.behind_bth = icrc_register(result.ip());
  return result;
}

void write_headers(const HeaderTemplate& path, const OutboundPacket& packet, Frame& frame) noexcept {
  const OpcodeLayout& layout = layout_of(packet.opcode);
  const uint32_t pad = -packet.payload_length & 3;
  const uint32_t size = sizeof(Bth) + layout.extended_header_bytes + packet.payload_length + pad + kIcrcBytes;
  Bth& bth = start_packet(path, PacketKind::kData, size, frame);
  bth.opcode = packet.opcode;
  bth.flags |= static_cast<uint8_t>((packet.solicited ? Bth::kSolicited : 0) | pad << Bth::kPadShift);
  bth.ack_request = packet.ack_request ? Bth::kAckRequest : 0;
  bth.psn = Be24(packet.psn);
  if (packet.source_port != 0) set_source_port(packet.source_port, bth);
  finish_headers(write_extended_headers(layout, packet, frame.head + path.header_length), frame);
}

void write_acknowledgement(const HeaderTemplate& path, const Acknowledgement& acknowledgement, Frame& frame) noexcept {
  Bth& bth = start_packet(path, kind_of(acknowledgement), sizeof(Bth) + sizeof(Aeth) + kIcrcBytes, frame);
  bth.opcode = Opcode::kAcknowledge;
  bth.psn = Be24(acknowledgement.psn);
  uint8_t* const p = frame.head + path.header_length;
  const Aeth aeth{acknowledgement.syndrome, Be24(acknowledgement.msn)};
  std::memcpy(p, &aeth, sizeof aeth);
  finish_headers(p + sizeof aeth, frame);
  seal(frame);
}

void write_congestion_notification(const HeaderTemplate& path, uint8_t hop_limit, Frame& frame) noexcept {
  const OpcodeLayout& layout = layout_of(Opcode::kCongestionNotification);
  Bth& bth = start_packet(path, PacketKind::kCnp, sizeof(Bth) + layout.extended_header_bytes + kIcrcBytes, frame);
  bth.opcode = Opcode::kCongestionNotification;
  bth.flags = 0;
  bth.congestion = Bth::kBackwardCongestion;
  bth.psn = Be24(0);
  set_hop_limit(path, hop_limit, frame);
  finish_headers(write_extended_headers(layout, {}, frame.head + path.header_length), frame);
  seal(frame);
}

void seal(Frame& frame) noexcept {
  const bool tagged = reinterpret_cast<const EthernetHeader*>(frame.head)->ether_type.value() == kEtherTypeVlan;
  const uint32_t ip_offset = sizeof(EthernetHeader) + (tagged ? sizeof(VlanTag) : 0);
  const bool ipv6 = frame.head[ip_offset] >> 4 == 6;
  const uint32_t transport_offset = ip_offset + (ipv6 ? sizeof(Ipv6Header) : sizeof(Ipv4Header));
  const auto& transport = *reinterpret_cast<const TransportHeader*>(frame.head + transport_offset);
  const uint32_t pad = (transport.bth.flags & Bth::kPadMask) >> Bth::kPadShift;
  const uint32_t covered = frame.length() + pad;
  uint8_t* const trailer = frame.payload_length > 0 ? frame.tail : frame.head + frame.head_length;
  std::memset(trailer, 0, pad);
  if (frame.payload_length > 0) {
    frame.tail_length = static_cast<uint8_t>(pad);
    store_little_endian(icrc(frame, ip_offset, covered), trailer + pad);
    frame.tail_length += kIcrcBytes;
  } else {
    frame.head_length = static_cast<uint16_t>(frame.head_length + pad);
    store_little_endian(icrc(frame, ip_offset, covered), trailer + pad);
    frame.head_length += kIcrcBytes;
  }
}

}  // namespace rankwire

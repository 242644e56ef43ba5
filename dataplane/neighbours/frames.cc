#include "dataplane/neighbours/frames.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "dataplane/wire/headers.h"

namespace rankwire {
namespace {

constexpr MacAddress kBroadcast{{0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF}};
constexpr IpAddress kAllNodes(std::array<uint8_t, 16>{0xFF, 0x02, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1});
constexpr uint8_t kUnforwarded = 255;  // the hop limit of neighbour discovery
constexpr uint32_t kMinFrame = 60;

/// ARP over Ethernet and IPv4 (RFC 826).
struct ArpPacket {
  static constexpr uint16_t kEthernet = 1;
  static constexpr uint16_t kRequest = 1, kReply = 2;

  Be16 hardware_type{kEthernet}, protocol_type{kEtherTypeIpv4};
  uint8_t hardware_length = 6, protocol_length = 4;
  Be16 operation;
  MacAddress sender_mac;
  Be32 sender_ip;
  MacAddress target_mac;
  Be32 target_ip;
};
static_assert(sizeof(ArpPacket) == 28 && alignof(ArpPacket) == 1);

/// What ICMP and ICMPv6 messages begin with (RFC 792, RFC 4443 2.1).
struct IcmpHeader {
  static constexpr uint8_t kEchoReply = 0, kEchoRequest = 8;  ///< ICMP
  static constexpr uint8_t kEchoRequest6 = 128, kEchoReply6 = 129, kSolicitation = 135, kAdvertisement = 136;

  uint8_t type = 0, code = 0;
  Be16 checksum;
  Be32 rest;
};
static_assert(sizeof(IcmpHeader) == 8 && alignof(IcmpHeader) == 1);

/// Neighbour solicitation and advertisement with a link-layer address option (RFC 4861 4.3, 4.4, 4.6.1).
struct NeighbourPacket {
  static constexpr uint8_t kSourceOption = 1, kTargetOption = 2;
  static constexpr uint32_t kSolicited = 0x4000'0000, kOverride = 0x2000'0000;
  static constexpr size_t kWithoutOption = 24;

  IcmpHeader icmp;
  IpAddress target;
  uint8_t option_type = 0, option_length = 1;  ///< length in units of 8 bytes
  MacAddress mac;
};
static_assert(sizeof(NeighbourPacket) == 32 && alignof(NeighbourPacket) == 1);

template <class Header>
Header load(const uint8_t* p) noexcept {
  Header header;
  std::memcpy(&header, p, sizeof header);
  return header;
}

bool is_group(const MacAddress& mac) {
  return (mac.bytes[0] & 1) != 0;
}

bool is_multicast(const IpAddress& ip) {
  return ip.bytes[0] == 0xFF;
}

// RFC 2464 section 7.
MacAddress multicast_mac(const IpAddress& group) {
  return {{0x33, 0x33, group.bytes[12], group.bytes[13], group.bytes[14], group.bytes[15]}};
}

IpAddress solicited_node(const IpAddress& ip) {
  IpAddress group(std::array<uint8_t, 16>{0xFF, 0x02, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xFF});
  std::copy(ip.bytes.begin() + 13, ip.bytes.end(), group.bytes.begin() + 13);
  return group;
}

// The one's complement sum of RFC 1071, not yet folded.
uint64_t sum_of(std::span<const uint8_t> bytes) {
  uint64_t sum = 0;
  for (size_t i = 0; i + 1 < bytes.size(); i += 2) sum += uint64_t{bytes[i]} << 8 | bytes[i + 1];
  if (bytes.size() % 2 != 0) sum += uint64_t{bytes.back()} << 8;
  return sum;
}

Be16 folded(uint64_t sum) {
  while (sum >> 16 != 0) sum = (sum & 0xFFFF) + (sum >> 16);
  return Be16(static_cast<uint16_t>(~sum));
}

// Over the pseudo-header (RFC 8200 8.1) and the message, whose checksum field counts as it stands.
Be16 icmpv6_checksum(const Ipv6Header& ip, std::span<const uint8_t> message) {
  return folded(sum_of(ip.source.bytes) + sum_of(ip.destination.bytes) + message.size() + kIpProtocolIcmpv6 +
                sum_of(message));
}

NeighbourMessage& malformed(NeighbourMessage& message) {
  message.kind = NeighbourKind::kMalformed;
  return message;
}

NeighbourMessage read_arp(NeighbourMessage message, std::span<const uint8_t> packet) {
  if (packet.size() < sizeof(ArpPacket)) return malformed(message);
  const auto arp = load<ArpPacket>(packet.data());
  if (arp.hardware_type.value() != ArpPacket::kEthernet || arp.protocol_type.value() != kEtherTypeIpv4 ||
      arp.hardware_length != sizeof(MacAddress) || arp.protocol_length != sizeof(Be32))
    return malformed(message);
  const uint16_t operation = arp.operation.value();
  if (operation != ArpPacket::kRequest && operation != ArpPacket::kReply) return message;
  if (is_group(arp.sender_mac)) return malformed(message);
  message.kind = operation == ArpPacket::kRequest ? NeighbourKind::kSolicitation : NeighbourKind::kAdvertisement;
  if (arp.sender_ip.value() != 0) message.sender = Ipv4Address{arp.sender_ip.value()};
  message.sender_mac = arp.sender_mac;
  message.target = Ipv4Address{arp.target_ip.value()};
  return message;
}

NeighbourMessage read_ipv4(NeighbourMessage message, std::span<const uint8_t> packet) {
  if (packet.size() < sizeof(Ipv4Header)) return malformed(message);
  const auto ip = load<Ipv4Header>(packet.data());
  if (ip.protocol != kIpProtocolIcmp) return message;
  const size_t total = ip.total_length.value();
  if (ip.version_length != Ipv4Header::kVersionAndLength || ip.checksum != ipv4_checksum(ip) || total > packet.size() ||
      total < sizeof(Ipv4Header) + sizeof(IcmpHeader) || (ip.flags_and_offset.value() & Ipv4Header::kFragmentBits) != 0)
    return malformed(message);
  const auto icmp = load<IcmpHeader>(packet.data() + sizeof ip);
  if (icmp.type != IcmpHeader::kEchoRequest || icmp.code != 0) return message;
  if (folded(sum_of(packet.first(total).subspan(sizeof ip))) != Be16(0)) return malformed(message);
  message.kind = NeighbourKind::kEchoRequest;
  message.sender = Ipv4Address{ip.source.value()};
  message.target = Ipv4Address{ip.destination.value()};
  message.ip_packet = packet.first(total);
  return message;
}

// The first link-layer address among the options. False when an option is malformed (RFC 4861 4.6).
bool read_options(std::span<const uint8_t> options, uint8_t wanted, NeighbourMessage& message) {
  while (!options.empty()) {
    if (options.size() < 8 || options[1] == 0 || options[1] * size_t{8} > options.size()) return false;
    if (options[0] == wanted && !message.sender_mac) {
      const auto mac = load<MacAddress>(options.data() + 2);
      if (is_group(mac)) return false;
      message.sender_mac = mac;
    }
    options = options.subspan(options[1] * size_t{8});
  }
  return true;
}

// RFC 4861 7.1.1.
NeighbourMessage read_solicitation(NeighbourMessage message, const Ipv6Header& ip, std::span<const uint8_t> icmp) {
  message.target = load<IpAddress>(icmp.data() + sizeof(IcmpHeader));
  const auto options = icmp.subspan(NeighbourPacket::kWithoutOption);
  if (is_multicast(message.target) || message.target.is_ipv4() || is_multicast(ip.source) ||
      !read_options(options, NeighbourPacket::kSourceOption, message))
    return malformed(message);
  const bool probe = ip.source.is_none();
  if (probe && (message.sender_mac || ip.destination != solicited_node(message.target))) return malformed(message);
  message.kind = NeighbourKind::kSolicitation;
  message.sender = ip.source;
  return message;
}

// RFC 4861 7.1.2.
NeighbourMessage read_advertisement(NeighbourMessage message, const Ipv6Header& ip, std::span<const uint8_t> icmp) {
  const uint32_t flags = load<IcmpHeader>(icmp.data()).rest.value();
  message.sender = load<IpAddress>(icmp.data() + sizeof(IcmpHeader));
  message.overrides = (flags & NeighbourPacket::kOverride) != 0;
  const auto options = icmp.subspan(NeighbourPacket::kWithoutOption);
  const bool solicited = (flags & NeighbourPacket::kSolicited) != 0;
  if (is_multicast(message.sender) || message.sender.is_ipv4() || (solicited && is_multicast(ip.destination)) ||
      !read_options(options, NeighbourPacket::kTargetOption, message))
    return malformed(message);
  message.kind = NeighbourKind::kAdvertisement;
  return message;
}

NeighbourMessage read_ipv6(NeighbourMessage message, std::span<const uint8_t> packet) {
  message.ip_version = IpVersion::kIpv6;
  if (packet.size() < sizeof(Ipv6Header)) return malformed(message);
  const auto ip = load<Ipv6Header>(packet.data());
  if (ip.next_header != kIpProtocolIcmpv6) return message;
  const size_t length = ip.payload_length.value();
  if (ip.version() != 6 || length < sizeof(IcmpHeader) || sizeof ip + length > packet.size()) return malformed(message);
  // IPv4-mapped addresses never travel, and would be taken for those of IPv4 here.
  if (ip.source.is_ipv4() || ip.destination.is_ipv4()) return malformed(message);
  const auto icmp = packet.subspan(sizeof ip, length);
  const auto header = load<IcmpHeader>(icmp.data());
  const bool discovery = header.type == IcmpHeader::kSolicitation || header.type == IcmpHeader::kAdvertisement;
  if (!discovery && header.type != IcmpHeader::kEchoRequest6) return message;
  if (icmpv6_checksum(ip, icmp) != Be16(0) || header.code != 0) return malformed(message);
  if (!discovery) {
    message.kind = NeighbourKind::kEchoRequest;
    message.sender = ip.source;
    message.target = ip.destination;
    message.ip_packet = packet.first(sizeof ip + length);
    return message;
  }
  if (ip.hop_limit != kUnforwarded || length < NeighbourPacket::kWithoutOption) return malformed(message);
  return header.type == IcmpHeader::kSolicitation ? read_solicitation(message, ip, icmp)
                                                  : read_advertisement(message, ip, icmp);
}

/// Appends headers to a frame.
class FrameWriter {
 public:
  explicit FrameWriter(Frame& frame) : frame_(frame) {
    frame.head_length = 0;
    frame.payload = nullptr;
    frame.payload_length = 0;
    frame.tail_length = 0;
  }

  template <class Header>
  void put(const Header& header) {
    put(std::span(reinterpret_cast<const uint8_t*>(&header), sizeof header));
  }
  void put(std::span<const uint8_t> bytes) {
    std::memcpy(frame_.head + frame_.head_length, bytes.data(), bytes.size());
    frame_.head_length = static_cast<uint16_t>(frame_.head_length + bytes.size());
  }
  void put_link(const Nic& nic, const MacAddress& destination, uint16_t ether_type) {
    put(EthernetHeader{destination, nic.mac, Be16(nic.vlan ? kEtherTypeVlan : ether_type)});
    if (nic.vlan) put(VlanTag{Be16(*nic.vlan), Be16(ether_type)});
  }
  /// To the least length of an Ethernet frame.
  void pad() {
    if (frame_.head_length >= kMinFrame) return;
    std::memset(frame_.head + frame_.head_length, 0, kMinFrame - frame_.head_length);
    frame_.head_length = kMinFrame;
  }

 private:
  Frame& frame_;
};

void write_arp(const Nic& nic, const MacAddress& frame_destination, const ArpPacket& arp, Frame& frame) {
  FrameWriter writer(frame);
  writer.put_link(nic, frame_destination, kEtherTypeArp);
  writer.put(arp);
  writer.pad();
}

ArpPacket arp_of(const Nic& nic, uint16_t operation, const MacAddress& target_mac, uint32_t target_ip) {
  ArpPacket arp;
  arp.operation = Be16(operation);
  arp.sender_mac = nic.mac;
  arp.sender_ip = Be32(nic.ip.ipv4().value);
  arp.target_mac = target_mac;
  arp.target_ip = Be32(target_ip);
  return arp;
}

void write_discovery(const Nic& nic, const MacAddress& frame_destination, const IpAddress& destination,
                     NeighbourPacket packet, Frame& frame) {
  Ipv6Header ip;
  ip.version_class_flow = Ipv6Header::word(0, 0);
  ip.payload_length = Be16(sizeof packet);
  ip.next_header = kIpProtocolIcmpv6;
  ip.hop_limit = kUnforwarded;
  ip.source = nic.ip;
  ip.destination = destination;
  packet.mac = nic.mac;
  packet.icmp.checksum = icmpv6_checksum(ip, {reinterpret_cast<const uint8_t*>(&packet), sizeof packet});
  FrameWriter writer(frame);
  writer.put_link(nic, frame_destination, kEtherTypeIpv6);
  writer.put(ip);
  writer.put(packet);
}

NeighbourPacket advertisement_of(const Nic& nic, uint32_t flags) {
  NeighbourPacket packet;
  packet.icmp.type = IcmpHeader::kAdvertisement;
  packet.icmp.rest = Be32(flags);
  packet.target = nic.ip;
  packet.option_type = NeighbourPacket::kTargetOption;
  return packet;
}

}  // namespace

NeighbourMessage read_neighbour_frame(const Frame& frame) noexcept {
  NeighbourMessage message;
  const std::span<const uint8_t> bytes(frame.head, frame.head_length);
  if (bytes.size() < sizeof(EthernetHeader)) return malformed(message);
  const auto ethernet = load<EthernetHeader>(bytes.data());
  message.frame_source = ethernet.source;
  message.frame_destination = ethernet.destination;
  if (is_group(ethernet.source)) return malformed(message);
  uint16_t ether_type = ethernet.ether_type.value();
  auto packet = bytes.subspan(sizeof ethernet);
  if (ether_type == kEtherTypeVlan) {
    if (packet.size() < sizeof(VlanTag)) return malformed(message);
    const auto tag = load<VlanTag>(packet.data());
    message.vlan = tag.control.value() & VlanTag::kIdentifierMask;
    ether_type = tag.ether_type.value();
    packet = packet.subspan(sizeof tag);
  }
  switch (ether_type) {
    case kEtherTypeArp:
      return read_arp(message, packet);
    case kEtherTypeIpv4:
      return read_ipv4(message, packet);
    case kEtherTypeIpv6:
      return read_ipv6(message, packet);
    default:
      return message;
  }
}

void write_solicitation(const Nic& nic, const IpAddress& target, Frame& frame) noexcept {
  if (nic.ip.is_ipv4())
    return write_arp(nic, kBroadcast, arp_of(nic, ArpPacket::kRequest, {}, target.ipv4().value), frame);
  NeighbourPacket packet;
  packet.icmp.type = IcmpHeader::kSolicitation;
  packet.target = target;
  packet.option_type = NeighbourPacket::kSourceOption;
  const IpAddress group = solicited_node(target);
  write_discovery(nic, multicast_mac(group), group, packet, frame);
}

void write_advertisement(const Nic& nic, const NeighbourMessage& solicitation, Frame& frame) noexcept {
  const MacAddress asker = solicitation.sender_mac.value_or(solicitation.frame_source);
  if (nic.ip.is_ipv4()) {
    const uint32_t ip = solicitation.sender.is_none() ? 0 : solicitation.sender.ipv4().value;
    return write_arp(nic, asker, arp_of(nic, ArpPacket::kReply, asker, ip), frame);
  }
  // A prober has no address to answer to (RFC 4861 7.2.4).
  if (solicitation.sender.is_none())
    return write_discovery(nic, multicast_mac(kAllNodes), kAllNodes, advertisement_of(nic, NeighbourPacket::kOverride),
                           frame);
  const uint32_t flags = NeighbourPacket::kSolicited | NeighbourPacket::kOverride;
  write_discovery(nic, asker, solicitation.sender, advertisement_of(nic, flags), frame);
}

void write_announcement(const Nic& nic, Frame& frame) noexcept {
  if (nic.ip.is_ipv4())
    return write_arp(nic, kBroadcast, arp_of(nic, ArpPacket::kRequest, {}, nic.ip.ipv4().value), frame);
  write_discovery(nic, multicast_mac(kAllNodes), kAllNodes, advertisement_of(nic, NeighbourPacket::kOverride), frame);
}

void write_echo_reply(const Nic& nic, const NeighbourMessage& request, Frame& frame) noexcept {
  constexpr uint8_t kHops = 64;
  const bool ipv4 = request.ip_version == IpVersion::kIpv4;
  FrameWriter writer(frame);
  writer.put_link(nic, request.frame_source, ipv4 ? kEtherTypeIpv4 : kEtherTypeIpv6);
  uint8_t* const packet = frame.head + frame.head_length;
  writer.put(request.ip_packet);
  uint8_t* const message = packet + (ipv4 ? sizeof(Ipv4Header) : sizeof(Ipv6Header));
  const std::span<const uint8_t> icmp(message, request.ip_packet.size() - static_cast<size_t>(message - packet));
  auto& header = *reinterpret_cast<IcmpHeader*>(message);
  header.checksum = Be16(0);
  if (ipv4) {
    auto& ip = *reinterpret_cast<Ipv4Header*>(packet);
    std::swap(ip.source, ip.destination);
    ip.time_to_live = kHops;
    ip.checksum = ipv4_checksum(ip);
    header.type = IcmpHeader::kEchoReply;
    header.checksum = folded(sum_of(icmp));
  } else {
    auto& ip = *reinterpret_cast<Ipv6Header*>(packet);
    std::swap(ip.source, ip.destination);
    ip.hop_limit = kHops;
    header.type = IcmpHeader::kEchoReply6;
    header.checksum = icmpv6_checksum(ip, icmp);
  }
  writer.pad();
}

}  // namespace rankwire

#include "dataplane/impairments/packets.h"

#include <algorithm>
#include <cstddef>

namespace rankwire {
namespace {

void invert_bit(uint8_t* bytes, uint64_t bit) noexcept {
  bytes[bit / 8] ^= static_cast<uint8_t>(1u << bit % 8);
}

// BTH as far as the ICRC covers it.
void corrupt_header(uint8_t* bth, Random& random) noexcept {
  constexpr size_t kNotCovered = offsetof(Bth, congestion);
  uint64_t bit = random.below((sizeof(Bth) - 1) * 8);
  if (bit >= kNotCovered * 8) bit += 8;
  invert_bit(bth, bit);
}

// RFC 3168 section 5, 5.3.
void mark_ce(const ParsedPacket& packet, uint8_t* ip_header) noexcept {
  constexpr auto kCe = static_cast<uint8_t>(Ecn::kCongestionExperienced);
  if (packet.ip_version == IpVersion::kIpv4) {
    auto& ip = *reinterpret_cast<Ipv4Header*>(ip_header);
    ip.type_of_service |= kCe;
    ip.checksum = ipv4_checksum(ip);
  } else {
    auto& ip = *reinterpret_cast<Ipv6Header*>(ip_header);
    ip.version_class_flow = Be32(ip.version_class_flow.value() | uint32_t{kCe} << Ipv6Header::kClassShift);
  }
}

uint8_t syndrome_of(ImpairmentAction action) noexcept {
  constexpr uint8_t kWait = 12;  // 0.64 ms (IBTA table 45)
  if (action == ImpairmentAction::kForgeRnr) return kSyndromeTypeNotReady | kWait;
  return static_cast<uint8_t>(action == ImpairmentAction::kForgeNak ? Syndrome::kNakSequence : Syndrome::kAck);
}

PacketPath path_back(const ForgedAnswer& answer, const ParsedPacket& packet) noexcept {
  PacketPath path{.source_mac = packet.ethernet().destination,
                  .destination_mac = packet.ethernet().source,
                  .source_ip = packet.destination_ip(),
                  .destination_ip = packet.source_ip(),
                  .source_port = packet.udp().source_port.value(),
                  .destination_qp = answer.queue_pair,
                  .time_to_live = answer.hop_limit,
                  .markings = answer.markings};
  if (packet.ip_offset > sizeof(EthernetHeader)) path.vlan = packet.vlan;
  return path;
}

}  // namespace

void copy_whole(const Frame& frame, Frame& copy) noexcept {
  uint8_t* end = std::copy_n(frame.head, frame.head_length, copy.head);
  end = std::copy_n(frame.payload, frame.payload_length, end);
  end = std::copy_n(frame.tail, frame.tail_length, end);
  copy.head_length = static_cast<uint16_t>(end - copy.head);
  copy.payload = nullptr;
  copy.payload_length = 0;
  copy.tail_length = 0;
  copy.arrival = frame.arrival;
}

bool change_packet(ImpairmentAction action, const ParsedPacket& packet, Random& random, Frame& frame) noexcept {
  switch (action) {
    case ImpairmentAction::kCorruptPayload: {
      if (packet.payload_length == 0) return false;
      const uint32_t offset = packet.icrc_offset - packet.pad - packet.payload_length;
      invert_bit(frame.head + offset, random.below(uint64_t{packet.payload_length} * 8));
      return true;
    }
    case ImpairmentAction::kCorruptHeader:
      corrupt_header(frame.head + packet.bth_offset, random);
      return true;
    case ImpairmentAction::kCorruptIcrc:
      invert_bit(frame.head + packet.icrc_offset, random.below(kIcrcBytes * 8));
      return true;
    case ImpairmentAction::kMarkCe:
      mark_ce(packet, frame.head + packet.ip_offset);
      return true;
    default:
      return false;
  }
}

void write_forged(const ForgedAnswer& answer, const ParsedPacket& packet, Frame& frame) noexcept {
  const HeaderTemplate path = make_template(path_back(answer, packet));
  if (answer.action == ImpairmentAction::kForgeCnp) return write_congestion_notification(path, answer.hop_limit, frame);
  write_acknowledgement(path, {.psn = packet.psn, .msn = answer.msn, .syndrome = syndrome_of(answer.action)}, frame);
}

}  // namespace rankwire

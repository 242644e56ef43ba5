// RoCEv2 packets: checked on the way in, built on the way out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/address.h"
#include "dataplane/wire/frame.h"
#include "dataplane/wire/header_template.h"
#include "dataplane/wire/headers.h"

namespace rankwire {

/// Why a frame is not a packet for a queue pair.
enum class Reject : uint8_t {
  kNone,
  // Not RoCEv2, or not to be known as such: other people's traffic.
  kArp,
  kIcmp,     ///< over IPv4
  kIcmpv6,   ///< neighbour discovery and echo
  kVlanTag,  ///< more than one, or a service tag
  kEtherType,
  kIpProtocol,  ///< not UDP; IPv6 with extension headers
  kUdpPort,     ///< another one, or a later fragment, which has none
  kRunt,        ///< ends before it says what it is
  // RoCEv2, and wrong.
  kTruncated,  ///< shorter than its headers, or than its IP length says
  kIpVersion,  ///< not that of the EtherType, or IPv4 with options
  kIpChecksum,
  kIpFragment,
  kIpLength,   ///< too short for UDP, BTH and ICRC
  kUdpLength,  ///< differs from the IP length
  kBthVersion,
  kPartitionKey,
  kOpcode,          ///< none of enum Opcode
  kExtendedHeader,  ///< no room for the headers that the opcode requires
  kPad,             ///< more pad than payload, or any where the opcode has no payload
  kScattered,       ///< headers not wholly in `head`, or a payload reference that cuts the payload
};

/// "IP checksum", for people.
const char* to_string(Reject reject);

/// True for frames that are not RoCEv2 at all.
constexpr bool is_foreign(Reject reject) {
  return reject >= Reject::kArp && reject <= Reject::kRunt;
}

/// True for frames that `Neighbours::receive` should see.
constexpr bool is_for_neighbours(Reject reject) {
  return reject >= Reject::kArp && reject <= Reject::kIcmpv6;
}

/// A packet in host order, the same whatever carried it. Pointers refer to the frame, which must outlive it. Fields of
/// headers that the opcode does not have are 0.
struct ParsedPacket {
  Reject reject = Reject::kNone;
  Opcode opcode = Opcode::kAcknowledge;
  Ecn ecn = Ecn::kNotCapable;
  uint8_t dscp = 0;      ///< 0 .. 63
  uint8_t priority = 0;  ///< 802.1p, 0 .. 7; 0 without a tag
  uint8_t pad = 0;       ///< 0 .. 3
  bool ack_request = false;
  bool solicited = false;
  uint16_t vlan = 0;     ///< 1 .. 4094; 0: none, or only a priority tag
  uint8_t syndrome = 0;  ///< AETH
  IpVersion ip_version = IpVersion::kIpv4;
  uint8_t ip_offset = 0;   ///< of the IP header in the frame: 14 or 18
  uint8_t bth_offset = 0;  ///< of BTH in the frame: 42, 46, 62 or 66
  uint32_t destination_qp = 0;
  uint32_t psn = 0;
  uint32_t msn = 0;        ///< AETH
  uint32_t immediate = 0;  ///< ImmDt
  uint32_t rkey = 0;       ///< RETH, like the next two
  uint32_t dma_length = 0;
  uint64_t address = 0;
  uint32_t payload_length = 0;  ///< without pad
  uint32_t icrc_offset = 0;     ///< bytes of the frame before the ICRC
  const uint8_t* payload = nullptr;
  const uint8_t* head = nullptr;  ///< the frame's

  const EthernetHeader& ethernet() const noexcept { return *reinterpret_cast<const EthernetHeader*>(head); }
  const UdpHeader& udp() const noexcept {
    return *reinterpret_cast<const UdpHeader*>(head + bth_offset - sizeof(UdpHeader));
  }
  const Bth& bth() const noexcept { return *reinterpret_cast<const Bth*>(head + bth_offset); }
  IpAddress source_ip() const noexcept;
  IpAddress destination_ip() const noexcept;
};

/// Checks every length, version, flag and checksum but the ICRC (see `icrc_matches`), as IBTA 9.6 and Annex A17.4 have
/// a receiver do. The UDP checksum is not looked at: RoCEv2 senders leave it 0, over IPv6 too, and the ICRC covers the
/// same bytes. Bytes behind the IP packet (Ethernet padding) are accepted in a frame without payload reference. At most
/// one 802.1Q tag is read.
ParsedPacket parse(const Frame& frame) noexcept;

/// For a frame that `parse` accepted.
bool icrc_matches(const Frame& frame, const ParsedPacket& packet) noexcept;

/// Whether the packet came from the peer that `own` headers go to and to the address that they come from: same VLAN, IP
/// version and IP addresses, and the destination MAC address is our own. The sender's MAC address is not compared: it
/// is a router's where there is one.
inline bool is_addressed_to(const HeaderTemplate& own, const ParsedPacket& packet) noexcept {
  if (packet.ip_version != own.ip_version || packet.vlan != own.vlan) return false;
  if (std::memcmp(packet.head, own.header() + sizeof(MacAddress), sizeof(MacAddress)) != 0) return false;
  const uint8_t* const sent = own.header_end() - sizeof(TransportHeader);
  const uint8_t* const received = packet.head + packet.bth_offset - sizeof(UdpHeader);
  // Source and destination are the last fields of both IP headers.
  if (own.ip_version == IpVersion::kIpv4)
    return std::memcmp(received - 4, sent - 8, 4) == 0 && std::memcmp(received - 8, sent - 4, 4) == 0;
  return std::memcmp(received - 16, sent - 32, 16) == 0 && std::memcmp(received - 32, sent - 16, 16) == 0;
}

/// One packet to be written. Fields of headers that the opcode does not have are not sent.
struct OutboundPacket {
  Opcode opcode = Opcode::kWriteOnlyImmediate;
  bool ack_request = false;
  bool solicited = false;
  uint16_t source_port = 0;  ///< UDP; 0: the template's
  uint32_t psn = 0;
  uint32_t payload_length = 0;  ///< without pad
  uint32_t immediate = 0;       ///< ImmDt
  uint32_t rkey = 0;            ///< RETH, like the next two
  uint32_t dma_length = 0;
  uint64_t address = 0;
  uint8_t syndrome = static_cast<uint8_t>(Syndrome::kAck);  ///< AETH, like the next
  uint32_t msn = 0;
};

/// A template that at the same time is the whole header of a WRITE_MIDDLE with `payload_length` bytes, a multiple of 4,
/// and PSN 0. PatternIcrc makes one with all of `icrc`.
HeaderTemplate make_middle_template(const PacketPath& path, uint32_t payload_length);

/// Bytes of headers in front of the payload.
inline uint32_t header_bytes(const HeaderTemplate& path, Opcode opcode) noexcept {
  return path.header_length + layout_of(opcode).extended_header_bytes;
}
/// Bytes of the whole frame, without FCS.
inline uint32_t frame_bytes(const HeaderTemplate& path, Opcode opcode, uint32_t payload_length) noexcept {
  return header_bytes(path, opcode) + payload_length + (-payload_length & 3) + uint32_t{kIcrcBytes};
}

static_assert(kMaxHeaderBytes <= kHeaderRoom);

/// Writes the headers of a request or READ response, with the marking of data, to the empty frame's `head` (at least
/// kMaxHeaderBytes). The payload is the caller's: behind the headers in `head`, or by reference. `seal` completes the
/// frame.
void write_headers(const HeaderTemplate& path, const OutboundPacket& packet, Frame& frame) noexcept;

/// An acknowledgement as it travels (IBTA 9.7.5).
struct Acknowledgement {
  uint32_t psn = 0;
  uint32_t msn = 0;
  uint8_t syndrome = static_cast<uint8_t>(Syndrome::kAck);
};

/// What it is marked as.
constexpr PacketKind kind_of(const Acknowledgement& acknowledgement) {
  return (acknowledgement.syndrome & kSyndromeTypeMask) == kSyndromeTypeAck ? PacketKind::kAck : PacketKind::kNak;
}

/// Writes and seals an ACK, or with the marking of NAKs a NAK or RNR NAK, into an empty frame. PatternIcrc's templates
/// have a quicker way in request_writer.h.
void write_acknowledgement(const HeaderTemplate& path, const Acknowledgement& acknowledgement, Frame& frame) noexcept;

/// Writes and seals a congestion notification packet (Annex A17.9.3) for the queue pair that the template's packets go
/// to, with a hop limit (IPv4: TTL) of its own, into an empty frame.
void write_congestion_notification(const HeaderTemplate& path, uint8_t hop_limit, Frame& frame) noexcept;

/// Appends pad and ICRC: behind the payload reference where there is one, else in `head`.
void seal(Frame& frame) noexcept;

}  // namespace rankwire

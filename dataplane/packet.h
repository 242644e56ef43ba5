// RoCEv2 packets: checked on the way in, built on the way out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/address.h"
#include "dataplane/frame_port.h"
#include "dataplane/headers.h"

namespace rankwire {

/// Why a frame is not a packet for a queue pair.
enum class Reject : uint8_t {
  kNone,
  // Not RoCEv2 over untagged IPv4: other people's traffic.
  kArp,
  kVlanTag,
  kEtherType,
  kIpProtocol,
  kUdpPort,
  // RoCEv2, and wrong.
  kTruncated,  ///< shorter than its headers, or than its IP length says
  kIpVersion,  ///< not version 4, or with options
  kIpChecksum,
  kIpFragment,
  kIpLength,   ///< too short for UDP, BTH and ICRC
  kUdpLength,  ///< differs from the IP length
  kBthVersion,
  kPartitionKey,
  kOpcode,          ///< none that a queue pair here takes
  kExtendedHeader,  ///< no room for the headers that the opcode requires
  kPad,             ///< more pad than payload, or any where the opcode has no payload
  kScattered,       ///< headers not wholly in `head`, or a payload reference that cuts the payload
};

const char* to_string(Reject reject);

/// True for frames that are not RoCEv2 at all.
constexpr bool is_foreign(Reject reject) {
  return reject >= Reject::kArp && reject <= Reject::kUdpPort;
}

/// A packet in host order. Pointers refer to the frame, which must outlive it. Fields of headers that the opcode does
/// not have are 0.
struct ParsedPacket {
  Reject reject = Reject::kNone;
  Opcode opcode = Opcode::kAcknowledge;
  Ecn ecn = Ecn::kNotCapable;
  uint8_t pad = 0;  ///< 0 .. 3
  bool ack_request = false;
  uint8_t syndrome = 0;  ///< AETH
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
  const BaseHeader* header = nullptr;
};

/// Checks every length, version, flag and checksum but the ICRC (see `icrc_matches`), as IBTA 9.6 and Annex A17.4 have
/// a receiver do. The UDP checksum is not looked at: RoCEv2 senders leave it 0, and the ICRC covers the same bytes.
/// Bytes behind the IP packet (Ethernet padding) are accepted in a frame without payload reference.
ParsedPacket parse(const Frame& frame) noexcept;

/// For a frame that `parse` accepted.
bool icrc_matches(const Frame& frame, const ParsedPacket& packet) noexcept;

/// The M bit of BTH: ConnectX sends 1 and takes a slow path for 0; Linux rxe sends 0.
enum class Migration : uint8_t { kMigrated, kArmed };

/// What all packets that one queue pair sends have in common.
struct PacketPath {
  MacAddress source_mac, destination_mac;
  IpAddress source_ip, destination_ip;
  uint32_t source_qp = 0, destination_qp = 0;  ///< 24 bits
  uint8_t dscp = 0;                            ///< 0 .. 63
  Ecn ecn = Ecn::kNotCapable;
  uint8_t time_to_live = 64;
  Migration migration = Migration::kMigrated;
};

/// The headers of `path` with everything filled in that does not change from packet to packet. A cache line of its own,
/// because sending a packet begins with copying it; the header ends where the line ends.
struct alignas(64) HeaderTemplate {
  uint32_t icrc_register = 0;  ///< behind BTH, for `header` as it stands
  uint32_t middle_icrc = 0;    ///< see PatternIcrc
  uint8_t unused[2] = {};
  BaseHeader header;
};
static_assert(sizeof(HeaderTemplate) == 64 && offsetof(HeaderTemplate, header) + sizeof(BaseHeader) == 64);

/// Without opcode, lengths and PSN: for packets of every kind.
HeaderTemplate make_template(const PacketPath& path);
/// The same, and at the same time the whole header of a WRITE_MIDDLE with `payload_length` bytes, a multiple of 4, and
/// PSN 0. PatternIcrc makes one with `middle_icrc`.
HeaderTemplate make_middle_template(const PacketPath& path, uint32_t payload_length);

/// One packet of an RDMA WRITE with immediate.
struct WritePacket {
  Opcode opcode = Opcode::kWriteOnlyImmediate;
  bool ack_request = false;
  uint32_t psn = 0;
  uint32_t payload_length = 0;
  uint32_t immediate = 0;  ///< sent by LAST_IMM and ONLY_IMM
  uint32_t rkey = 0;       ///< sent by FIRST and ONLY, like the next two
  uint32_t dma_length = 0;
  uint64_t address = 0;
};

/// Bytes of headers in front of the payload of an RDMA WRITE.
constexpr uint32_t write_header_bytes(Opcode opcode) noexcept {
  const bool reth =
      opcode == Opcode::kWriteFirst || opcode == Opcode::kWriteOnly || opcode == Opcode::kWriteOnlyImmediate;
  const bool immediate = opcode == Opcode::kWriteLastImmediate || opcode == Opcode::kWriteOnlyImmediate;
  return sizeof(BaseHeader) + (reth ? sizeof(Reth) : 0) + (immediate ? sizeof(ImmediateHeader) : 0);
}

/// Writes the headers to the empty frame's `head` (at least kMaxHeaderBytes). The payload is the caller's: behind the
/// headers in `head`, or by reference. `seal` completes the frame.
void write_headers(const HeaderTemplate& path, const WritePacket& packet, Frame& frame) noexcept;

/// An acknowledgement as it travels (IBTA 9.7.5).
struct Acknowledgement {
  uint32_t psn = 0;
  uint32_t msn = 0;
  uint8_t syndrome = static_cast<uint8_t>(Syndrome::kAck);
};

/// An ACK or NAK as a frame.
constexpr uint32_t kAcknowledgementBytes = sizeof(BaseHeader) + sizeof(Aeth) + kIcrcBytes;

/// Writes and seals an ACK or NAK into an empty frame.
void write_acknowledgement(const HeaderTemplate& path, const Acknowledgement& acknowledgement, Frame& frame) noexcept;

/// Appends pad and ICRC: behind the payload reference where there is one, else in `head`.
void seal(Frame& frame) noexcept;

/// A gratuitous ARP request, broadcast, by which switches learn where `mac` is (RFC 5227 section 2.3). 60 bytes.
void write_arp_announcement(MacAddress mac, Ipv4Address ip, Frame& frame) noexcept;

}  // namespace rankwire

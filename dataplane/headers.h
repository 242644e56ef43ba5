// The wire format of RoCEv2 over untagged IPv4: InfiniBand Architecture Specification Vol. 1 (IBTA) chapter 9 and Annex
// A17, RFC 791, RFC 768, RFC 826. Every struct has alignment 1 and exactly its size on the wire.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "base/address.h"

namespace rankwire {

/// An unsigned integer of N bytes, most significant first. Conversions are explicit in both directions.
template <class Host, size_t N>
class BigEndian {
 public:
  constexpr BigEndian() = default;
  constexpr explicit BigEndian(Host host) {
#pragma GCC unroll 8
    for (size_t i = 0; i < N; ++i) bytes_[i] = static_cast<uint8_t>(host >> (8 * (N - 1 - i)));
  }
  constexpr Host value() const {
    Host host = 0;
#pragma GCC unroll 8
    for (size_t i = 0; i < N; ++i) host = static_cast<Host>(host | static_cast<Host>(bytes_[i]) << (8 * (N - 1 - i)));
    return host;
  }
  constexpr bool operator==(const BigEndian& other) const {
    return value() == other.value();
  }

 private:
  std::array<uint8_t, N> bytes_{};
};

using Be16 = BigEndian<uint16_t, 2>;
using Be24 = BigEndian<uint32_t, 3>;
using Be32 = BigEndian<uint32_t, 4>;
using Be64 = BigEndian<uint64_t, 8>;

constexpr uint16_t kEtherTypeIpv4 = 0x0800;
constexpr uint16_t kEtherTypeArp = 0x0806;
constexpr uint16_t kEtherTypeVlan = 0x8100;
constexpr uint16_t kEtherTypeServiceVlan = 0x88A8;
constexpr uint8_t kIpProtocolUdp = 17;
constexpr uint16_t kRoceUdpPort = 4791;
constexpr uint16_t kDefaultPartitionKey = 0xFFFF;
constexpr size_t kIcrcBytes = 4;

struct EthernetHeader {
  MacAddress destination, source;
  Be16 ether_type;
};
static_assert(sizeof(EthernetHeader) == 14 && alignof(EthernetHeader) == 1);

struct Ipv4Header {
  static constexpr uint8_t kVersionAndLength = 0x45;  ///< version 4, five words: options are not used
  static constexpr uint16_t kDontFragment = 0x4000;
  static constexpr uint16_t kFragmentBits = 0x3FFF;  ///< more-fragments flag and fragment offset

  uint8_t version_length = kVersionAndLength;
  uint8_t type_of_service = 0;  ///< DSCP in the upper six bits, ECN in the lower two
  Be16 total_length;
  Be16 identification;
  Be16 flags_and_offset;
  uint8_t time_to_live = 0;
  uint8_t protocol = kIpProtocolUdp;
  Be16 checksum;
  Be32 source, destination;
};
static_assert(sizeof(Ipv4Header) == 20 && alignof(Ipv4Header) == 1);

/// Values of the ECN field (RFC 3168 section 5).
enum class Ecn : uint8_t { kNotCapable = 0, kCapable1 = 1, kCapable0 = 2, kCongestionExperienced = 3 };

struct UdpHeader {
  Be16 source_port, destination_port;
  Be16 length;
  Be16 checksum;  ///< 0: none. The ICRC covers what it would.
};
static_assert(sizeof(UdpHeader) == 8 && alignof(UdpHeader) == 1);

/// BTH opcodes (IBTA 9.2.1 table 38; CNP: Annex A17.9.3): those of the Reliable Connection service that a queue pair
/// can name in an answer, and the congestion notification packet.
enum class Opcode : uint8_t {
  kSendFirst = 0x00,
  kSendMiddle = 0x01,
  kSendLast = 0x02,
  kSendLastImmediate = 0x03,
  kSendOnly = 0x04,
  kSendOnlyImmediate = 0x05,
  kWriteFirst = 0x06,
  kWriteMiddle = 0x07,
  kWriteLast = 0x08,
  kWriteLastImmediate = 0x09,
  kWriteOnly = 0x0A,
  kWriteOnlyImmediate = 0x0B,
  kReadRequest = 0x0C,
  kAcknowledge = 0x11,
  kCongestionNotification = 0x81,
};

/// Base Transport Header (IBTA 9.2).
struct Bth {
  static constexpr uint8_t kSolicited = 0x80;
  static constexpr uint8_t kMigrated = 0x40;
  static constexpr int kPadShift = 4;
  static constexpr uint8_t kPadMask = 0x30;
  static constexpr uint8_t kVersionMask = 0x0F;
  static constexpr uint8_t kAckRequest = 0x80;

  Opcode opcode = Opcode::kWriteOnlyImmediate;
  uint8_t flags = 0;  ///< SE, M, PadCnt, TVer
  Be16 partition_key;
  uint8_t congestion = 0;  ///< FECN, BECN, six reserved bits
  Be24 destination_qp;
  uint8_t ack_request = 0;  ///< A, seven reserved bits
  Be24 psn;
};
static_assert(sizeof(Bth) == 12 && alignof(Bth) == 1);

/// RDMA Extended Transport Header (IBTA 9.3.3).
struct Reth {
  Be64 address;
  Be32 rkey;
  Be32 dma_length;  ///< bytes of the whole message
};
static_assert(sizeof(Reth) == 16 && alignof(Reth) == 1);

/// ACK Extended Transport Header (IBTA 9.3.5).
struct Aeth {
  uint8_t syndrome = 0;
  Be24 msn;
};
static_assert(sizeof(Aeth) == 4 && alignof(Aeth) == 1);

/// AETH syndromes (IBTA 9.7.5.2). An acknowledgement that carries no credits ends in 0x1F.
enum class Syndrome : uint8_t {
  kAck = 0x1F,
  kNakSequence = 0x60,
  kNakInvalidRequest = 0x61,
  kNakRemoteAccess = 0x62,
  kNakRemoteOperational = 0x63,
};
constexpr uint8_t kSyndromeTypeMask = 0xE0;
constexpr uint8_t kSyndromeTypeAck = 0x00;

/// Immediate Extended Transport Header (IBTA 9.3.6).
struct ImmediateHeader {
  Be32 value;
};
static_assert(sizeof(ImmediateHeader) == 4 && alignof(ImmediateHeader) == 1);

/// What every RoCEv2 packet begins with.
struct BaseHeader {
  EthernetHeader ethernet;
  Ipv4Header ip;
  UdpHeader udp;
  Bth bth;
};
static_assert(sizeof(BaseHeader) == 54 && alignof(BaseHeader) == 1 && std::is_trivially_copyable_v<BaseHeader>);

/// ARP over Ethernet and IPv4 (RFC 826).
struct ArpPacket {
  static constexpr uint16_t kHardwareEthernet = 1;
  static constexpr uint16_t kRequest = 1;

  Be16 hardware_type, protocol_type;
  uint8_t hardware_length = 6, protocol_length = 4;
  Be16 operation;
  MacAddress sender_mac;
  Be32 sender_ip;
  MacAddress target_mac;
  Be32 target_ip;
};
static_assert(sizeof(ArpPacket) == 28 && alignof(ArpPacket) == 1);

/// The most header bytes in front of a payload: RETH and immediate (WRITE_ONLY_IMM).
constexpr size_t kMaxHeaderBytes = sizeof(BaseHeader) + sizeof(Reth) + sizeof(ImmediateHeader);

/// RFC 1071 over the header as if its checksum field were 0.
constexpr Be16 ipv4_checksum(const Ipv4Header& ip) {
  // The sum of the words as they stand in memory is the sum as it stands in memory (RFC 1071 section 2 (B)).
  static_assert(std::endian::native == std::endian::little);
  const auto words = std::bit_cast<std::array<uint32_t, 5>>(ip);
  constexpr uint32_t kWithoutChecksum = 0xFFFF;
  uint64_t sum = uint64_t{words[0]} + words[1] + (words[2] & kWithoutChecksum) + words[3] + words[4];
  sum = (sum & 0xFFFF'FFFF) + (sum >> 32);
  for (int i = 0; i < 3; ++i) sum = (sum & 0xFFFF) + (sum >> 16);
  return std::bit_cast<Be16>(static_cast<uint16_t>(~sum));
}

/// The UDP source port of a queue pair, which spreads queue pairs over equal-cost paths: Linux's rule when the flow
/// label is 0 (rdma_calc_flow_label and rdma_flow_label_to_udp_sport in include/rdma/ib_verbs.h). 0xC000 .. 0xFFFF, the
/// same in both directions.
constexpr uint16_t udp_source_port(uint32_t local_qp, uint32_t remote_qp) {
  uint64_t v = static_cast<uint64_t>(local_qp) * remote_qp;
  v ^= v >> 20;
  v ^= v >> 40;
  const uint32_t flow_label = v & 0xFFFFF;
  return static_cast<uint16_t>(0xC000 | ((flow_label & 0x3FFF) ^ (flow_label >> 14)));
}

}  // namespace rankwire

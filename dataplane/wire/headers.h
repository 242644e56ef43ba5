// The wire format of RoCEv2 over IPv4 and IPv6, untagged or with one VLAN tag: InfiniBand Architecture Specification
// Vol. 1 (IBTA) chapter 9 and Annex A17, IEEE 802.1Q-2018 section 9, RFC 791, RFC 8200, RFC 768. Every struct has
// alignment 1 and exactly its size on the wire.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "base/address.h"
#include "dataplane/wire/opcode.h"

namespace rankwire {

constexpr uint16_t byte_swapped(uint16_t value) {
  return __builtin_bswap16(value);
}
constexpr uint32_t byte_swapped(uint32_t value) {
  return __builtin_bswap32(value);
}
constexpr uint64_t byte_swapped(uint64_t value) {
  return __builtin_bswap64(value);
}

/// An unsigned integer of N bytes, most significant first. Conversions are explicit in both directions.
template <class Host, size_t N>
class BigEndian {
  static_assert(std::endian::native == std::endian::little);
  static constexpr int kUnused = 8 * (sizeof(Host) - N);
  using Bytes = std::array<uint8_t, sizeof(Host)>;

 public:
  constexpr BigEndian() = default;
  // Whole words are swapped: compilers do not see that a loop over bytes does the same.
  constexpr explicit BigEndian(Host host) {
    const auto bytes = std::bit_cast<Bytes>(byte_swapped(static_cast<Host>(host << kUnused)));
    std::copy_n(bytes.begin(), N, bytes_.begin());
  }
  constexpr Host value() const {
    if constexpr (N == sizeof(Host)) return byte_swapped(std::bit_cast<Host>(bytes_));
    Host host = 0;
#pragma GCC unroll 8
    for (size_t i = 0; i < N; ++i) host = static_cast<Host>(host << 8 | bytes_[i]);
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
constexpr uint16_t kEtherTypeIpv6 = 0x86DD;
constexpr uint8_t kIpProtocolIcmp = 1;
constexpr uint8_t kIpProtocolUdp = 17;
constexpr uint8_t kIpProtocolIcmpv6 = 58;
constexpr uint16_t kRoceUdpPort = 4791;
constexpr uint16_t kDefaultPartitionKey = 0xFFFF;
constexpr size_t kIcrcBytes = 4;

struct EthernetHeader {
  MacAddress destination, source;
  Be16 ether_type;
};
static_assert(sizeof(EthernetHeader) == 14 && alignof(EthernetHeader) == 1);

/// What follows an EthernetHeader with kEtherTypeVlan.
struct VlanTag {
  static constexpr int kPriorityShift = 13;
  static constexpr uint16_t kIdentifierMask = 0x0FFF;

  Be16 control;  ///< PCP (3 bits), DEI (1), VID (12; 0: a priority tag, the frame belongs to no VLAN)
  Be16 ether_type;
};
static_assert(sizeof(VlanTag) == 4 && alignof(VlanTag) == 1);

struct Ipv4Header {
  static constexpr uint8_t kVersionAndLength = 0x45;  ///< version 4, five words: options are not used
  static constexpr uint16_t kDontFragment = 0x4000;
  static constexpr uint16_t kFragmentBits = 0x3FFF;  ///< more-fragments flag and fragment offset
  static constexpr uint16_t kOffsetBits = 0x1FFF;

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

struct Ipv6Header {
  static constexpr int kClassShift = 20;
  static constexpr uint32_t kFlowLabelMask = 0xFFFFF;

  /// The first word: version 6, traffic class (DSCP and ECN as in IPv4), flow label (20 bits).
  static constexpr Be32 word(uint8_t traffic_class, uint32_t flow_label) {
    return Be32(uint32_t{6} << 28 | uint32_t{traffic_class} << kClassShift | flow_label);
  }
  constexpr uint8_t version() const { return static_cast<uint8_t>(version_class_flow.value() >> 28); }
  constexpr uint8_t traffic_class() const { return static_cast<uint8_t>(version_class_flow.value() >> kClassShift); }

  Be32 version_class_flow;
  Be16 payload_length;  ///< of what follows this header
  uint8_t next_header = kIpProtocolUdp;
  uint8_t hop_limit = 0;
  IpAddress source, destination;
};
static_assert(sizeof(Ipv6Header) == 40 && alignof(Ipv6Header) == 1);

/// Values of the ECN field (RFC 3168 section 5).
enum class Ecn : uint8_t { kNotCapable = 0, kCapable1 = 1, kCapable0 = 2, kCongestionExperienced = 3 };

struct UdpHeader {
  Be16 source_port, destination_port;
  Be16 length;
  Be16 checksum;  ///< 0: none. The ICRC covers what it would.
};
static_assert(sizeof(UdpHeader) == 8 && alignof(UdpHeader) == 1);

/// Base Transport Header (IBTA 9.2).
struct Bth {
  static constexpr uint8_t kSolicited = 0x80;
  static constexpr uint8_t kMigrated = 0x40;
  static constexpr int kPadShift = 4;
  static constexpr uint8_t kPadMask = 0x30;
  static constexpr uint8_t kVersionMask = 0x0F;
  static constexpr uint8_t kBackwardCongestion = 0x40;
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

/// AETH syndromes (IBTA 9.7.5.2). An acknowledgement that carries no credits ends in 0x1F; the lower five bits of an
/// RNR NAK are a timer code.
enum class Syndrome : uint8_t {
  kAck = 0x1F,
  kNakNotReady = 0x20,
  kNakSequence = 0x60,
  kNakInvalidRequest = 0x61,
  kNakRemoteAccess = 0x62,
  kNakRemoteOperational = 0x63,
};
constexpr uint8_t kSyndromeTypeMask = 0xE0;
constexpr uint8_t kSyndromeTypeAck = 0x00;
constexpr uint8_t kSyndromeTypeNotReady = 0x20;
constexpr uint8_t kSyndromeTypeNak = 0x60;

/// Immediate Extended Transport Header (IBTA 9.3.6).
struct ImmediateHeader {
  Be32 value;
};
static_assert(sizeof(ImmediateHeader) == 4 && alignof(ImmediateHeader) == 1);

/// What stands behind the IP header of every RoCEv2 packet.
struct TransportHeader {
  UdpHeader udp;
  Bth bth;
};
static_assert(sizeof(TransportHeader) == 20 && alignof(TransportHeader) == 1);

/// The least and the most bytes up to and with BTH: untagged IPv4, tagged IPv6.
constexpr size_t kMinBaseHeaderBytes = sizeof(EthernetHeader) + sizeof(Ipv4Header) + sizeof(TransportHeader);
constexpr size_t kMaxBaseHeaderBytes =
    sizeof(EthernetHeader) + sizeof(VlanTag) + sizeof(Ipv6Header) + sizeof(TransportHeader);
static_assert(kMinBaseHeaderBytes == 54 && kMaxBaseHeaderBytes == 78);

/// The most header bytes in front of a payload: RETH and immediate (WRITE_ONLY_IMM).
constexpr size_t kMaxHeaderBytes = kMaxBaseHeaderBytes + sizeof(Reth) + sizeof(ImmediateHeader);

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

/// RFC 1624 equation 3: the checksum of a header whose total length was 0 when it was `checksum`.
constexpr Be16 checksum_with_length(Be16 checksum, uint16_t total_length) {
  uint32_t sum = uint32_t{static_cast<uint16_t>(~checksum.value())} + 0xFFFF + total_length;
  sum = (sum & 0xFFFF) + (sum >> 16);
  sum = (sum & 0xFFFF) + (sum >> 16);
  return Be16(static_cast<uint16_t>(~sum));
}

}  // namespace rankwire

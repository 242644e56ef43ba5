// The headers that a queue pair's packets have in common, ready to be copied.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>

#include "base/address.h"
#include "dataplane/wire/headers.h"

namespace rankwire {

enum class IpVersion : uint8_t { kIpv4, kIpv6 };

/// The M bit of BTH: ConnectX sends 1 and takes a slow path for 0; Linux rxe sends 0.
enum class Migration : uint8_t { kMigrated, kArmed };

/// How switches are asked to treat a packet.
struct Marking {
  uint8_t dscp = 0;  ///< 0 .. 63
  Ecn ecn = Ecn::kNotCapable;
  uint8_t priority = 0;  ///< 802.1p, 0 .. 7; only tagged frames carry it
};

/// What a marking is chosen by. READ responses are data.
enum class PacketKind : uint8_t { kData, kAck, kNak, kCnp };
constexpr size_t kPacketKinds = 4;

struct Markings {
  Marking data, ack, nak, cnp;
};

/// What all packets that one queue pair sends have in common.
struct PacketPath {
  MacAddress source_mac, destination_mac;
  IpAddress source_ip, destination_ip;  ///< of one version
  std::optional<uint16_t> vlan;         ///< 802.1Q tag with this VID, 0 .. 4094 (0: a priority tag)
  uint16_t source_port = 0;             ///< UDP; see source_port.h
  uint32_t destination_qp = 0;          ///< 24 bits
  uint32_t flow_label = 0;              ///< IPv6, 20 bits
  uint8_t time_to_live = 64;            ///< or hop limit
  Migration migration = Migration::kMigrated;
  Markings markings;
};

/// What PatternIcrc knows beforehand of the packets that a queue pair sends.
struct IcrcBase {
  uint32_t behind_bth = 0;         ///< the register behind BTH, for the template's headers as they stand
  std::array<uint32_t, 3> full{};  ///< by PatternIcrc::Kind: the ICRC with this very BTH, a full payload, and zeros
                                   ///< between the two
};
/// The same of the packets that its peer sends, if that has the same settings.
struct PeerIcrcBase {
  uint32_t behind_bth = 0;
  uint32_t full = 0;  ///< without anything between the two
};

/// The headers of a path, Ethernet to BTH, with everything filled in that does not change from packet to packet. They
/// end where the template ends, so those of an untagged packet over IPv4 are wholly in its last cache line.
struct alignas(64) HeaderTemplate {
  /// The bytes that a kind of packet is marked by.
  struct KindBytes {
    uint8_t traffic_class = 0;  ///< DSCP and ECN
    Be16 checksum;              ///< of the IPv4 header, were its total length 0
    Be16 tag_control;           ///< 802.1Q
  };
  static constexpr size_t kBytes = 128;

  IcrcBase icrc;                                ///< `full` of a template of PatternIcrc
  PeerIcrcBase peer;                            ///< of a connected queue pair
  uint16_t vlan = 0;                            ///< as ParsedPacket::vlan
  uint8_t header_length = kMinBaseHeaderBytes;  ///< 54, 58, 74 or 78
  IpVersion ip_version = IpVersion::kIpv4;
  std::array<KindBytes, kPacketKinds> kinds;  ///< by PacketKind
  std::array<uint8_t, kBytes - 48> bytes{};   ///< the headers are the last `header_length`

  const uint8_t* header_end() const noexcept { return bytes.data() + bytes.size(); }
  uint8_t* header_end() noexcept { return bytes.data() + bytes.size(); }
  const uint8_t* header() const noexcept { return header_end() - header_length; }
  uint8_t* header() noexcept { return header_end() - header_length; }
  const uint8_t* ip() const noexcept {
    return header_end() - sizeof(TransportHeader) -
           (ip_version == IpVersion::kIpv4 ? sizeof(Ipv4Header) : sizeof(Ipv6Header));
  }
  /// Of the next hop, once it is known; the ICRC does not cover it.
  void set_destination_mac(const MacAddress& mac) noexcept { std::memcpy(header(), &mac, sizeof mac); }
  const TransportHeader& transport() const noexcept {
    return *reinterpret_cast<const TransportHeader*>(header_end() - sizeof(TransportHeader));
  }
};
static_assert(sizeof(HeaderTemplate) == HeaderTemplate::kBytes && alignof(HeaderTemplate) == 64);
static_assert(HeaderTemplate::kBytes - 48 >= kMaxBaseHeaderBytes);

/// Without opcode, lengths and PSN: for packets of every kind, with the marking of data.
HeaderTemplate make_template(const PacketPath& path);

}  // namespace rankwire

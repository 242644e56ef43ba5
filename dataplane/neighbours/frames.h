// Frames of ARP, IPv6 neighbour discovery and echo, read and written.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "base/transport.h"
#include "dataplane/wire/frame.h"
#include "dataplane/wire/header_template.h"

namespace rankwire {

enum class NeighbourKind : uint8_t {
  kNone,           ///< nothing that concerns neighbours
  kMalformed,      ///< breaks its protocol's rules
  kSolicitation,   ///< ARP request, neighbour solicitation
  kAdvertisement,  ///< ARP reply, neighbour advertisement
  kEchoRequest,
};

/// What ARP (RFC 826) and neighbour discovery (RFC 4861) have in common. Spans refer to the frame.
struct NeighbourMessage {
  NeighbourKind kind = NeighbourKind::kNone;
  IpVersion ip_version = IpVersion::kIpv4;
  bool overrides = true;  ///< kAdvertisement: replaces another MAC address that is known
  uint16_t vlan = 0;      ///< of the frame; 0: none
  MacAddress frame_source, frame_destination;
  /// kSolicitation: who asks; none: a probe by somebody who has no address yet. kAdvertisement: whose MAC address is
  /// told. kEchoRequest: who asks.
  IpAddress sender;
  std::optional<MacAddress> sender_mac;  ///< as the message says
  IpAddress target;                      ///< kSolicitation: whose MAC address is asked for. kEchoRequest: who is asked
  std::span<const uint8_t> ip_packet;    ///< kEchoRequest: the request
};

/// Checks lengths, checksums, hop limits and addresses (RFC 826, RFC 1122 3.2.2.6, RFC 4443 2.3, RFC 4861 7.1). The
/// frame is contiguous, untagged or with one tag.
NeighbourMessage read_neighbour_frame(const Frame& frame) noexcept;

/// The longest frame that the following write, echo replies apart.
constexpr uint32_t kMaxNeighbourFrame = 90;

/// Each writes a whole frame of the NIC, of at least 60 bytes, into an empty frame.
/// An ARP request or, to the solicited-node multicast address (RFC 4291 2.7.1), a neighbour solicitation.
void write_solicitation(const Nic& nic, const IpAddress& target, Frame& frame) noexcept;
/// The answer to a solicitation for the NIC's address.
void write_advertisement(const Nic& nic, const NeighbourMessage& solicitation, Frame& frame) noexcept;
/// A gratuitous ARP request (RFC 5227 2.3) or an unsolicited neighbour advertisement (RFC 4861 7.2.6), by which
/// switches learn where the NIC is.
void write_announcement(const Nic& nic, Frame& frame) noexcept;
/// `frame` holds the request's length and a VLAN tag.
void write_echo_reply(const Nic& nic, const NeighbourMessage& request, Frame& frame) noexcept;

}  // namespace rankwire

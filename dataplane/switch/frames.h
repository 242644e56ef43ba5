// What a switch reads of a frame, and the one thing that it writes.
#pragma once

#include <cstdint>

#include "dataplane/switch/options.h"
#include "dataplane/wire/frame.h"

namespace rankwire {

/// The headers of a frame that is no runt, as far as a switch looks at them.
struct FrameHeaders {
  uint64_t destination = 0, source = 0;  ///< MAC addresses, 48 bits, wire order read as a big-endian number
  uint32_t network_offset = 0;           ///< where the network header begins, bytes
  uint16_t network_type = 0;             ///< its EtherType
  uint8_t dscp = 0;
  uint8_t pcp = 0;
  bool ip = false;
  bool ecn_capable = false;  ///< ECT(0) or ECT(1)
};

/// As FrameHeaders has it.
uint64_t mac_number(const MacAddress& mac) noexcept;

/// Group addresses, broadcast included.
constexpr bool is_group(uint64_t mac) {
  return (mac >> 40 & 1) != 0;
}
/// 01:80:C2:00:00:00 .. 0F: PAUSE, LACP, LLDP and others that no bridge relays (IEEE 802.1Q-2018, 8.6.3).
constexpr bool is_reserved_group(uint64_t mac) {
  return mac >> 4 == 0x0180C200000;
}
/// Too short to have addresses and a type.
constexpr bool is_runt(const Frame& frame) {
  return frame.head_length < 14;
}

/// Of a frame that is no runt, of which these are the first bytes.
uint64_t destination_of(const uint8_t* head) noexcept;
/// Reads `head` alone, behind at most one VLAN tag. `frame` is no runt.
FrameHeaders read_headers(const Frame& frame) noexcept;

/// The flow_hash of the frame's IP fields, or of its addresses without IP. With `hash_queue_pair` the destination QP of
/// RoCEv2 is part of the flow. `headers` are the frame's.
uint32_t flow_of(const Frame& frame, const FrameHeaders& headers, const LoadBalancingOptions& balancing) noexcept;

inline uint8_t priority_of(const FrameHeaders& headers, const ClassOptions& classes) noexcept {
  if (classes.trust == PriorityTrust::kPcp) return headers.pcp;
  return headers.ip ? classes.of_dscp[headers.dscp] : uint8_t{0};
}

/// Sets CE in the IP header of an ECN-capable frame, with the IPv4 checksum (RFC 1624), and returns whether it did.
bool mark_congestion(const Frame& frame) noexcept;

}  // namespace rankwire

// The eight priorities of Ethernet traffic (IEEE 802.1Q), and how switches and NICs tell them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace rankwire {

constexpr uint32_t kPriorities = 8;
/// Bit i: priority i.
using PrioritySet = uint8_t;
constexpr PrioritySet kAllPriorities = 0xFF;
constexpr PrioritySet priority_bit(uint32_t priority) {
  return static_cast<PrioritySet>(1u << priority);
}

enum class PriorityTrust : uint8_t { kDscp, kPcp };

/// Frames without an IP header, or with `kPcp` without a tag, have priority 0.
struct ClassOptions {
  PriorityTrust trust = PriorityTrust::kDscp;
  std::array<uint8_t, 64> of_dscp = dscp_by_eights();
  PrioritySet lossless = 0;  ///< flow-controlled (PFC) in both directions

  static constexpr std::array<uint8_t, 64> dscp_by_eights() {
    std::array<uint8_t, 64> map{};
    for (size_t dscp = 0; dscp < map.size(); ++dscp) map[dscp] = static_cast<uint8_t>(dscp >> 3);
    return map;
  }
};

}  // namespace rankwire

// Which of several equal paths a flow takes.
#pragma once

#include <array>
#include <cstdint>

#include "base/message.h"

namespace rankwire {

/// What a switch can tell flows apart by: the IP 5-tuple, and for RoCEv2 where it looks deeper the destination queue
/// pair ("QP hashing", a user-defined field of Broadcom's and Juniper's switches).
struct FlowKey {
  std::array<uint64_t, 2> source{}, destination{};  ///< addresses; IPv4 in the second word
  uint16_t source_port = 0, destination_port = 0;
  uint8_t protocol = 0;
  uint32_t destination_qp = 0;  ///< 24 bits; 0: not looked at
};

/// A mix of all fields; equal everywhere.
constexpr uint32_t flow_hash(const FlowKey& key) {
  const uint64_t ports = uint64_t{key.source_port} << 48 | uint64_t{key.destination_port} << 32 |
                         uint64_t{key.protocol} << 24 | (key.destination_qp & 0xFFFFFF);
  uint64_t hash = mix64(ports + 0x9E3779B97F4A7C15u);
  for (const uint64_t word : {key.source[0], key.source[1], key.destination[0], key.destination[1]}) {
    hash = mix64(hash ^ word);
  }
  return static_cast<uint32_t>(hash >> 32);
}

/// The seed of a switch in a fabric that has `seed`: its own, or the same in all.
constexpr uint64_t switch_hash_seed(uint64_t seed, uint32_t number, bool own) {
  return own ? mix64(mix64(seed + number * 0x9E3779B97F4A7C15u)) : mix64(seed);
}

/// The member, 0 .. members - 1, of a switch with this seed. Switches with one seed in two tiers choose alike, so that
/// of the second tier's members only some are used (polarisation); different seeds avoid it.
constexpr uint32_t ecmp_member(uint32_t flow, uint64_t seed, uint32_t members) {
  return static_cast<uint32_t>((mix64(flow ^ seed) >> 32) * members >> 32);
}

}  // namespace rankwire

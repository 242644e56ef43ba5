// What the two ends of a queue pair tell each other that could be any number.
#pragma once

#include <cstdint>

#include "base/id.h"
#include "base/message.h"
#include "dataplane/protocol/queue_pair.h"

namespace rankwire {

/// What is drawn for an end of a queue pair.
enum class Draw : uint8_t { kSourcePsn, kDestinationPsn, kSourceKey, kDestinationKey };

/// Follows from the seed and the queue pair's name alone, so that runs repeat.
inline uint32_t draw(uint64_t seed, ConnectionId connection, uint16_t member, Draw what) {
  const uint64_t name = uint64_t{connection.value} << 16 | uint64_t{member} << 4 | static_cast<uint64_t>(what);
  return static_cast<uint32_t>(mix64(mix64(seed + 0x9E3779B97F4A7C15u) + name));
}

/// The first PSN, 24 bits, that an end sends with.
inline uint32_t draw_psn(uint64_t seed, ConnectionId connection, uint16_t member, bool at_source) {
  return draw(seed, connection, member, at_source ? Draw::kSourcePsn : Draw::kDestinationPsn) & kPsnMask;
}

}  // namespace rankwire

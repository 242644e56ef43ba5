// Who sends to whom in traffic that no trace describes.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

namespace rankwire {

enum class TrafficPattern : uint8_t {
  kPairs,        ///< the n-th source to the n-th destination
  kAllToAll,     ///< every source to every destination, where they meet
  kPermutation,  ///< every source to another source: one circle of all, drawn from the seed
  kIncast,       ///< every source to the only destination
  kRandomPairs,  ///< so many pairs drawn from the seed, of a source and a destination that meet; some may be equal
};

/// Ends are numbers of the caller's.
struct TrafficEnds {
  std::span<const uint32_t> from;
  std::span<const uint32_t> to;  ///< of kPermutation nobody; of kPairs as many as `from`
  uint32_t pairs = 0;            ///< of kRandomPairs
  /// Whether the network lies between the two.
  std::function<bool(uint32_t, uint32_t)> meet;
};

/// The pairs of source and destination. What a pattern cannot do without is there whether its ends meet or not; of
/// kRandomPairs there is none when no two ends meet.
std::vector<std::pair<uint32_t, uint32_t>> traffic_pairs(TrafficPattern pattern, const TrafficEnds& ends,
                                                         uint64_t seed);

}  // namespace rankwire

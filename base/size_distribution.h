// Sizes of messages: always the same, or drawn from a cumulative distribution.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/random.h"
#include "base/units.h"

namespace rankwire {

/// So many of all messages, in parts of SizeDistribution::kWhole, are not larger.
struct SizePoint {
  Bytes bytes;
  uint64_t cumulative = 0;

  bool operator==(const SizePoint&) const = default;
};

/// Between two points sizes are spread evenly; what the first point holds has just its size. A size is at least 1 byte.
/// Constant after construction.
class SizeDistribution {
 public:
  static constexpr uint64_t kWhole = 1'000'000'000;

  explicit SizeDistribution(Bytes fixed) : points_{{fixed, kWhole}} {}
  /// `points` rise in both, the last one with `kWhole`; at least one.
  explicit SizeDistribution(std::vector<SizePoint> points) : points_(std::move(points)) {}

  /// The size below which `part` of all messages are, 0 <= part < kWhole, rounded down.
  Bytes quantile(uint64_t part) const noexcept;
  Bytes sample(Random& random) const noexcept { return quantile(random.below(kWhole)); }
  /// Rounded to the nearest byte.
  Bytes mean() const noexcept;
  Bytes largest() const noexcept { return std::max(points_.back().bytes, Bytes(1)); }

 private:
  std::vector<SizePoint> points_;
};

/// The points of a published distribution; nothing for another name:
/// "web_search": queries of a web search cluster, from the measurements of Alizadeh et al., "Data Center TCP (DCTCP)",
/// SIGCOMM 2010, and "storage": the distributed storage of Li et al., "HPCC: High Precision Congestion Control",
/// SIGCOMM 2019. Both with the points of the traffic generator that was published with the latter
/// (WebSearch_distribution.txt, AliStorage2019.txt).
std::optional<std::vector<SizePoint>> published_sizes(std::string_view name);

}  // namespace rankwire

#include "base/size_distribution.h"

#include <algorithm>

namespace rankwire {
namespace {

/// In hundredths of a percent.
constexpr uint64_t kHundredth = SizeDistribution::kWhole / 10'000;

std::vector<SizePoint> web_search() {
  return {{Bytes(0), 0},
          {Bytes(10'000), 1'500 * kHundredth},
          {Bytes(20'000), 2'000 * kHundredth},
          {Bytes(30'000), 3'000 * kHundredth},
          {Bytes(50'000), 4'000 * kHundredth},
          {Bytes(80'000), 5'300 * kHundredth},
          {Bytes(200'000), 6'000 * kHundredth},
          {Bytes(1'000'000), 7'000 * kHundredth},
          {Bytes(2'000'000), 8'000 * kHundredth},
          {Bytes(5'000'000), 9'000 * kHundredth},
          {Bytes(10'000'000), 9'700 * kHundredth},
          {Bytes(30'000'000), 10'000 * kHundredth}};
}

std::vector<SizePoint> storage() {
  return {{Bytes(0), 0},
          {Bytes(4'000), 2'293 * kHundredth},
          {Bytes(8'000), 6'921 * kHundredth},
          {Bytes(16'000), 8'061 * kHundredth},
          {Bytes(32'000), 9'047 * kHundredth},
          {Bytes(64'000), 9'353 * kHundredth},
          {Bytes(128'000), 9'677 * kHundredth},
          {Bytes(256'000), 9'753 * kHundredth},
          {Bytes(2'000'000), 10'000 * kHundredth}};
}

}  // namespace

Bytes SizeDistribution::quantile(uint64_t part) const noexcept {
  const auto above = std::ranges::upper_bound(points_.begin(), points_.end() - 1, part, {}, &SizePoint::cumulative);
  int64_t bytes = above->bytes.count;
  if (above != points_.begin()) {
    const SizePoint& below = *(above - 1);
    const __int128 more = above->bytes.count - below.bytes.count;
    const auto share = static_cast<int64_t>(part - below.cumulative);
    const auto whole = static_cast<int64_t>(above->cumulative - below.cumulative);
    bytes = below.bytes.count + static_cast<int64_t>(more * share / whole);
  }
  return Bytes(std::max<int64_t>(bytes, 1));
}

Bytes SizeDistribution::mean() const noexcept {
  __int128 twice =
      static_cast<__int128>(points_.front().bytes.count) * static_cast<int64_t>(points_.front().cumulative) * 2;
  for (size_t i = 1; i < points_.size(); ++i) {
    const SizePoint &below = points_[i - 1], &above = points_[i];
    const __int128 sum = below.bytes.count + above.bytes.count;
    twice += sum * static_cast<int64_t>(above.cumulative - below.cumulative);
  }
  constexpr __int128 kTwice = __int128{2} * static_cast<int64_t>(kWhole);
  return Bytes(std::max<int64_t>(static_cast<int64_t>((twice + static_cast<int64_t>(kWhole)) / kTwice), 1));
}

std::optional<std::vector<SizePoint>> published_sizes(std::string_view name) {
  if (name == "web_search") return web_search();
  if (name == "storage") return storage();
  return std::nullopt;
}

}  // namespace rankwire

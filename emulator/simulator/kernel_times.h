// Measured times of kernels by their names.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/id.h"
#include "base/units.h"

namespace rankwire {

/// The time of a kernel is linear in its work. Coefficients are in 10^-9 ps, so that one flop at 1 Pflop/s is 10^6.
struct KernelRow {
  std::string pattern;  ///< shell pattern (fnmatch) of the whole name
  /// Ranks whose kernels are meant, ascending; absent: all.
  std::optional<std::vector<RankId>> ranks;
  Duration duration;
  int64_t per_operation = 0, per_byte = 0;  ///< >= 0
};

/// A table of rows, of which the first that fits counts. Immutable; any thread may ask.
class KernelTimes {
 public:
  explicit KernelTimes(std::vector<KernelRow> rows);
  KernelTimes(const KernelTimes&) = delete;
  KernelTimes& operator=(const KernelTimes&) = delete;

  /// duration + operations * per_operation + bytes * per_byte, rounded up to whole picoseconds, Duration::max() when it
  /// does not fit; nothing when no row fits. `operations` and `bytes` are >= 0.
  std::optional<Duration> find(RankId rank, std::string_view name, int64_t operations, Bytes bytes) const;

 private:
  const KernelRow* row_of(RankId rank, std::string_view name) const;

  std::vector<KernelRow> rows_;
  std::unordered_map<std::string_view, std::vector<uint32_t>> literal_;  ///< rows by pattern, of those that are names
  std::vector<uint32_t> patterns_;                                       ///< the others
};

}  // namespace rankwire

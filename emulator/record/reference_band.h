// The reference as a band instead of a single time.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "emulator/record/reader.h"

namespace rankwire {

/// Completion times of runs of the reference with small differences (`simulation.ensemble`). Quantiles are those of the
/// nearest rank: a time that occurred.
struct ReferenceBand {
  size_t runs = 0;
  Duration low, median, high;  ///< 5 %, 50 % and 95 %

  bool has(Duration completion) const { return low <= completion && completion <= high; }
  /// Beyond the band by more than a hundredth of the median: differences of a tenth of a percent make whoever waits for
  /// all a little later.
  bool is_far(Duration completion) const;
};

/// Of at least one time.
ReferenceBand band_of(std::vector<Duration> times);
/// Absent without an ensemble. A run of perfect symmetry that is outside by no more than a thousandth of the median, as
/// much as what the members differ by, is its end: members can only be later than it where ranks wait for each other.
std::optional<ReferenceBand> reference_band(const RunReader& record);

/// The same of each rank's completion time, by RankId. Empty without one, or in a record of a version of rankwire
/// without them.
std::vector<ReferenceBand> rank_bands(const RunReader& record);
/// By how much a time is beyond the band: negative before its low end, positive behind its high end, 0 within.
Duration beyond(const ReferenceBand& band, Duration completion);

/// Whether the run is of the model that a band is of: its single run, or the member at the median.
bool is_of_flow(const RecordedRun& run);
/// Whether the run is of the model of that name, also as the member at the median.
bool is_of(const RecordedRun& run, std::string_view model);
/// What takes part in comparisons of that model with itself: the member at the median where the record has it, else the
/// single run; null where it did not end well.
const RecordedRun* run_of_flow(const RunReader& record);

/// Whether the run is the single one, and that at the median takes its place.
bool is_replaced(const RunReader& record, const RecordedRun& run);

/// The time of the single run of the model that a band is of; absent where it did not end well.
std::optional<Duration> symmetric_completion(const RunReader& record);

}  // namespace rankwire

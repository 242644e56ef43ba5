// The reference as a band instead of a single time.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "emulator/record/reader.h"

namespace rankwire {

/// Completion times of runs of the reference with small differences (`simulation.ensemble`). Quantiles are those of the
/// nearest rank: a time that occurred.
struct ReferenceBand {
  size_t runs = 0;
  Duration low, median, high;  ///< 5 %, 50 % and 95 %

  bool has(Duration completion) const { return low <= completion && completion <= high; }
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

/// Emulated over reference where both ended well: against the median where the reference is a band, since that is the
/// better prediction, else as `completion_ratio`.
std::optional<double> predicted_ratio(const RunReader& record);

/// `reference.band` of summary.json; null without one.
nlohmann::ordered_json band_json(const RunReader& record);
/// "10.31 ms .. 11.02 ms of 16 runs, median 10.8 ms, ...", with what it says of the reference and of the emulated side;
/// or why there is none, as below.
std::string band_text(const RunReader& record);
/// Why a reference has no band that could have one; empty where it has one, or the configuration wants none.
std::string missing_band_text(const RunReader& record);

}  // namespace rankwire

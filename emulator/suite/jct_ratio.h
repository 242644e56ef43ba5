// How job completion times lie about what they were to be: over the iterations of a run, or over its repetitions.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "emulator/record/reader.h"

namespace rankwire {

/// One iteration of a job: from the end of the one before, or of the first from its first start, to the last end of any
/// of its operations at any rank. The times of a job's iterations add up to its completion time.
struct IterationTime {
  JobId job;
  uint32_t iteration = 0;
  std::optional<Duration> emulated, reference;  ///< absent where that side did not come to an end of it
};
/// In the order of (iteration, job). Empty where operations were not recorded. Reads all of them.
std::vector<IterationTime> iteration_times(const RunReader& record);

/// The least value that so many percent do not exceed, a value that occurred. NaNs do not count; NaN of none.
double nearest_rank(std::vector<double> values, double percent);

/// `jct_ratio_of` ("repetitions" or "iterations"), `jct_ratio_samples`, and by nearest rank `jct_ratio_p50`, `_p95`,
/// `_p99` and `_max`. With two or more repetitions (`run.repeat`) that came to their end: of each one's completion time
/// over what `ratio` divides by. Else, of each iteration its emulated time over that in the reference's run. All but
/// the first two are null where there are no samples. `summary` is the record's.
nlohmann::ordered_json jct_ratio_figures(const RunReader& record, const nlohmann::ordered_json& summary);

}  // namespace rankwire

// Whether a run kept what its configuration asks of it.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "emulator/record/reader.h"

namespace rankwire {

struct LimitResult {
  LimitInfo limit;
  std::optional<double> value;      ///< in the units of the limit; absent: the run did not measure it
  std::optional<double> low, high;  ///< of a ratio to a band, over its ends; else absent
  bool is_kept = false;             ///< never without a value
  std::string text;                 ///< "limits.ratio: 1.432 is above 1.1"
};

/// Whether the limit is of a time, or a bandwidth, and the greater of it and the value is the lesser and less than such
/// a part of that beside.
bool is_within(const LimitResult& result, double part);

/// Whether one end of the reference's band keeps the limit and the other one breaks it.
bool is_between(const LimitResult& result);

/// Of the emulated side, in the order of the configuration. Where nothing was emulated those of requests are of the
/// reference, and the others are left out. Empty without limits, and where that run has not ended.
std::vector<LimitResult> limit_results(const RunReader& record);

/// Of a record without an emulated side the limits that nothing was judged by: "limits.ratio: not judged, since nothing
/// was emulated (simulate --twin, or run)". Empty where there are none.
std::string unjudged_limits_text(const RunReader& record);

/// `limits` of summary.json.
nlohmann::ordered_json limits_json(const RunReader& record);

}  // namespace rankwire

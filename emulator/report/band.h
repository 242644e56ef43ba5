// What is said of the band of the reference.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "emulator/record/reader.h"
#include "emulator/record/reference_band.h"

namespace rankwire {

/// Emulated over reference where both ended well: against the median where the reference is a band, since that is the
/// better prediction, else as `completion_ratio`.
std::optional<double> predicted_ratio(const RunReader& record);

/// The emulated side, which ended well, over the late end of the reference's band and over its early end.
struct RatioRange {
  double low, high;
};
/// Absent without a band.
std::optional<RatioRange> ratio_range(const RunReader& record);

/// `reference.band` of summary.json; null without one.
nlohmann::ordered_json band_json(const RunReader& record);
/// "10.31 ms .. 11.02 ms of 16 runs, median 10.8 ms, ...", with what it says of the reference and of the emulated side;
/// or why there is none, as below.
std::string band_text(const RunReader& record);
/// Why a reference has no band that could have one; empty where it has one, or the configuration wants none.
std::string missing_band_text(const RunReader& record);

}  // namespace rankwire

// From the keys `record.rate_*` to what transports sample, and from that to the record.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "dataplane/roce/rate_series.h"
#include "emulator/input/config.h"
#include "emulator/record/rate_rows.h"

namespace rankwire {

/// One for each worker's transport, which share the rows that are kept; none without `record.rate_interval`.
std::vector<RateSeries> rate_series(const RunConfig& config, uint32_t workers);

/// What all of them have, once their transports have ended; rows of shorter intervals are put together. Absent where
/// there are none.
std::optional<RateSampling> rate_sampling(std::span<RateSeries> series);

}  // namespace rankwire

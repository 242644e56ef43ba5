// Transfers of KV caches: from the first half of the ports, which stand for prefill, to the second, which decode.
#pragma once

#include <string>

#include "base/units.h"
#include "emulator/bmwg/bench.h"
#include "emulator/bmwg/parameters.h"

namespace rankwire {

/// How long to measure transfers of this size: `duration`, and at least twenty of them at the line rate.
Duration transfer_length(const BmwgBench& bench, const BmwgParameters& parameters, Bytes size);

/// An entry of a background: `pairs` pairs, each of a prefill and a decode port; where they are more than half of the
/// ports, these have several. `how`: "size: 64KiB, outstanding: 1".
std::string transfers(const BmwgBench& bench, const std::string& name, uint32_t pairs, const std::string& how);

/// What came of the transfers of that name. Throws BmwgUndecided where none came to its end.
const nlohmann::ordered_json& ended_transfers(const BmwgMeasurement& run, const std::string& name);

/// Microseconds: a quantile, such as "p99_ps", of the times of transfers.
double transfer_time(const nlohmann::ordered_json& transfers, const char* quantile);

}  // namespace rankwire

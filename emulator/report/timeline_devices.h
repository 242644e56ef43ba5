// What `timeline.json` has of the devices under test over time.
#pragma once

#include <cstddef>

#include "emulator/record/reader.h"
#include "emulator/report/timeline_tracks.h"
#include "emulator/report/trace_events.h"

namespace rankwire {

/// Processes of timeline.json that are no ranks: see timeline_tracks.h.
constexpr uint64_t kDeviceProcess = 1'000'005;

/// A process "devices" with a counter for each of a device's, on the run's clock: what goes up and down, and what
/// nobody knows the meaning of, as it was told; others by how much they have grown since the run began, resets apart.
/// What was told before the run is drawn at its begin. Beyond `most` samples several of a counter that follow each
/// other are one: of what goes up and down the largest, of others the last.
DrawnOf write_device_counters(TraceEvents& events, const RunReader& record, size_t most = 200'000);

}  // namespace rankwire

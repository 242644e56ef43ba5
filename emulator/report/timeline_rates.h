// What `timeline.json` has of ports and queue pairs over time.
#pragma once

#include <cstddef>

#include "base/units.h"
#include "emulator/record/reader.h"
#include "emulator/report/timeline_tracks.h"
#include "emulator/report/trace_events.h"

namespace rankwire {

/// Processes of timeline.json that are no ranks: see timeline_tracks.h.
constexpr uint64_t kRateProcess = 1'000'003, kAllowanceProcess = 1'000'004;

struct DrawnRates {
  uint64_t points = 0;  ///< of all counters
  Duration interval;    ///< of which each is the mean; 0 where there is none
};

/// A process "rates of ports" with a counter for each port and direction of the emulated side, "p0 sent" and "p0
/// received", bits a second: what passed them where that was sampled, else, where the record has all messages, the
/// payload of those that are under way, each evenly from its post to its delivery, so that where they wait for each
/// other the sum may be above the line's. A point is the mean of an interval, of which there are as many, at most
/// `most_intervals`, as give no more than `most` points. Nothing where the record has neither.
DrawnRates write_rate_counters(TraceEvents& events, const RunReader& record, size_t most_intervals = 2'000,
                               size_t most = 200'000);

/// A process "what queue pairs may send" with counters for each queue pair of the emulated side whose allowance was
/// sampled: its rate, bits a second, and its window, bytes. Beyond `most` samples several of a queue pair that follow
/// each other are one: the one with the lowest rate, then the smallest window.
DrawnOf write_allowance_counters(TraceEvents& events, const RunReader& record, size_t most = 200'000);

}  // namespace rankwire

// What `timeline.json` has of ports over time.
#pragma once

#include <cstddef>

#include "base/units.h"
#include "emulator/record/reader.h"
#include "emulator/report/timeline_tracks.h"
#include "emulator/report/trace_events.h"

namespace rankwire {

/// Processes of timeline.json that are no ranks: see timeline_tracks.h.
constexpr uint64_t kRateProcess = 1'000'003;

struct DrawnRates {
  uint64_t points = 0;  ///< of all counters
  Duration interval;    ///< of which each is the mean; 0 where there is none
};

/// A process "rates" with a counter for each port and direction of the emulated side, "p0 sent" and "p0 received":
/// payload bits a second that messages have there which are under way, each evenly from its post to its delivery, so
/// that where they wait for each other the sum may be above the line's. A point is the mean of an interval, of which
/// there are as many, at most `most_intervals`, as give no more than `most` points. Nothing where the record does not
/// have all messages.
DrawnRates write_rate_counters(TraceEvents& events, const RunReader& record, size_t most_intervals = 2'000,
                               size_t most = 200'000);

}  // namespace rankwire

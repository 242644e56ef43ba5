// `timeline.json`: both sides of a record as Chrome trace events, for Perfetto (ui.perfetto.dev) or chrome://tracing.
#pragma once

#include <string_view>
#include <vector>

#include "base/units.h"
#include "emulator/record/reader.h"
#include "emulator/report/output_file.h"

namespace rankwire {

/// A compute, host or memory node keeps the rank busy; everything else communicates.
enum class Activity : uint8_t { kCompute, kCommunication };
Activity activity_of(std::string_view kind);

/// Puts intervals that come in order of start into as few lanes as they need: those of one lane never overlap.
class LaneAllocator {
 public:
  /// The lane of the interval: the lowest one that is free at its start.
  size_t place(OperationTimes times);
  void clear() { busy_until_.clear(); }

 private:
  std::vector<Time> busy_until_;
};

/// A process for each (rank, side), "rank 3 emulated" and "rank 3 reference" next to each other; a thread for each
/// lane, "compute", "communication", "communication 2". `ts` and `dur` are microseconds as exact decimals, both sides
/// begin at 0. Format: "Trace Event Format", complete ("X") and metadata ("M") events. Streams: memory does not grow
/// with rows.
void write_timeline(const RunReader& record, OutputFile& out);

}  // namespace rankwire

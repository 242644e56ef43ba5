// `timeline.json`: both sides of a record as Chrome trace events, for Perfetto (ui.perfetto.dev) or chrome://tracing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <queue>
#include <vector>

#include "base/units.h"
#include "emulator/diagnosis/diagnosis.h"
#include "emulator/record/reader.h"
#include "emulator/report/output_file.h"
#include "emulator/report/picture.h"
#include "emulator/report/timeline_flows.h"

namespace rankwire {

/// Puts intervals that come in order of start into as few lanes as they need: those of one lane never overlap. O(log n)
/// for n lanes, of which early receives make thousands.
class LaneAllocator {
 public:
  /// The lane of the interval: the lowest one that is free at its start.
  size_t place(OperationTimes times);
  void clear();

 private:
  struct Busy {
    Time until;
    size_t lane;
    bool operator>(const Busy& other) const { return until > other.until; }
  };
  template <class T>
  using LeastFirst = std::priority_queue<T, std::vector<T>, std::greater<>>;

  size_t lanes_ = 0;
  LeastFirst<Busy> busy_;
  LeastFirst<size_t> free_;
};

/// The most executions that are drawn, of both sides together; beyond it the longest are, those of equal duration in
/// order of (side, rank, start). About 100 MB, which the viewers still open.
constexpr uint64_t kMostTimelineOperations = 500'000;

struct TimelineOptions {
  uint64_t most = kMostTimelineOperations;
  size_t most_flows = TimelineFlows::kMost;
  const Diagnosis* diagnosis = nullptr;  ///< with the critical path; may be null
};

/// A process for each (rank, side), "rank 3 emulated" and "rank 3 reference" next to each other; a thread for each
/// lane, "compute", "communication", "communication 2", so that no two slices of a thread overlap. Above them the
/// critical path, beneath them queues and rates of ports over time; arrows from who sends to who receives. `ts` and
/// `dur` are microseconds as exact decimals, both sides begin at 0. `otherData` says how much is drawn and left out.
/// Format: "Trace Event Format", complete ("X"), flow ("s", "f"), counter ("C"), instant ("i") and metadata ("M")
/// events. Streams: memory does not grow with rows, but for what of them is drawn with arrows.
void write_timeline(const RunReader& record, OutputFile& out, const TimelineOptions& options = {});
/// The same, and what `read_activity` would read: both take one pass over all executions.
RecordActivity write_timeline_with_activity(const RunReader& record, OutputFile& out,
                                            const TimelineOptions& options = {});

}  // namespace rankwire

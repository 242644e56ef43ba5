// What `timeline.json` has beside the executions of ranks: the critical path, and queues over time.
#pragma once

#include <cstddef>
#include <cstdint>

#include "emulator/diagnosis/diagnosis.h"
#include "emulator/record/reader.h"
#include "emulator/report/trace_events.h"

namespace rankwire {

/// Processes of timeline.json that are no ranks; those of ranks are 1 .. 2^18.
constexpr uint64_t kPathProcess = 1'000'000, kQueueProcess = 1'000'001, kNoteProcess = 1'000'002;

/// What was drawn of a track, and what was not.
struct DrawnOf {
  uint64_t drawn = 0, left_out = 0;
};

/// A process "critical path", above the ranks, with a thread for each side that has one: its steps, each from when the
/// last of what it waited for had begun to its end. Beyond `most` steps of a side the longest.
DrawnOf write_path_tracks(TraceEvents& events, const RunReader& record, const Diagnosis& diagnosis,
                          size_t most = 100'000);

/// A process "queues" with counters of each sampled queue of the emulated side: bytes that wait, and frames marked and
/// dropped so far. Beyond `most` samples several of a queue that follow each other are one: the one with the most
/// bytes.
DrawnOf write_queue_counters(TraceEvents& events, const RunReader& record, size_t most = 200'000);

}  // namespace rankwire

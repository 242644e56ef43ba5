// The trace doctor: everything that is wrong with sets of traces, without stopping at the first.
#pragma once

#include <atomic>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "emulator/traces/finding.h"
#include "emulator/traces/rank_set.h"
#include "emulator/traces/trace_sets.h"

namespace rankwire {

/// A set with what has been found in it.
struct CheckedSet {
  RankSet set;
  Matches matches;
  std::vector<Duration> clock_offsets;  ///< by place; empty where clocks do not contradict each other
  Findings findings;

  uint64_t nodes() const;
};

/// Checks every file, what the ranks do together, and where nothing speaks against it that `load_workload` takes the
/// set. `done` counts files as they are read. Throws Error(kInput) only where the process-group file cannot be read.
CheckedSet check_set(const TraceFileSet& files, const CheckOptions& options, std::atomic<uint64_t>& done);

/// An error in how the traces were recorded: the set runs with it.
bool is_of_recording(const Finding& finding);

/// {"sets": [{"name", "files", "nodes", "errors", "warnings", "notes", "findings": []}], "errors", ...}.
nlohmann::ordered_json to_json(const std::vector<CheckedSet>& sets);
/// Findings for people and a last line of numbers. Notes are listed only where `notes` says so.
std::string to_text(const std::vector<CheckedSet>& sets, bool notes);
uint64_t count(const std::vector<CheckedSet>& sets, Severity severity);

}  // namespace rankwire

// The runs that stand on either side of a comparison: which of several is shown, all their times, and whether the two
// sides did the same work.
#pragma once

#include <deque>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/units.h"
#include "emulator/record/reader.h"

namespace rankwire {

/// Those of one side; in a deque, since a reader stays where it is.
using RunRecords = std::deque<RunReader>;

/// Throws as RunReader and require_plausible do.
RunRecords read_records(const std::vector<std::filesystem::path>& folders);

/// Completion times of what came to the end in any of these records: of the emulated side, each repetition by itself,
/// else of the reference.
std::vector<Duration> completion_times(const RunRecords& records);

/// That which stands for all: the one whose completion time is the median, of two in the middle the shorter one; the
/// first where none came to the end. `records` is not empty.
const RunReader& median_record(const RunRecords& records);

/// Keys of the resolved configuration in which records of one side differ from the first, but for `name` and `seed`:
/// such runs are not the same measurement made again. Sorted.
std::vector<std::string> mixed_settings(const RunRecords& records);

/// Why completion times of the two cannot be compared, in one sentence: numbers of ranks, jobs, or operations that only
/// one of them has, or has more often or in other sizes. Operations are looked at
/// only where both records have all of them. Absent where the workloads are alike.
std::optional<std::string> workload_difference(const RunReader& base, const RunReader& other);

}  // namespace rankwire

// Which rank computes longer than the others do the same.
#pragma once

#include <optional>

#include "emulator/diagnosis/blame_facts.h"
#include "emulator/diagnosis/critical_path.h"
#include "emulator/record/reader.h"

namespace rankwire {

/// Of the steps of the path that compute, what they take beyond the median of all ranks' executions of nodes of the
/// same name, job and iteration, by the rank that has most of it. Absent where no rank has half of it, or where fewer
/// than three ranks have nodes of these names. It stands out where that is more than four times what the other ranks'
/// times of the same steps deviate from the median by, as independent draws, and where the rank is slower over all
/// steps of these names, not only those of the path, than the slowest of all ranks is by chance, by Student's t of its
/// own spread; of fewer than eight steps, where it is eight times the others' deviation slower. The path goes through
/// one rank at a time: up to four others that took at least half as much beyond the median in those steps, and stand
/// out over all steps, are named, too. Reads every node and every execution of the run once.
std::optional<BlamedTime> slow_rank(const RunReader& record, const RecordedRun& run, const CriticalPath& path);

}  // namespace rankwire

// The gap between a run and its reference as a picture: from the one to the other, cause by cause.
#pragma once

#include <string>
#include <vector>

#include "emulator/diagnosis/causes_removed.h"
#include "emulator/diagnosis/critical_path.h"
#include "emulator/diagnosis/diagnosis.h"
#include "emulator/diagnosis/waterfall.h"
#include "emulator/record/reader.h"

namespace rankwire {

/// A picture that begins with the reference and ends with the emulated side, of whose `path` the waterfall is, and the
/// table of what it shows. Parts that made the run longer rise, others go down, what nobody knows comes last and is
/// hatched. Each says what it is and leads to its row; for scripts `data-parts` has where in the run most of it
/// happened. The table also has what the run would have taken without each, where `removed` says so (null: unknown).
/// Empty where there is no gap.
std::string html_waterfall(const RunReader& record, const CriticalPath& path, const Waterfall& waterfall,
                           const CausesRemoved* removed);

/// The same of each job that has a gap of its own, by its name, to its own end; the first two are open. That of the job
/// that ended last is the run's, and not among `jobs`.
std::string html_job_waterfalls(const RunReader& record, const std::vector<JobDiagnosis>& jobs);

}  // namespace rankwire

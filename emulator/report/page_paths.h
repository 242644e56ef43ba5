// The critical paths of `report.html`: of both sides on one axis of time, as a picture and as data for the one that
// zooms.
#pragma once

#include <string>

#include "emulator/diagnosis/diagnosis.h"
#include "emulator/record/reader.h"

namespace rankwire {

/// Steps and times between them of which the page has the data, both sides together: about 1 MB. Beyond it the longest
/// are.
constexpr size_t kMostPathRows = 20'000;

/// What each step is, where it ran, and the times between steps, which have the kind `kPathWait` and stand for the step
/// that follows. Empty without a path. docs/metrics.md has the data's fields.
std::string html_paths(const RunReader& record, const Diagnosis& diagnosis);

/// No kind of a trace.
inline constexpr const char* kPathWait = "wait";

}  // namespace rankwire

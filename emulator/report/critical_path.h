// The chain of executions that a run's time is made of, and where it is longer than in the reference.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "emulator/diagnosis/diagnosis.h"
#include "emulator/record/reader.h"

namespace rankwire {

/// Of the steps of a path those of one operation, names alike but for numbers.
struct PathMain {
  std::string operation;  ///< "grads (all_reduce dp)"
  Duration time;
  double share = 0;  ///< of the path's length, 0 .. 1
};

/// `critical_path` of summary.json; null where it is not known.
nlohmann::ordered_json critical_path_json(const RunReader& record, const Diagnosis& diagnosis);
/// Why there is no path, where executions are too many; else empty.
std::string unsearched_text(const Diagnosis& diagnosis);
/// A line of the printed summary: what the path consists of. Empty where there is none.
std::string critical_path_line(const RunReader& record, const Diagnosis& diagnosis);
/// Another: the parts of the gap. Empty where it is not known, or 1 % of the completion time at most.
std::string waterfall_line(const RunReader& record, const Diagnosis& diagnosis);
/// What most of a gap of more than a twentieth of the completion time is, in a sentence: "of the 16.91 ms by which it
/// took longer than the reference 16.9 ms are 'window full' along the critical path". Empty where no part with a name
/// is half of it, and where lateness of the generator may explain half.
std::string main_cause_text(const Diagnosis& diagnosis);
/// What of a path is longest, as PathMain; absent where there is none.
std::optional<PathMain> main_part(const Diagnosis& diagnosis);
/// One row for each step of the path of the emulated side, or of the reference where nothing was emulated.
std::string critical_path_csv(const Diagnosis& diagnosis);
/// Tables of the parts of the gap, and of what the path is made of; empty where nothing is known.
std::string html_critical_path(const RunReader& record, const Diagnosis& diagnosis);

}  // namespace rankwire

// The emulated runs of a configuration that is repeated (`run.repeat`), beside each other.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "emulator/record/reader.h"
#include "emulator/report/assessment.h"

namespace rankwire {

struct RepetitionResult {
  uint32_t number = 0;
  RecordVerdict verdict;               ///< its own, with the limits of the configuration
  std::string fidelity;                ///< as FidelityAssessment::fidelity
  std::optional<Duration> completion;  ///< how far it came; absent unless it has ended
};
/// In their order; empty where the configuration is not repeated.
std::vector<RepetitionResult> repetition_results(const RunReader& record);

/// Completion times of those that came to the end of the trace, in their order.
std::vector<Duration> repetition_times(const RunReader& record);

/// What they say together, reference runs included. `others` is what the record says without the emulated side.
RecordVerdict verdict_of_repetitions(const RunReader& record, const std::optional<RecordVerdict>& others);

/// `repetitions` of summary.json; null without any.
nlohmann::ordered_json repetitions_json(const RunReader& record);
/// Lines of the printed summary, the first of all together, the others of each that is not ok. Empty without any.
std::vector<std::string> repetition_lines(const RunReader& record);
/// A table of all. Empty without any.
std::string html_repetitions(const RunReader& record);

}  // namespace rankwire

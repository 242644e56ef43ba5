// The queues of the embedded switch or fabric over time.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "emulator/record/reader.h"

namespace rankwire {

/// `queues.csv` whole: every run of the record, told apart by the first column.
std::string queues_csv(const RunReader& record);
/// Of the emulated side: interval and number of samples; null where none were taken.
nlohmann::ordered_json queues_json(const RunReader& record);
/// Pictures of the longest queues of the emulated side, and a table; empty where none were sampled.
std::string html_queues(const RunReader& record);

}  // namespace rankwire

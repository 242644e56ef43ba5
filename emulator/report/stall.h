// What a run that did not end by itself had come to: who waits for whom, and at whom it ends.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "emulator/record/reader.h"

namespace rankwire {

/// One sentence; empty where the run ended by itself. Of the emulated side, or of the first model that has not ended.
std::string stall_text(const RunReader& record);

/// `stall` of summary.json: class, culprit, chain; null where the run ended by itself.
nlohmann::ordered_json stall_json(const RunReader& record);

/// stalls.json: the same with all waits.
nlohmann::ordered_json stalls_json(const RunReader& record);

/// The chain, and for few ranks a drawing of who waits for whom; empty where the run ended by itself.
std::string html_stall(const RunReader& record);

}  // namespace rankwire

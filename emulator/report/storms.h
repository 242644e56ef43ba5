// The pause storms that the watchdogs of the embedded fabric ended.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "emulator/record/reader.h"

namespace rankwire {

/// Of the emulated side, in the order in which they began; an empty array when there were none.
nlohmann::ordered_json storms_json(const RunReader& record);
/// One line for each of the first, and how many more; empty when there were none.
std::string storms_text(const RunReader& record);
/// A table; empty when there were none.
std::string html_storms(const RunReader& record);

}  // namespace rankwire

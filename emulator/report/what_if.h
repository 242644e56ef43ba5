// What the reference would take if one thing took no time.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "emulator/record/reader.h"

namespace rankwire {

/// `what_if` of summary.json, what saves most first; null without `simulation.what_if`.
nlohmann::ordered_json what_if_json(const RunReader& record);

/// "compute 3.2 s (-2.1 s), wires 4 s (-1.3 s), ..."; the first few of those that save time. Empty without.
std::string what_if_text(const RunReader& record);

/// A table of all; empty without.
std::string html_what_if(const RunReader& record);

}  // namespace rankwire

// What `check` says of traffic without a trace.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "emulator/assembly/setup.h"

namespace rankwire {

/// Its entries with their flows, and what they offer to each port while all are on. Empty where there is none.
nlohmann::ordered_json checked_background(const Setup& setup);
void print_background(const nlohmann::ordered_json& background);
/// Of ports that are offered more than their rate.
std::vector<std::string> background_overloads(const Setup& setup);

}  // namespace rankwire

// What the verbs of `rankwire trace` share: reading what they were given, and printing.
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "emulator/cli/trace_commands.h"
#include "emulator/traces/check.h"

namespace rankwire {

CheckOptions check_options(const TraceInputs& inputs);
/// All sets, checked, with progress. Throws Error(kInput) when there is nothing to read.
std::vector<CheckedSet> read_and_check(const TraceInputs& inputs);
/// To standard output; what is no UTF-8 is replaced.
void print_json(const nlohmann::ordered_json& json);

}  // namespace rankwire

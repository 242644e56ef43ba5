// Who is on wires in a run of which part is modelled, and how much goes which way.
#pragma once

#include <nlohmann/json.hpp>

#include "emulator/assembly/setup.h"

namespace rankwire {

/// For `check --json`; null without `hybrid`.
nlohmann::ordered_json checked_hybrid(const Setup& setup);
/// The same printed; nothing for null.
void print_hybrid(const nlohmann::ordered_json& hybrid);

}  // namespace rankwire

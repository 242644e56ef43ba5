// What `check` says of memory.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>

#include "emulator/assembly/memory_demand.h"

namespace rankwire {

/// The memory that a run of this set-up would take, and what there is of it here. A finding joins the set-up's
/// warnings. Of `machines`, as machines_json has them, each takes its own: that of the one that takes most.
nlohmann::ordered_json memory_json(Setup& setup, const nlohmann::ordered_json& machines);
/// The same for people, in MiB: a line for each run and a column for each part.
void print_memory(const nlohmann::ordered_json& memory);

}  // namespace rankwire

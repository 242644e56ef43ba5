// What `check` says of the machines of a run over several.
#pragma once

#include <nlohmann/json.hpp>

#include "emulator/assembly/setup.h"

namespace rankwire {

/// By machine, in the order of its first port: its ports, its ranks, its workers as workers_json has them, what its
/// ports carry in an iteration, and the memory that its process takes of an emulated run. Empty where ports do not name
/// several.
/// Throws Error(kInput) for what such a run does not do, when a machine's ports have no room in `dpdk.memory`, or
/// cannot be shared by its workers. The set-up is what it was afterwards.
nlohmann::ordered_json machines_json(Setup& setup);

/// Nothing when there are none.
void print_machines(const nlohmann::ordered_json& machines);

}  // namespace rankwire

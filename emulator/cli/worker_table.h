// What `check` says of the workers that a run will have.
#pragma once

#include <nlohmann/json.hpp>

#include "emulator/assembly/setup.h"

namespace rankwire {

/// By worker: the CPU that it stays on (null: any), its ports, how many ranks and queue pairs it has, and the messages
/// and events of an iteration that it hands over to others. The set-up has ports. Where it has a `machine` these are
/// that machine's workers, of as many cores as this one has.
nlohmann::ordered_json workers_json(const Setup& setup);

/// Nothing when there is one.
void print_workers(const nlohmann::ordered_json& workers);

}  // namespace rankwire

// Rules between the keys that describe a training step to be generated.
#pragma once

#include <cstdint>
#include <string>

#include "emulator/input/config.h"
#include "emulator/input/tree.h"

namespace rankwire {

/// How many ranks, and so traces, the description has.
uint64_t generated_ranks(const GenerateConfig& model);

/// Throws Error(kInput) for keys that contradict each other, or belong to another kind of model, naming the place in
/// `root`, below whose `prefix` the keys stand: "workload.generate." or "".
void validate_generate(const GenerateConfig& model, const Tree& root, const std::string& prefix);

}  // namespace rankwire

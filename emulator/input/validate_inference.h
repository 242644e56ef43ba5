// Rules between the keys of `workload.generate.inference`.
#pragma once

#include <cstdint>
#include <string>

#include "emulator/input/config.h"
#include "emulator/input/tree.h"

namespace rankwire {

/// How many ranks the service has.
uint64_t served_ranks(const InferenceConfig& service);

/// Throws Error(kInput) for pools that are absent, what cannot be divided over them and arrivals that never come,
/// naming the place in `root`, below whose `prefix` the keys of `model` stand: "workload.generate." or "".
void validate_inference(const GenerateConfig& model, const Tree& root, const std::string& prefix);

}  // namespace rankwire

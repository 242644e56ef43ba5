// What a configuration must fulfil beyond the syntax and range of each key.
#pragma once

#include <string>

#include "emulator/input/config.h"
#include "emulator/input/tree.h"

namespace rankwire {

/// Throws Error(kInput) for a required key that is absent and for keys that contradict each other, naming the place in
/// `root`, from which `config` was read.
void validate(const RunConfig& config, const Tree& root);

/// The same for `fabric`, when there is one; part of the above.
void validate_fabric(const RunConfig& config, const Tree& root);

/// The same for a workload description, whose keys stand below `prefix` in `root`: "workload.generate." or "".
void validate(const GenerateConfig& model, const Tree& root, const std::string& prefix);

}  // namespace rankwire

// Traces that are generated from a description in a configuration.
#pragma once

#include <string>

#include "converters/generated_traces.h"
#include "emulator/input/config.h"

namespace rankwire {

/// Writes `<prefix>.<rank>.et` and `<prefix>.json`. Throws as the generators do.
GeneratedTraces generate(const GenerateConfig& config, const std::string& prefix);

}  // namespace rankwire

// Traces that are generated from a description in a configuration.
#pragma once

#include <string>

#include "converters/generated_traces.h"
#include "converters/node_files.h"
#include "emulator/input/config.h"

namespace rankwire {

/// What is generated without being asked for more, over all ranks.
inline constexpr uint64_t kMostGeneratedNodes = 50'000'000;

/// Writes `<prefix>.<rank>.et` and `<prefix>.json`. Throws as the generators do, and leaves no traces then.
GeneratedTraces generate(const GenerateConfig& config, const std::string& prefix, NodeLimit& limit);

}  // namespace rankwire

// Traces that are generated from a description in a configuration.
#pragma once

#include <string>

#include "converters/generated_traces.h"
#include "converters/node_files.h"
#include "emulator/input/config.h"

namespace rankwire {

/// What is generated without being asked for more, over all ranks.
inline constexpr uint64_t kMostGeneratedNodes = 50'000'000;

/// Where the description is written.
struct GenerateKeys {
  const KeyPlaces& places;
  std::string section;  ///< what its keys begin with: "", "workload.generate."
};

/// Writes `<prefix>.<rank>.et` and `<prefix>.json`, but nothing where there would be more nodes than `limit` allows.
/// Throws as the generators do, and leaves no traces then.
GeneratedTraces generate(const GenerateConfig& config, const GenerateKeys& keys, const std::string& prefix,
                         NodeLimit& limit);

}  // namespace rankwire

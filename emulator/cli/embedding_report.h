// What `check` says of the traffic that this machine can embed.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "emulator/assembly/embedding.h"
#include "emulator/input/config.h"

namespace rankwire {

struct EmbeddingReport {
  nlohmann::ordered_json json;        ///< `embedding` of docs/metrics.md, "check --json"; null without embedded ports
  std::vector<std::string> lines;     ///< what was measured, for a person
  std::vector<std::string> warnings;  ///< what may go wrong with it
};

/// Of a measurement of `config`, whose ports are embedded, on a machine with so many processors to use.
EmbeddingReport embedding_report(const RunConfig& config, const Embedding& embedding, uint32_t processors);

/// Measures for about a second, unless the ports are not embedded or `measure` is false; files go to `folder`. Throws
/// Error(kRun) when a signal interrupts it.
EmbeddingReport report_embedding(const RunConfig& config, const std::filesystem::path& folder, bool measure);

}  // namespace rankwire

// Layer texts of ASTRA-sim 1 and SimAI (layer_text.h) to Chakra.
//
// The order of a training step is that of ASTRA-sim 1's loops, as mlcommons/chakra's text converter has it for the
// kinds that it reads, with its names of nodes; what is NONE or moves nothing has no node. Of HYBRID_TRANSFORMER each
// layer computes its input gradient, starts its collective, computes its weight gradient, and goes on when the
// collective is done; HYBRID_TRANSFORMER_FWD_IN_BCKWD does the forward pass again from the last checkpoint before each
// layer of checkpoint_initiates.
//
// Ranks: model-parallel neighbours are next to each other, then data-parallel ones, then pipeline stages, but for
// HYBRID_MODEL_DATA, where data-parallel ones are. Experts are divided among data-parallel neighbours.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "converters/conversion.h"
#include "converters/layer_text.h"

namespace rankwire {

struct LayerOptions {
  std::optional<uint32_t> ranks;           ///< default: what the text says
  std::optional<uint32_t> model_parallel;  ///< default: what the text says
  uint32_t passes = 1;                     ///< training steps
  bool micros = false;  ///< times are microseconds, as Chakra's converter takes them, not nanoseconds
};

/// Writes a trace for each rank, and the process groups. `progress` counts the ranks. Throws Error(kInput) naming what
/// is missing, or what does not divide.
Conversion convert_layers(const std::string& path, const LayerOptions& options, const std::filesystem::path& folder,
                          ConversionProgress& progress);

}  // namespace rankwire

// Any bytes as a layer text: read or refused, and what is read keeps its promises.
#include <string_view>

#include "base/error.h"
#include "converters/layer_text.h"
#include "tests/fuzz/input.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace rankwire;  // NOLINT: this is its main function
  using fuzz::require;
  try {
    Warnings warnings;
    const LayerText text = parse_layer_text("input", {reinterpret_cast<const char*>(data), size}, warnings);
    require(!text.layers.empty(), "a text has layers");
    require(text.expert_parallel > 0 && text.pipeline_parallel > 0, "it is divided into something");
    for (const uint32_t layer : text.checkpoints) require(layer < text.layers.size(), "checkpoints are layers");
    for (const uint32_t layer : text.initiates) require(layer < text.layers.size(), "and so is what initiates");
    for (const Layer& layer : text.layers) {
      for (const LayerCollective& collective : layer.collective) {
        require(collective.kinds.empty() || collective.size.count >= 0, "no collective has a negative size");
      }
    }
  } catch (const Error&) {
  }
  return 0;
}

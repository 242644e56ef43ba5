// The order in which a pipeline stage runs its micro-batches.
#pragma once

#include <cstdint>
#include <vector>

namespace rankwire {

enum class Pass : uint8_t { kForward, kBackward };

struct PipelineStep {
  Pass pass;
  uint32_t micro_batch;
  bool operator==(const PipelineStep&) const = default;
};

/// 1F1B with a flush (Narayanan et al., SC21, section 2.2.1): stage k of p runs min(p - 1 - k, micro_batches) forward
/// passes, then one forward and one backward in turn, then the backward passes that are left. Micro-batches keep their
/// order in both passes.
std::vector<PipelineStep> one_forward_one_backward(uint32_t stages, uint32_t stage, uint32_t micro_batches);

}  // namespace rankwire

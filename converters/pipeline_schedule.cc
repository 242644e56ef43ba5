#include "converters/pipeline_schedule.h"

#include <algorithm>

namespace rankwire {

std::vector<PipelineStep> one_forward_one_backward(uint32_t stages, uint32_t stage, uint32_t micro_batches) {
  const uint32_t warm_up = std::min(stages - 1 - stage, micro_batches);
  std::vector<PipelineStep> steps;
  steps.reserve(size_t{2} * micro_batches);
  for (uint32_t m = 0; m < warm_up; ++m) steps.push_back({Pass::kForward, m});
  for (uint32_t m = warm_up; m < micro_batches; ++m) {
    steps.push_back({Pass::kForward, m});
    steps.push_back({Pass::kBackward, m - warm_up});
  }
  for (uint32_t m = micro_batches - warm_up; m < micro_batches; ++m) steps.push_back({Pass::kBackward, m});
  return steps;
}

}  // namespace rankwire

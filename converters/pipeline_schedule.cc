#include "converters/pipeline_schedule.h"

#include <algorithm>

namespace rankwire {
namespace {

/// The k-th pass of a stage of parts: micro-batches in groups of as many as there are stages.
PipelineStep interleaved_step(Pass pass, uint32_t k, uint32_t stages, uint32_t parts) {
  const uint32_t part = k / stages % parts;
  const uint32_t micro_batch = k / (stages * parts) * stages + k % stages;
  return {pass, micro_batch, pass == Pass::kForward ? part : parts - 1 - part};
}

}  // namespace

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

std::vector<PipelineStep> interleaved(uint32_t stages, uint32_t stage, uint32_t parts, uint32_t micro_batches) {
  const uint32_t passes = micro_batches * parts;
  const uint32_t warm_up = std::min(2 * (stages - 1 - stage) + (parts - 1) * stages, passes);
  std::vector<PipelineStep> steps;
  steps.reserve(size_t{2} * passes);
  for (uint32_t k = 0; k < passes; ++k) {
    steps.push_back(interleaved_step(Pass::kForward, k, stages, parts));
    if (k >= warm_up) steps.push_back(interleaved_step(Pass::kBackward, k - warm_up, stages, parts));
  }
  for (uint32_t k = passes - warm_up; k < passes; ++k)
    steps.push_back(interleaved_step(Pass::kBackward, k, stages, parts));
  return steps;
}

std::vector<PipelineStep> zero_bubble(uint32_t stages, uint32_t stage, uint32_t micro_batches) {
  std::vector<PipelineStep> steps;
  steps.reserve(size_t{3} * micro_batches);
  uint32_t weights = 0;
  for (const PipelineStep& step : one_forward_one_backward(stages, stage, micro_batches)) {
    if (step.pass == Pass::kForward) {
      steps.push_back(step);
      continue;
    }
    steps.push_back({Pass::kInput, step.micro_batch});
    if (step.micro_batch >= stage) steps.push_back({Pass::kWeight, weights++});
  }
  while (weights < micro_batches) steps.push_back({Pass::kWeight, weights++});
  return steps;
}

std::vector<PipelineStep> pipeline_steps(PipelineOrder order, uint32_t stages, uint32_t stage, uint32_t parts,
                                         uint32_t micro_batches) {
  switch (order) {
    case PipelineOrder::kOneForwardOneBackward:
      return one_forward_one_backward(stages, stage, micro_batches);
    case PipelineOrder::kInterleaved:
      return interleaved(stages, stage, parts, micro_batches);
    case PipelineOrder::kZeroBubble:
      return zero_bubble(stages, stage, micro_batches);
  }
  return {};
}

}  // namespace rankwire

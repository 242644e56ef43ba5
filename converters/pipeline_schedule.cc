#include "converters/pipeline_schedule.h"

#include <algorithm>
#include <utility>

namespace rankwire {
namespace {

/// The k-th pass of a stage of parts: micro-batches in groups of as many as there are stages.
PipelineStep interleaved_step(Pass pass, uint32_t k, uint32_t stages, uint32_t parts) {
  const uint32_t part = k / stages % parts;
  const uint32_t micro_batch = k / (stages * parts) * stages + k % stages;
  return {pass, micro_batch, pass == Pass::kForward ? part : parts - 1 - part};
}

/// The steps of one stage with DualPipe, in terms of its two parts.
class DualPipeSteps {
 public:
  DualPipeSteps(uint32_t stages, uint32_t stage, uint32_t micro_batches)
      : half_(micro_batches / 2), reversed_(stage >= stages / 2) {
    steps_.reserve(size_t{3} * micro_batches);
  }

  void forward(uint32_t part) { add(Pass::kForward, part, forwards_[part]++, false); }
  void backward(uint32_t part) { add(Pass::kBackward, part, backwards_[part]++, false); }
  /// Of inputs alone; the weights' half is left for `weights`.
  void inputs(uint32_t part) {
    add(Pass::kInput, part, backwards_[part]++, false);
    owed_.push_back({Pass::kWeight, steps_.back().micro_batch, part});
  }
  void weights() { steps_.push_back(owed_[next_owed_++]); }
  void forward_and_backward(uint32_t forward_part, uint32_t backward_part) {
    forward(forward_part);
    add(Pass::kBackward, backward_part, backwards_[backward_part]++, true);
  }
  std::vector<PipelineStep> take() { return std::move(steps_); }

 private:
  /// The `number`-th micro-batch that passes the part.
  void add(Pass pass, uint32_t part, uint32_t number, bool beside) {
    const bool from_behind = (part == 1) != reversed_;
    steps_.push_back({pass, number + (from_behind ? half_ : 0), part, beside});
  }

  const uint32_t half_;
  const bool reversed_;
  uint32_t forwards_[2] = {}, backwards_[2] = {};
  std::vector<PipelineStep> steps_, owed_;
  size_t next_owed_ = 0;
};

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

std::vector<PipelineStep> dual_pipe(uint32_t stages, uint32_t stage, uint32_t micro_batches) {
  const uint32_t from_end = std::min(stage, stages - 1 - stage), inner = stages / 2 - 1 - from_end;
  DualPipeSteps steps(stages, stage, micro_batches);
  for (uint32_t i = 0; i < 2 * inner; ++i) steps.forward(0);
  for (uint32_t i = 0; i <= from_end; ++i) steps.forward(0), steps.forward(1);
  for (uint32_t i = 0; i < inner; ++i) steps.inputs(1), steps.weights(), steps.forward(1);
  for (uint32_t i = 0; i < micro_batches / 2 - stages + from_end + 1; ++i) {
    // The middle stages run the first of these one after the other, which makes the bubble smaller.
    if (i == 0 && inner == 0) {
      steps.forward(0), steps.backward(1);
    } else {
      steps.forward_and_backward(0, 1);
    }
    steps.forward_and_backward(1, 0);
  }
  for (uint32_t i = 0; i < inner; ++i) steps.backward(1), steps.forward_and_backward(1, 0);
  // Backward passes alone; from the middle of them on, those of weights are put off.
  for (uint32_t k = 0; k < 2 * (from_end + 1); ++k) {
    const uint32_t part = k % 2 == 0 ? 1 : 0;
    if (k > from_end) {
      steps.inputs(part);
    } else {
      steps.backward(part);
    }
  }
  for (uint32_t i = 0; i < inner; ++i) steps.weights(), steps.inputs(0);
  for (uint32_t i = 0; i <= from_end; ++i) steps.weights();
  return steps.take();
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
    case PipelineOrder::kDualPipe:
      return dual_pipe(stages, stage, micro_batches);
  }
  return {};
}

}  // namespace rankwire

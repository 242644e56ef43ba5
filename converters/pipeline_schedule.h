// The order in which a pipeline stage runs its micro-batches.
#pragma once

#include <cstdint>
#include <vector>

namespace rankwire {

/// kBackward is the whole backward pass, kInput and kWeight its halves: gradients of the input, which the stage before
/// waits for, and of the weights, for which nobody does.
enum class Pass : uint8_t { kForward, kBackward, kInput, kWeight };

enum class PipelineOrder : uint8_t { kOneForwardOneBackward, kInterleaved, kZeroBubble, kDualPipe };

struct PipelineStep {
  Pass pass;
  uint32_t micro_batch;
  uint32_t part = 0;    ///< of the stage, from 0; layers of part i of p stages come behind those of part i - 1 of all
  bool beside = false;  ///< it runs beside the step before it
  bool operator==(const PipelineStep&) const = default;
};

/// 1F1B with a flush (Narayanan et al., SC21, section 2.2.1): stage k of p runs min(p - 1 - k, micro_batches) forward
/// passes, then one forward and one backward in turn, then the backward passes that are left. Micro-batches keep their
/// order in both passes.
std::vector<PipelineStep> one_forward_one_backward(uint32_t stages, uint32_t stage, uint32_t micro_batches);

/// 1F1B of stages with v parts each (ibid., section 2.2.2, and Megatron-LM's schedule of it): micro-batches come in
/// groups of p, which pass all parts of a stage before the next group does. 2 (p - 1 - k) + (v - 1) p forward passes
/// come first. micro_batches is a multiple of p.
std::vector<PipelineStep> interleaved(uint32_t stages, uint32_t stage, uint32_t parts, uint32_t micro_batches);

/// ZB-H1 (Qi et al., Zero Bubble Pipeline Parallelism, ICLR 2024, section 2.2): 1F1B whose backward passes are halved.
/// Stage k begins with the weights' half when it has run k + 1 of the inputs', and has one of each in turn from then
/// on, so that it keeps no more micro-batches than with 1F1B.
std::vector<PipelineStep> zero_bubble(uint32_t stages, uint32_t stage, uint32_t micro_batches);

/// DualPipe (DeepSeek-V3, arXiv:2412.19437, section 3.2.1; deepseek-ai/DualPipe, dualpipe.py, `step`): micro-batches go
/// through the stages from both ends. Stage k has layers of stage k and of its opposite p - 1 - k: part 0 is that of
/// the lower number, part 1 the other one. The first half of the micro-batches enters at stage 0, the second half at
/// stage p - 1. In the main part a forward pass of one direction runs beside a backward pass of the other. `stages` is
/// even, micro_batches is even and at least 2 p.
std::vector<PipelineStep> dual_pipe(uint32_t stages, uint32_t stage, uint32_t micro_batches);

/// That of `order`; `parts` is 1 but for kInterleaved; kDualPipe has two all the same.
std::vector<PipelineStep> pipeline_steps(PipelineOrder order, uint32_t stages, uint32_t stage, uint32_t parts,
                                         uint32_t micro_batches);

}  // namespace rankwire

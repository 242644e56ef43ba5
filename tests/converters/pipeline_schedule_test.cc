#include "converters/pipeline_schedule.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <tuple>

namespace rankwire {
namespace {

/// "F0 F1 B0 ...", "F0.1" for part 1, I and W for the halves of a backward pass.
std::string text_of(const std::vector<PipelineStep>& steps) {
  std::string text;
  for (const PipelineStep& step : steps) {
    if (!text.empty()) text += ' ';
    text += "FBIW"[static_cast<int>(step.pass)] + std::to_string(step.micro_batch);
    if (step.part > 0) text += "." + std::to_string(step.part);
  }
  return text;
}
std::string order(uint32_t stages, uint32_t stage, uint32_t micro_batches) {
  return text_of(one_forward_one_backward(stages, stage, micro_batches));
}

// Figure 4 (top) of Narayanan et al., SC21: four devices, eight micro-batches; micro-batches are counted from 0 here.
TEST(OneForwardOneBackward, IsTheOrderOfThePaper) {
  EXPECT_EQ(order(4, 0, 8), "F0 F1 F2 F3 B0 F4 B1 F5 B2 F6 B3 F7 B4 B5 B6 B7");
  EXPECT_EQ(order(4, 2, 8), "F0 F1 B0 F2 B1 F3 B2 F4 B3 F5 B4 F6 B5 F7 B6 B7");
  EXPECT_EQ(order(4, 3, 8), "F0 B0 F1 B1 F2 B2 F3 B3 F4 B4 F5 B5 F6 B6 F7 B7");
}

TEST(OneForwardOneBackward, HasFewerMicroBatchesThanStages) {
  EXPECT_EQ(order(4, 0, 2), "F0 F1 B0 B1");
  EXPECT_EQ(order(4, 2, 2), "F0 F1 B0 B1");
  EXPECT_EQ(order(1, 0, 2), "F0 B0 F1 B1");
}

// Figure 4 (bottom): the dark and light colours are parts 0 and 1. Device 1 begins with 1 2 3 4 of both parts and 5 6
// of the first, ten forward passes, before the first backward pass; the last device with six.
TEST(Interleaved, IsTheOrderOfThePaper) {
  EXPECT_THAT(
      text_of(interleaved(4, 0, 2, 8)),
      ::testing::StartsWith("F0 F1 F2 F3 F0.1 F1.1 F2.1 F3.1 F4 F5 F6 B0.1 F7 B1.1 F4.1 B2.1 F5.1 B3.1 F6.1 B0"));
  EXPECT_THAT(text_of(interleaved(4, 3, 2, 8)), ::testing::StartsWith("F0 F1 F2 F3 F0.1 B0.1 F1.1 B1.1 F2.1 B2.1"));
}

/// Where a part of a stage is among all, in the order of the layers.
uint32_t place_of(PipelineOrder order, uint32_t stages, uint32_t stage, uint32_t part) {
  if (order != PipelineOrder::kDualPipe) return part * stages + stage;
  return (part == 0) == (stage < stages / 2) ? stage : stages - 1 - stage;
}

/// When the last stage of all is done, with passes of the given times and transfers that take none; two beside each
/// other begin and end together, and take `together`. A pass waits for the same micro-batch in the stage before it
/// (forward), or behind it (backward). -1 where the stages wait for each other.
int64_t makespan(PipelineOrder order, uint32_t stages, uint32_t parts, uint32_t micro_batches,
                 const std::map<Pass, int64_t>& times, int64_t together = 0) {
  std::vector<std::vector<PipelineStep>> steps;
  for (uint32_t s = 0; s < stages; ++s) steps.push_back(pipeline_steps(order, stages, s, parts, micro_batches));
  std::map<std::tuple<bool, uint32_t, uint32_t>, int64_t> ends;  // forward, place among all parts, micro-batch
  const auto ready = [&](uint32_t s, const PipelineStep& step) -> std::optional<int64_t> {
    const uint32_t place = place_of(order, stages, s, step.part), last = stages * parts - 1;
    const bool forward = step.pass == Pass::kForward;
    if (step.pass == Pass::kWeight || place == (forward ? 0 : last)) return 0;
    const auto before = ends.find({forward, forward ? place - 1 : place + 1, step.micro_batch});
    return before == ends.end() ? std::nullopt : std::optional(before->second);
  };
  std::vector<size_t> next(stages);
  std::vector<int64_t> free(stages);
  for (bool moves = true; moves;) {
    moves = false;
    for (uint32_t s = 0; s < stages; ++s) {
      while (next[s] < steps[s].size()) {
        const bool two = next[s] + 1 < steps[s].size() && steps[s][next[s] + 1].beside;
        const auto first = ready(s, steps[s][next[s]]), second = two ? ready(s, steps[s][next[s] + 1]) : 0;
        if (!first || !second) break;
        free[s] = std::max({free[s], *first, *second}) + (two ? together : times.at(steps[s][next[s]].pass));
        for (const size_t end = next[s] + (two ? 2 : 1); next[s] < end; ++next[s]) {
          const PipelineStep& step = steps[s][next[s]];
          if (step.pass == Pass::kWeight) continue;
          ends[{step.pass == Pass::kForward, place_of(order, stages, s, step.part), step.micro_batch}] = free[s];
        }
        moves = true;
      }
    }
  }
  for (uint32_t s = 0; s < stages; ++s) {
    if (next[s] < steps[s].size()) return -1;
  }
  return *std::ranges::max_element(free);
}

// Bubbles of the papers: (p - 1)(F + B) of 1F1B, a v-th of it with v parts (Narayanan et al., section 2.2), and
// (p - 1)(F + I - W) of ZB-H1 (Qi et al., table 1).
TEST(PipelineSteps, HaveTheBubblesOfThePapers) {
  const std::map<Pass, int64_t> even = {
      {Pass::kForward, 10}, {Pass::kBackward, 20}, {Pass::kInput, 10}, {Pass::kWeight, 10}};
  const std::map<Pass, int64_t> uneven = {
      {Pass::kForward, 10}, {Pass::kBackward, 22}, {Pass::kInput, 13}, {Pass::kWeight, 9}};
  for (const uint32_t p : {2u, 4u, 8u}) {
    const uint32_t m = 3 * p;
    EXPECT_EQ(makespan(PipelineOrder::kOneForwardOneBackward, p, 1, m, even), 30 * m + 30 * (p - 1));
    EXPECT_EQ(makespan(PipelineOrder::kOneForwardOneBackward, p, 1, m, uneven), 32 * m + 32 * (p - 1));
    EXPECT_EQ(makespan(PipelineOrder::kZeroBubble, p, 1, m, even), 30 * m + 10 * (p - 1));
    EXPECT_EQ(makespan(PipelineOrder::kZeroBubble, p, 1, m, uneven), 32 * m + (10 + 13 - 9) * (p - 1));
    // A part takes 1 / v of a stage.
    EXPECT_EQ(makespan(PipelineOrder::kInterleaved, p, 2, m, even), 2 * 30 * m + 30 * (p - 1));
    EXPECT_EQ(makespan(PipelineOrder::kInterleaved, p, 3, m, even), 3 * 30 * m + 30 * (p - 1));
  }
}

// Four stages, eight micro-batches: 0 to 3 from the front, 4 to 7 from behind, by the steps of dualpipe.py. The
// opposite stage does the same with the other half.
TEST(DualPipe, IsTheOrderOfItsAuthors) {
  EXPECT_EQ(text_of(dual_pipe(4, 0, 8)), "F0 F1 F2 F4.1 I4.1 W4.1 F5.1 F3 B5.1 F6.1 B0 B6.1 F7.1 B1 B7.1 I2 W2 I3 W3");
  EXPECT_EQ(text_of(dual_pipe(4, 3, 8)), "F4 F5 F6 F0.1 I0.1 W0.1 F1.1 F7 B1.1 F2.1 B4 B2.1 F3.1 B5 B3.1 I6 W6 I7 W7");
  std::string beside;
  for (const PipelineStep& step : dual_pipe(4, 0, 8)) beside += step.beside ? '1' : '0';
  EXPECT_EQ(beside, "0000000010100100000");
}

// (p / 2 - 1) (F&B + B - 3 W), of the table in the authors' README, where F, I and W are equal: what a stage does not
// work. Each runs its M micro-batches once, with F = I = W = 10 in 30 M less what its pairs save; stages have different
// numbers of pairs, and the formula is of those with the most.
TEST(DualPipe, HasTheBubbleOfItsAuthors) {
  const std::map<Pass, int64_t> times = {
      {Pass::kForward, 10}, {Pass::kBackward, 20}, {Pass::kInput, 10}, {Pass::kWeight, 10}};
  for (const uint32_t p : {2u, 4u, 8u, 16u}) {
    for (const uint32_t m : {2 * p, 2 * p + 4, 4 * p}) {
      const int64_t bubble = (p / 2 - 1) * (30 + 20 - 3 * 10);
      EXPECT_EQ(makespan(PipelineOrder::kDualPipe, p, 1, m, times, 30), 30 * m + bubble);
      int64_t pairs = 0;
      for (uint32_t stage = 0; stage < p; ++stage)
        pairs = std::max(pairs, std::ranges::count_if(dual_pipe(p, stage, m), &PipelineStep::beside));
      const int64_t shorter = (p / 2 - 1) * (24 + 20 - 3 * 10);
      EXPECT_EQ(makespan(PipelineOrder::kDualPipe, p, 1, m, times, 24), 30 * m - (30 - 24) * pairs + shorter);
    }
  }
}

TEST(ZeroBubble, KeepsAsManyMicroBatchesAsOneForwardOneBackward) {
  EXPECT_EQ(text_of(zero_bubble(4, 3, 5)), "F0 I0 F1 I1 F2 I2 F3 I3 W0 F4 I4 W1 W2 W3 W4");
  EXPECT_EQ(text_of(zero_bubble(1, 0, 2)), "F0 I0 W0 F1 I1 W1");
  for (const uint32_t stage : {0u, 1u, 2u, 3u}) {
    uint32_t kept = 0, most = 0;
    for (const PipelineStep& step : zero_bubble(4, stage, 12)) {
      if (step.pass == Pass::kForward) most = std::max(most, ++kept);
      if (step.pass == Pass::kWeight) --kept;
    }
    EXPECT_LE(most, 4u) << stage;
  }
}

// Every pass once, and none before what it needs.
TEST(PipelineSteps, EndForEveryNumberOfStages) {
  const std::map<Pass, int64_t> times = {
      {Pass::kForward, 1}, {Pass::kBackward, 2}, {Pass::kInput, 1}, {Pass::kWeight, 1}};
  for (uint32_t p = 1; p <= 6; ++p) {
    for (uint32_t m = 1; m <= 9; ++m) {
      EXPECT_GE(makespan(PipelineOrder::kOneForwardOneBackward, p, 1, m, times), 3 * m);
      EXPECT_GE(makespan(PipelineOrder::kZeroBubble, p, 1, m, times), 3 * m);
      EXPECT_GE(makespan(PipelineOrder::kInterleaved, p, 3, m * p, times), 9 * m * p);
      EXPECT_EQ(interleaved(p, p - 1, 3, m * p).size(), size_t{6} * m * p);
      EXPECT_EQ(zero_bubble(p, p - 1, m).size(), size_t{3} * m);
    }
  }
}

}  // namespace
}  // namespace rankwire

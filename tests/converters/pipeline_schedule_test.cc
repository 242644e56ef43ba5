#include "converters/pipeline_schedule.h"

#include <gmock/gmock.h>

#include <string>

namespace rankwire {
namespace {

/// "F0 F1 B0 ...".
std::string order(uint32_t stages, uint32_t stage, uint32_t micro_batches) {
  std::string text;
  for (const PipelineStep& step : one_forward_one_backward(stages, stage, micro_batches)) {
    if (!text.empty()) text += ' ';
    text += (step.pass == Pass::kForward ? "F" : "B") + std::to_string(step.micro_batch);
  }
  return text;
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

}  // namespace
}  // namespace rankwire

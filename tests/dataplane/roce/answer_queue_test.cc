#include "dataplane/roce/answer_queue.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <deque>

#include "base/random.h"

namespace rankwire {
namespace {

AnswerQueue::Answer answer(uint32_t number) {
  return {.queue_pair = number, .acknowledgement = {.psn = number + 1, .msn = number + 2}};
}

/// Against a deque, filled to the last place and around its end many times.
TEST(AnswerQueue, IsFirstInFirstOutWhereverItBegins) {
  AnswerQueue queue;
  std::deque<uint32_t> model;
  Random random(1);
  uint32_t number = 0, times_full = 0;
  for (int round = 0; round < 200; ++round) {
    const uint64_t pushes = random.below(2 * AnswerQueue::kCapacity), pops = random.below(AnswerQueue::kCapacity);
    for (uint64_t i = 0; i < pushes && queue.room() > 0; ++i) {
      queue.push(answer(number));
      model.push_back(number++);
    }
    times_full += queue.room() == 0;
    ASSERT_EQ(queue.size(), model.size());
    ASSERT_EQ(queue.room(), AnswerQueue::kCapacity - model.size());
    for (uint64_t i = 0; i < pops && !queue.empty(); ++i) {
      ASSERT_EQ(queue.front().queue_pair, model.front());
      const AnswerQueue::Answer popped = queue.pop();
      ASSERT_EQ(popped.queue_pair, model.front());
      ASSERT_EQ(popped.acknowledgement.psn, model.front() + 1);
      ASSERT_EQ(popped.acknowledgement.msn, model.front() + 2);
      model.pop_front();
    }
    ASSERT_EQ(queue.empty(), model.empty());
  }
  EXPECT_GT(times_full, 50u);
}

}  // namespace
}  // namespace rankwire

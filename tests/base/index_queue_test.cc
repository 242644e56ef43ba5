#include "base/index_queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <utility>

#include "base/random.h"

namespace rankwire {
namespace {

/// Against a deque: each index once, first in first out, whatever was queued and rotated before.
TEST(IndexQueue, IsFirstInFirstOutWithEachIndexOnce) {
  IndexQueue queue(5);
  std::deque<uint32_t> model;
  Random random(1);
  for (int step = 0; step < 10'000; ++step) {
    const auto index = static_cast<uint32_t>(random.below(5));
    switch (random.below(3)) {
      case 0:
        if (std::ranges::find(model, index) == model.end()) model.push_back(index);
        queue.push(index);
        break;
      case 1:
        if (model.empty()) continue;
        model.push_back(model.front());
        model.pop_front();
        queue.rotate();
        break;
      default:
        if (model.empty()) continue;
        ASSERT_EQ(queue.pop(), model.front());
        model.pop_front();
    }
    ASSERT_EQ(queue.size(), model.size());
    for (uint32_t n = 0; n < queue.size(); ++n) ASSERT_EQ(queue.at(n), model[n]);
  }
}

// By rotation or not, the queue is the same.
TEST(IndexQueue, TakesTurnsInALoopAsOneByOne) {
  Random random(8);
  IndexQueue looped(7), plain(7);
  for (uint32_t round = 0; round < 10'000; ++round) {
    const uint32_t index = static_cast<uint32_t>(random.below(7));
    looped.push(index);
    plain.push(index);
    IndexQueue::Rotation turns(looped);
    for (auto turn = random.below(10); turn > 0 && !turns.empty(); --turn) {
      ASSERT_EQ(turns.front(), plain.front());
      if (turns.size() > 1) {
        ASSERT_EQ(turns.second(), plain.at(1));
      }
      if (turns.size() > 2) {
        ASSERT_EQ(turns.third(), plain.at(2));
      }
      if (random.below(3) == 0) {
        turns.pop();
        plain.pop();
      } else {
        turns.rotate();
        plain.rotate();
      }
      ASSERT_EQ(turns.size(), plain.size());
    }
  }
}

/// Two queues of two each, of 100 indexes that they have between them: what they take does not depend on the 100.
TEST(IndexQueue, SharesMarksWithQueuesOfOtherIndexes) {
  std::array<uint8_t, 100> marks{};
  IndexQueue first(2, marks), second(2, marks);
  EXPECT_EQ(first.bytes(), 2 * sizeof(uint32_t));
  first.push(99);
  second.push(7);
  first.push(98);
  first.push(99);
  IndexQueue moved = std::move(first);
  EXPECT_EQ(moved.pop(), 99u);
  EXPECT_EQ(moved.pop(), 98u);
  EXPECT_TRUE(moved.empty());
  EXPECT_EQ(second.pop(), 7u);
  EXPECT_EQ(marks, (std::array<uint8_t, 100>{}));
}

}  // namespace
}  // namespace rankwire

#include "base/one_thread_ring.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <deque>

#include "base/random.h"

namespace rankwire {
namespace {

/// Against a deque, through many laps of a ring of 8.
TEST(OneThreadRing, IsFirstInFirstOutUpToItsCapacity) {
  OneThreadRing<uint32_t> ring(5);
  ASSERT_EQ(ring.capacity(), 8u);  // the next power of two
  std::deque<uint32_t> model;
  Random random(3);
  uint32_t number = 0;
  for (int i = 0; i < 10'000; ++i) {
    std::array<uint32_t, 6> items;
    const size_t wanted = random.below(items.size() + 1);
    if (random.below(2) == 0) {
      for (size_t k = 0; k < wanted; ++k) items[k] = number + static_cast<uint32_t>(k);
      const size_t taken = ring.push(std::span(items).first(wanted));
      ASSERT_EQ(taken, std::min(wanted, 8 - model.size()));
      for (size_t k = 0; k < taken; ++k) model.push_back(number++);
    } else {
      const size_t given = ring.pop(std::span(items).first(wanted));
      ASSERT_EQ(given, std::min(wanted, model.size()));
      for (size_t k = 0; k < given; ++k, model.pop_front()) ASSERT_EQ(items[k], model.front());
    }
    ASSERT_EQ(ring.size(), model.size());
    ASSERT_EQ(ring.front() == nullptr, model.empty());
    if (!model.empty()) {
      ASSERT_EQ(*ring.front(), model.front());
    }
  }
}

}  // namespace
}  // namespace rankwire

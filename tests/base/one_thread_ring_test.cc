#include "base/one_thread_ring.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <deque>

#include "base/random.h"

namespace rankwire {
namespace {

/// Against a deque, through many laps of rings with places that are near, and with others.
class OneThreadRingOf : public ::testing::TestWithParam<size_t> {};

TEST_P(OneThreadRingOf, IsFirstInFirstOutUpToItsCapacity) {
  const size_t capacity = GetParam();
  OneThreadRing<uint32_t> ring(capacity - capacity / 4);
  ASSERT_EQ(ring.capacity(), capacity);  // the next power of two
  std::deque<uint32_t> model;
  Random random(3);
  uint32_t number = 0;
  for (int i = 0; i < 10'000; ++i) {
    std::array<uint32_t, 24> items;
    const size_t wanted = random.below(i % 1000 < 500 ? 7 : items.size() + 1);
    if (random.below(2) == 0) {
      for (size_t k = 0; k < wanted; ++k) items[k] = number + static_cast<uint32_t>(k);
      const size_t taken = ring.push(std::span(items).first(wanted));
      ASSERT_EQ(taken, std::min(wanted, capacity - model.size()));
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
    for (size_t k = 0; k < model.size(); ++k) ASSERT_EQ(ring[k], model[k]);
  }
}

INSTANTIATE_TEST_SUITE_P(Capacities, OneThreadRingOf, ::testing::Values(2, 8, 16, 32, 128));

TEST(OneThreadRing, HandsOutOnlyWhatIsWanted) {
  OneThreadRing<uint32_t> ring(32);
  std::array<uint32_t, 20> items;
  for (uint32_t k = 0; k < items.size(); ++k) items[k] = k;
  ASSERT_EQ(ring.push(items), 20u);
  EXPECT_EQ(ring.pop_while(items, [](uint32_t item) { return item < 17; }), 17u);
  EXPECT_EQ(items[16], 16u);
  ASSERT_EQ(ring.size(), 3u);
  EXPECT_EQ(ring[0], 17u);
  EXPECT_EQ(ring[2], 19u);
}

}  // namespace
}  // namespace rankwire

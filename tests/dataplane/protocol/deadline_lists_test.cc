#include "dataplane/protocol/deadline_lists.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "base/random.h"

namespace rankwire {
namespace {

TEST(DeadlineLists, EarliestIsFirstWhateverItsDuration) {
  std::vector<Time> deadlines(3);
  const auto of = [&](uint32_t i) { return deadlines[i]; };
  DeadlineLists lists(3);
  EXPECT_EQ(lists.first(of), DeadlineLists::kNone);
  const auto arm = [&](uint32_t i, int64_t now, int64_t wait) {
    deadlines[i] = Time(now + wait);
    lists.arm(i, Duration(wait));
  };
  arm(0, 0, 100);
  arm(1, 10, 100);
  EXPECT_EQ(lists.first(of), 0u);
  arm(2, 20, 30);
  EXPECT_EQ(lists.first(of), 2u);
  arm(2, 40, 100);  // again, and later
  EXPECT_EQ(lists.first(of), 0u);
  lists.disarm(0);
  EXPECT_EQ(lists.first(of), 1u);
  lists.disarm(1);
  lists.disarm(1);
  EXPECT_EQ(lists.first(of), 2u);
  lists.disarm(2);
  EXPECT_EQ(lists.first(of), DeadlineLists::kNone);
}

// Against a search through all deadlines, with as many durations as a transport can have.
TEST(DeadlineLists, AgreesWithASearch) {
  constexpr uint32_t kIndexes = 50;
  std::vector<Time> deadlines(kIndexes, Time::never());
  DeadlineLists lists(kIndexes);
  Random random(3);
  int64_t now = 0;
  for (int i = 0; i < 100'000; ++i) {
    now += static_cast<int64_t>(random.below(3));
    const auto index = static_cast<uint32_t>(random.below(kIndexes));
    if (random.chance(300'000)) {
      deadlines[index] = Time::never();
      lists.disarm(index);
    } else {
      const Duration wait(static_cast<int64_t>(1 + 7 * random.below(DeadlineLists::kMaxDurations)));
      deadlines[index] = Time(now) + wait;
      lists.arm(index, wait);
    }
    const Time earliest = *std::ranges::min_element(deadlines);
    const uint32_t first = lists.first([&](uint32_t k) { return deadlines[k]; });
    if (earliest == Time::never()) {
      ASSERT_EQ(first, DeadlineLists::kNone);
    } else {
      ASSERT_EQ(deadlines[first], earliest);
    }
  }
}

/// The same with lanes that are up to 200 apart in time, each of which arms what is its own.
TEST(DeadlineLists, FindsTheEarliestInDisorder) {
  constexpr uint32_t kLanes = 8, kIndexes = 40;
  constexpr int64_t kDisorder = 200;
  std::vector<Time> deadlines(kIndexes, Time::never());
  DeadlineLists lists(kIndexes);
  Random random(5);
  std::vector<int64_t> now(kLanes);
  for (int i = 0; i < 100'000; ++i) {
    const auto index = static_cast<uint32_t>(random.below(kIndexes));
    int64_t& own = now[index % kLanes];
    const int64_t furthest = *std::ranges::max_element(now);
    own = std::max(own + static_cast<int64_t>(random.below(40)), furthest - kDisorder);
    if (random.chance(200'000)) {
      deadlines[index] = Time::never();
      lists.disarm(index);
    } else {
      const Duration wait(1'000 * static_cast<int64_t>(1 + random.below(3)));
      deadlines[index] = Time(own) + wait;
      lists.arm(index, wait);
    }
    const uint32_t first = lists.first([&](uint32_t k) { return deadlines[k]; }, Duration(kDisorder));
    const Time earliest = *std::ranges::min_element(deadlines);
    if (earliest == Time::never()) {
      ASSERT_EQ(first, DeadlineLists::kNone);
    } else {
      ASSERT_EQ(deadlines[first], earliest);
    }
  }
}

}  // namespace
}  // namespace rankwire

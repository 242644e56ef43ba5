#include "emulator/simulator/time_heap.h"

#include <gtest/gtest.h>

#include <map>

#include "base/random.h"

namespace rankwire {
namespace {

TEST(TimeHeap, IsNeverDueWhenEmpty) {
  TimeHeap heap(3);
  EXPECT_TRUE(heap.empty());
  EXPECT_EQ(heap.top_time(), Time::never());
  heap.remove(1);
  EXPECT_TRUE(heap.empty());
}

TEST(TimeHeap, DecidesEqualTimesByOrder) {
  TimeHeap heap(3);
  heap.set(0, Time(5), 2);
  heap.set(1, Time(5), 1);
  EXPECT_EQ(heap.top(), 1u);
  heap.set(0, Time(5), 0);
  EXPECT_EQ(heap.top(), 0u);
}

// Against the sorted container of the standard library.
TEST(TimeHeap, KeepsOrderUnderRandomChanges) {
  Random random(3);
  constexpr uint32_t kIds = 50;
  TimeHeap heap(kIds);
  std::map<uint32_t, Time> due;
  for (int i = 0; i < 20'000; ++i) {
    const auto id = static_cast<uint32_t>(random.below(kIds));
    if (random.below(3) == 0) {
      heap.remove(id);
      due.erase(id);
    } else {
      due[id] = Time(static_cast<int64_t>(random.below(100)));
      heap.set(id, due[id], id);
    }
    ASSERT_EQ(heap.empty(), due.empty());
    if (due.empty()) continue;
    std::pair<Time, uint32_t> first{Time::never(), 0};
    for (const auto& [other, time] : due) first = std::min(first, {time, other});
    ASSERT_EQ(heap.top(), first.second);
    ASSERT_EQ(heap.top_time(), first.first);
  }
}

}  // namespace
}  // namespace rankwire

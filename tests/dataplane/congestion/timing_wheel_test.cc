#include "dataplane/congestion/timing_wheel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

#include "base/random.h"

namespace rankwire {
namespace {

constexpr uint32_t kNone = TimingWheel::kNone;

TEST(TimingWheel, EmptyHasNothingToDo) {
  std::vector<TimingWheel::Place> places(4);
  TimingWheel wheel(places);
  EXPECT_EQ(wheel.next(), Time::never());
  EXPECT_EQ(wheel.take(Time() + seconds(1)), kNone);
}

// 10 ns apart, far less than a slot.
TEST(TimingWheel, TimesAreExact) {
  std::vector<TimingWheel::Place> places(3);
  TimingWheel wheel(places);
  wheel.add(0, Time(30'000), Time());
  wheel.add(1, Time(10'000), Time());
  wheel.add(2, Time(20'000), Time());
  for (const uint32_t index : {1u, 2u, 0u}) {
    const Time due = wheel.next();
    EXPECT_EQ(wheel.take(due - Duration(1)), kNone);
    EXPECT_EQ(wheel.take(due), index);
    EXPECT_EQ(wheel.take(due), kNone);
  }
  EXPECT_EQ(wheel.next(), Time::never());
}

TEST(TimingWheel, PastIsAsGoodAsNow) {
  std::vector<TimingWheel::Place> places(2);
  TimingWheel wheel(places);
  const Time now = Time() + milliseconds(7);
  wheel.add(0, Time::long_ago(), now);
  EXPECT_LE(wheel.next(), now);
  EXPECT_EQ(wheel.take(now), 0u);
}

TEST(TimingWheel, LongRestCostsNoLooks) {
  std::vector<TimingWheel::Place> places(1);
  TimingWheel wheel(places);
  const Time now = Time() + seconds(1);
  wheel.add(0, now + microseconds(5), now);
  EXPECT_EQ(wheel.next(), now + microseconds(5));
}

TEST(TimingWheel, WorksBeforeTimeZero) {
  std::vector<TimingWheel::Place> places(2);
  TimingWheel wheel(places);
  const Time now = Time() - microseconds(3);
  wheel.add(0, now + microseconds(2), now);
  wheel.add(1, now + microseconds(5), now);
  EXPECT_EQ(wheel.next(), now + microseconds(2));
  EXPECT_EQ(wheel.take(Time() - microseconds(1)), 0u);
  EXPECT_EQ(wheel.next(), Time() + microseconds(2));
  EXPECT_EQ(wheel.take(Time() + microseconds(2)), 1u);
}

// 33.4 ms is what a packet of 4178 bytes takes at 1 Mb/s: eight spans.
TEST(TimingWheel, BeyondTheSpanNothingLeavesEarly) {
  std::vector<TimingWheel::Place> places(1);
  TimingWheel wheel(places);
  const Time due = Time() + microseconds(33'424);
  wheel.add(0, due, Time());
  uint32_t looks = 0;
  while (wheel.next() < due) {
    EXPECT_EQ(wheel.take(wheel.next()), kNone);
    ++looks;
  }
  EXPECT_EQ(wheel.next(), due);
  EXPECT_EQ(looks, 33'424'000'000 / TimingWheel::kSpan.ps);
  EXPECT_EQ(wheel.take(due), 0u);
}

TEST(TimingWheel, LateLookTakesEverythingInOrderOfSlots) {
  std::vector<TimingWheel::Place> places(3);
  TimingWheel wheel(places);
  wheel.add(0, Time() + milliseconds(20), Time());
  wheel.add(1, Time() + microseconds(9), Time());
  wheel.add(2, Time() + microseconds(3), Time());
  const Time late = Time() + seconds(3);
  for (const uint32_t index : {2u, 1u, 0u, kNone}) EXPECT_EQ(wheel.take(late), index);
}

// 0 .. 3 are due 1 us apart, in one slot or the next; the even ones wait in one wheel, the odd ones in another.
TEST(TimingWheel, WheelsThatShareTheirPlacesKeepApart) {
  std::vector<TimingWheel::Place> places(4);
  TimingWheel even(places), odd(places);
  for (const uint32_t index : {3u, 2u, 1u, 0u})
    (index % 2 == 0 ? even : odd).add(index, Time() + microseconds(1 + index), Time());
  EXPECT_EQ(even.next(), Time() + microseconds(1));
  EXPECT_EQ(odd.next(), Time() + microseconds(2));
  for (const uint32_t index : {0u, 2u, kNone}) EXPECT_EQ(even.take(Time() + microseconds(9)), index);
  for (const uint32_t index : {1u, 3u, kNone}) EXPECT_EQ(odd.take(Time() + microseconds(9)), index);
}

// Of one slot, of slots of their own, beyond the span, and of those that a late look has found due.
TEST(TimingWheel, WhatIsRemovedDoesNotLeave) {
  std::vector<TimingWheel::Place> places(8);
  TimingWheel wheel(places);
  for (const uint32_t index : {0u, 1u, 2u}) wheel.add(index, Time() + nanoseconds(1 + index), Time());
  wheel.add(3, Time() + microseconds(50), Time());
  wheel.add(4, Time() + milliseconds(20), Time());
  for (const uint32_t index : {2u, 0u, 3u, 4u}) wheel.remove(index);
  wheel.add(5, Time() + microseconds(70), Time());
  EXPECT_EQ(wheel.take(Time() + microseconds(1)), 1u);
  EXPECT_EQ(wheel.take(Time() + microseconds(69)), kNone);
  wheel.add(6, Time() + microseconds(70), Time() + microseconds(69));
  wheel.add(7, Time() + microseconds(70), Time() + microseconds(69));
  EXPECT_EQ(wheel.take(Time() + milliseconds(1)), 5u);
  wheel.remove(7);
  wheel.add(7, Time() + milliseconds(2), Time() + milliseconds(1));
  EXPECT_EQ(wheel.take(Time() + milliseconds(1)), 6u);
  EXPECT_EQ(wheel.next(), Time() + milliseconds(2));
  EXPECT_EQ(wheel.take(Time() + milliseconds(2)), 7u);
  EXPECT_EQ(wheel.next(), Time::never());
}

// A sorted map is the oracle: at any look the same indexes leave, and `next` is never later than the earliest.
TEST(TimingWheel, AgreesWithASortedMap) {
  constexpr uint32_t kIndexes = 300;
  std::vector<TimingWheel::Place> places(kIndexes);
  TimingWheel wheel(places);
  std::multimap<Time, uint32_t> expected;
  std::vector<uint32_t> idle(kIndexes);
  for (uint32_t i = 0; i < kIndexes; ++i) idle[i] = i;
  Random random(7);
  Time now = Time() - milliseconds(20);
  for (int step = 0; step < 200'000; ++step) {
    const bool far = random.below(50) == 0;
    now += Duration(static_cast<int64_t>(random.below(far ? 10'000'000'000 : 500'000)));
    if (!idle.empty()) {
      const bool beyond = random.below(20) == 0;
      const Time due = now + Duration(static_cast<int64_t>(random.below(beyond ? 40'000'000'000 : 60'000'000)));
      wheel.add(idle.back(), due, now);
      expected.emplace(due, idle.back());
      idle.pop_back();
    }
    ASSERT_LE(wheel.next(), expected.empty() ? Time::never() : std::max(expected.begin()->first, now));
    for (uint32_t index; (index = wheel.take(now)) != kNone; idle.push_back(index)) {
      const auto entry = std::ranges::find(expected, index, [](const auto& each) { return each.second; });
      ASSERT_NE(entry, expected.end());
      ASSERT_LE(entry->first, now);
      expected.erase(entry);
    }
    ASSERT_TRUE(expected.empty() || expected.begin()->first > now);
    ASSERT_EQ(expected.size() + idle.size(), kIndexes);
  }
}

}  // namespace
}  // namespace rankwire

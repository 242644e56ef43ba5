#include "dataplane/roce/lane_agenda.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "base/random.h"

namespace rankwire {
namespace {

/// Against a set of marks and a table of times.
TEST(LaneAgenda, TakesWhatIsMarkedOrDueInAscendingOrder) {
  constexpr uint32_t kLanes = 50;
  LaneAgenda agenda(kLanes);
  std::set<uint32_t> marked;
  std::vector<Time> times(kLanes, Time::never());
  Random random(7);
  Time now;
  for (int i = 0; i < 20'000; ++i) {
    const auto lane = static_cast<uint32_t>(random.below(kLanes));
    switch (random.below(5)) {
      case 0:
        agenda.mark(lane);
        marked.insert(lane);
        break;
      case 1:
      case 2:
        times[lane] = random.below(5) == 0 ? Time::never() : now + Duration(static_cast<int64_t>(random.below(100)));
        agenda.wake_at(lane, times[lane]);
        break;
      case 3: {
        const Time by = now + Duration(static_cast<int64_t>(random.below(100)));
        times[lane] = std::min(times[lane], by);
        agenda.wake_by(lane, by);
        break;
      }
      default: {
        now += Duration(static_cast<int64_t>(random.below(20)));
        for (uint32_t l = 0; l < kLanes; ++l) {
          if (times[l] <= now) marked.insert(l);
        }
        const std::vector<uint32_t> expected(marked.begin(), marked.end());
        std::vector<uint32_t> begun, taken;
        std::vector<std::pair<uint32_t, uint32_t>> marks_made;  // by whom, of whom
        agenda.begin(now, [&](uint32_t l) { begun.push_back(l); });
        agenda.take(
            [&](uint32_t l) {
              taken.push_back(l);
              // What a lane does to itself it tells by its time; others must look.
              agenda.mark(l);
              if (const auto other = static_cast<uint32_t>(random.below(4 * kLanes)); other < kLanes) {
                agenda.mark(other);
                marks_made.emplace_back(l, other);
              }
              const bool goes_on = random.below(3) != 0;
              return times[l] = goes_on ? now + Duration(1 + static_cast<int64_t>(random.below(100))) : Time::never();
            },
            [&](uint32_t l, size_t ahead) { ASSERT_EQ(l, expected[taken.size() + ahead]); });
        ASSERT_EQ(begun, expected);
        ASSERT_EQ(taken, expected);
        marked.clear();
        // Gone are those of lanes that have acted since, as each that is taken in ascending order does.
        for (const auto& [by, of] : marks_made)
          if (of < by || !std::ranges::binary_search(taken, of)) marked.insert(of);
      }
    }
    const auto first = std::ranges::min_element(times);
    ASSERT_EQ(agenda.next(), *first);
    if (*first != Time::never()) {
      ASSERT_EQ(times[agenda.first()], *first);
    }
    std::set<uint32_t> seen;
    agenda.look([&](uint32_t l) { seen.insert(l); });
    ASSERT_EQ(seen, marked);
  }
}

/// But for what a lane does to itself: when it acts next says it all.
TEST(LaneAgenda, WhatIsMarkedMeanwhileIsTakenTheNextTime) {
  LaneAgenda agenda(4);
  agenda.mark(1);
  agenda.mark(3);
  std::vector<uint32_t> taken;
  const auto act = [&](uint32_t lane) {
    taken.push_back(lane);
    if (lane == 1) agenda.mark(1), agenda.mark(2);
    return lane == 1 ? Time(10) : Time::never();
  };
  const auto none = [](uint32_t, size_t) {};
  agenda.begin(Time(), [&](uint32_t lane) {
    if (lane == 3) agenda.mark(0);
  });
  agenda.take(act, none);
  EXPECT_EQ(taken, (std::vector<uint32_t>{0, 1, 3}));
  EXPECT_EQ(agenda.next(), Time(10));
  agenda.begin(Time(5), [](uint32_t) {});
  agenda.take(act, none);
  EXPECT_EQ(taken, (std::vector<uint32_t>{0, 1, 3, 2}));
  agenda.begin(Time(10), [](uint32_t) {});
  agenda.take(act, none);
  EXPECT_EQ(taken, (std::vector<uint32_t>{0, 1, 3, 2, 1}));
}

}  // namespace
}  // namespace rankwire

#include "dataplane/lane_agenda.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
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
        agenda.begin(now, [&](uint32_t l) { begun.push_back(l); });
        agenda.take(
            [&](uint32_t l) {
              taken.push_back(l);
              const bool goes_on = random.below(3) != 0;
              return times[l] = goes_on ? now + Duration(1 + static_cast<int64_t>(random.below(100))) : Time::never();
            },
            [&](uint32_t l, size_t ahead) { ASSERT_EQ(l, expected[taken.size() + ahead]); });
        ASSERT_EQ(begun, expected);
        ASSERT_EQ(taken, expected);
        marked.clear();
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
  EXPECT_EQ(taken, (std::vector<uint32_t>{0, 1, 3, 1, 2}));
}

}  // namespace
}  // namespace rankwire

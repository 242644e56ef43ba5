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
    switch (random.below(4)) {
      case 0:
        agenda.mark(lane);
        marked.insert(lane);
        break;
      case 1:
      case 2:
        times[lane] = random.below(5) == 0 ? Time::never() : now + Duration(static_cast<int64_t>(random.below(100)));
        agenda.wake_at(lane, times[lane]);
        break;
      default: {
        now += Duration(static_cast<int64_t>(random.below(20)));
        for (uint32_t l = 0; l < kLanes; ++l) {
          if (times[l] <= now) marked.insert(l);
        }
        std::vector<uint32_t> taken;
        agenda.take_due(now, [&](uint32_t l) {
          taken.push_back(l);
          const bool goes_on = random.below(3) != 0;
          return times[l] = goes_on ? now + Duration(1 + static_cast<int64_t>(random.below(100))) : Time::never();
        });
        ASSERT_EQ(taken, std::vector<uint32_t>(marked.begin(), marked.end()));
        marked.clear();
      }
    }
    ASSERT_EQ(agenda.next(), *std::min_element(times.begin(), times.end()));
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
  agenda.take_due(Time(), act);
  EXPECT_EQ(taken, (std::vector<uint32_t>{1, 3}));
  EXPECT_EQ(agenda.next(), Time(10));
  agenda.take_due(Time(5), act);
  EXPECT_EQ(taken, (std::vector<uint32_t>{1, 3, 1, 2}));
}

}  // namespace
}  // namespace rankwire

#include "dataplane/switch/cable_schedule.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace rankwire {
namespace {

Time at_microsecond(int64_t n) {
  return Time() + microseconds(n);
}

CableSchedule schedule_of(std::vector<CableEvent> events, Duration convergence) {
  FabricOptions options;
  options.schedule = std::move(events);
  options.convergence = convergence;
  return CableSchedule(options, 3, 2);
}

TEST(CableSchedule, WithoutChangesNothingIsNext) {
  const CableSchedule cables = schedule_of({}, microseconds(5));
  EXPECT_EQ(cables.next(), Time::never());
  for (const uint8_t in_use : cables.in_use()) EXPECT_NE(in_use, 0);
}

TEST(CableSchedule, RoutesFollowEachChangeAfterTheConvergence) {
  CableSchedule cables = schedule_of({{at_microsecond(10), 2, kDownCable}, {at_microsecond(12), 0}}, microseconds(5));
  EXPECT_EQ(cables.next(), at_microsecond(10));
  EXPECT_EQ(cables.take()->cable, 2u);
  EXPECT_EQ(cables.in_use()[2], 0);
  EXPECT_NE(cables.in_use()[0], 0);
  EXPECT_EQ(cables.next(), at_microsecond(12));
  EXPECT_EQ(cables.take()->cable, 0u);
  EXPECT_EQ(cables.in_use()[0], 0);
  for (const int64_t rerouted : {10 + 5, 12 + 5}) {
    EXPECT_EQ(cables.next(), at_microsecond(rerouted));
    EXPECT_FALSE(cables.take().has_value());
  }
  EXPECT_EQ(cables.next(), Time::never());
}

/// What routes follow at 15 us is with the cable that comes back at 15 us.
TEST(CableSchedule, AChangeComesBeforeRoutesOfTheSameTime) {
  CableSchedule cables =
      schedule_of({{at_microsecond(10), 1, kDownCable}, {at_microsecond(15), 1, kWholeCable}}, microseconds(5));
  EXPECT_EQ(cables.take()->condition, kDownCable);
  EXPECT_EQ(cables.next(), at_microsecond(15));
  EXPECT_EQ(cables.take()->condition, kWholeCable);
  EXPECT_NE(cables.in_use()[1], 0);
  EXPECT_EQ(cables.next(), at_microsecond(15));
  EXPECT_FALSE(cables.take().has_value());
  EXPECT_EQ(cables.next(), at_microsecond(20));
  EXPECT_FALSE(cables.take().has_value());
}

// Cables 3 and 4 are those of two hosts, of which routes know nothing.
TEST(CableSchedule, HostsAreCutOffUntilTheLastOfThemHasBeen) {
  CableSchedule cables =
      schedule_of({{at_microsecond(10), 4, kDownCable}, {at_microsecond(20), 4, kWholeCable}, {at_microsecond(30), 1}},
                  microseconds(1));
  EXPECT_TRUE(cables.cuts_host());
  EXPECT_EQ(cables.in_use().size(), 3u);
  EXPECT_EQ(cables.take()->cable, 4u);
  EXPECT_FALSE(cables.cuts_host()) << "what follows is no host's, or comes back";
  EXPECT_FALSE(schedule_of({{at_microsecond(10), 2, kDownCable}}, Duration()).cuts_host());
}

TEST(CableSchedule, WithoutConvergenceRoutesFollowAtOnce) {
  CableSchedule cables = schedule_of({{at_microsecond(10), 1}, {at_microsecond(11), 2}}, Duration());
  EXPECT_TRUE(cables.take().has_value());
  EXPECT_EQ(cables.next(), at_microsecond(10));
  EXPECT_FALSE(cables.take().has_value());
  EXPECT_EQ(cables.next(), at_microsecond(11));
}

}  // namespace
}  // namespace rankwire

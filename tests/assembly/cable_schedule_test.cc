// What the failures of a configuration do to its cables.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tuple>
#include <vector>

#include "emulator/assembly/fabric_options.h"
#include "emulator/input/fabric_topology.h"
#include "tests/assembly/twin_run.h"

namespace rankwire {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

/// A leaf and a spine, so cable 0 between them, and cables 1 and 2 of the ports.
class CableScheduleOf : public ::testing::Test {
 protected:
  CableScheduleOf() {
    config_.ports = memory_ports(2);
    config_.fabric = FabricConfig{.leaves = 1, .spines = 1};
  }
  /// Of cable 0, all of whose changes there are.
  std::vector<std::pair<int64_t, CableCondition>> changes() const {
    std::vector<std::pair<int64_t, CableCondition>> changes;
    for (const CableEvent& event : cable_schedule(config_, fabric_topology(config_))) {
      EXPECT_EQ(event.cable, 0u);
      changes.emplace_back((event.at - Time()).ps / milliseconds(1).ps, event.condition);
    }
    return changes;
  }
  FabricFailureConfig& add(int64_t down, int64_t up) {
    return config_.fabric->failures.emplace_back(
        FabricFailureConfig{.a = "leaf0", .b = "spine0", .down = milliseconds(down), .up = milliseconds(up)});
  }

  RunConfig config_;
};

TEST_F(CableScheduleOf, NothingHappensWithoutFailures) {
  EXPECT_THAT(changes(), IsEmpty());
}

TEST_F(CableScheduleOf, FailuresThatMeetOrOverlapAreOne) {
  add(2, 8), add(5, 12), add(12, 13);
  EXPECT_THAT(changes(), ElementsAre(Pair(2, kDownCable), Pair(13, kWholeCable)));
}

TEST_F(CableScheduleOf, AFlapComesBackEachTime) {
  FabricFailureConfig& flap = add(1, 2);
  flap.period = milliseconds(3), flap.times = 2;
  EXPECT_THAT(changes(),
              ElementsAre(Pair(1, kDownCable), Pair(2, kWholeCable), Pair(4, kDownCable), Pair(5, kWholeCable)));
}

// The worst of each counts, and what is down has no rate.
TEST_F(CableScheduleOf, TheWorstOfWhatLastsCounts) {
  FabricFailureConfig& slow = add(1, 6);
  slow.rate = Bandwidth(2'000'000'000), slow.latency = microseconds(5);
  FabricFailureConfig& lossy = add(3, 9);
  lossy.rate = Bandwidth(3'000'000'000), lossy.loss_ppm = 100;
  add(5, 7);
  const CableCondition first{.rate = Bandwidth(2'000'000'000), .latency = microseconds(5)};
  const CableCondition both{.rate = Bandwidth(2'000'000'000), .latency = microseconds(5), .loss_ppm = 100};
  const CableCondition last{.rate = Bandwidth(3'000'000'000), .loss_ppm = 100};
  EXPECT_THAT(changes(),
              ElementsAre(Pair(1, first), Pair(3, both), Pair(5, kDownCable), Pair(7, last), Pair(9, kWholeCable)));
}

}  // namespace
}  // namespace rankwire

#include "dataplane/fabric_series.h"

#include <gtest/gtest.h>

#include <map>

namespace rankwire {
namespace {

/// Drops are counted once each, whatever the interval has become, and the last length stays.
TEST(FabricSeries, HalvesItsResolutionWhenItIsFull) {
  FabricSeries series({.interval = Duration(10), .rows = 8}, 2 * kPriorities);
  for (int i = 0; i < 100; ++i) {
    const uint32_t queue = i % 2 == 0 ? 0 : 9;
    if (series.due(Time(i * 10))) {
      series.sample([&](uint32_t) { return std::pair(Bytes(i - 1), false); });
    }
    series.drop(queue, Time(i * 10));
  }
  series.sample([](uint32_t) { return std::pair(Bytes(99), true); });
  // 100 rows of 10 ps do not fit into 8. Two queues in 4 intervals would: at least 1000 ps / 4, in doublings of 10 ps
  // 320; once more for rows that were written while an interval was being doubled.
  EXPECT_GE(series.interval(), Duration(320));
  EXPECT_LE(series.interval(), Duration(640));
  EXPECT_EQ(series.lost(), 0u);
  std::map<uint32_t, uint32_t> drops;
  Time last;
  for (const FabricSample& row : series.rows()) {
    drops[row.port] += row.events.drops;
    EXPECT_GE(row.at, last);
    EXPECT_EQ(row.at.ps % series.interval().ps, 0);
    last = row.at;
  }
  EXPECT_EQ(drops[0], 50u);
  EXPECT_EQ(drops[1], 50u);
  EXPECT_EQ(series.rows().back().length, 99u);
  EXPECT_TRUE(series.rows().back().paused);
}

/// Each kind of event is counted in the interval in which it happens, and in that alone.
TEST(FabricSeries, CountsPausesBothWays) {
  FabricSeries series({.interval = Duration(10), .rows = 8}, kPriorities);
  const auto sample = [&] { series.sample([](uint32_t) { return std::pair(Bytes(), false); }); };
  series.pause(3, true, Time(1));
  series.pause(3, false, Time(2));
  series.pause(3, true, Time(3));
  series.ask(3, Time(4));
  sample();
  series.pause(3, false, Time(11));
  sample();
  ASSERT_EQ(series.rows().size(), 2u);
  EXPECT_EQ(series.rows()[0].events.xoff_rx, 2u);
  EXPECT_EQ(series.rows()[0].events.xoff_tx, 1u);
  EXPECT_EQ(series.rows()[1].events.xoff_rx, 0u);
  EXPECT_EQ(series.rows()[1].at, Time(20));
}

}  // namespace
}  // namespace rankwire

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
    drops[row.port] += row.drops;
    EXPECT_GE(row.at, last);
    EXPECT_EQ(row.at.ps % series.interval().ps, 0);
    last = row.at;
  }
  EXPECT_EQ(drops[0], 50u);
  EXPECT_EQ(drops[1], 50u);
  EXPECT_EQ(series.rows().back().length, 99u);
  EXPECT_TRUE(series.rows().back().paused);
}

}  // namespace
}  // namespace rankwire

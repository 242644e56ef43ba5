#include "emulator/device_counters/device_series.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace rankwire {
namespace {

SampleTimes arrived_at(int64_t ns) {
  return {.asked = {}, .arrived = ns, .stamp = {}};
}

TEST(DeviceSeries, KeepsCountersWhereTheyChangeAndQueuesAlways) {
  DeviceSeries series({}, 100);
  for (int64_t i = 0; i < 4; ++i) {
    const std::vector<DeviceValue> values = {{"e0", "", "drops", i < 2 ? 7u : 9u}, {"e0", "3", "queue_depth", 0}};
    series.add(arrived_at(i), values);
  }
  ASSERT_EQ(series.series().size(), 2u);
  EXPECT_EQ(series.series()[1].metric, DeviceMetric::kQueueDepth);
  EXPECT_EQ(series.series()[1].queue, "3");
  const auto rows_of = [&](uint32_t number) {
    return std::ranges::count(series.rows(), number, &DeviceSeries::Row::series);
  };
  EXPECT_EQ(rows_of(0), 2);  // the first sample, and the one with 9
  EXPECT_EQ(rows_of(1), 4);
  EXPECT_EQ(series.samples().size(), 4u);
}

TEST(DeviceSeries, LeavesOutWhatIsIgnored) {
  DeviceSeries series(CounterNames({{"mtu", DeviceMetric::kIgnored}}), 100);
  series.add(arrived_at(0), std::vector<DeviceValue>{{"e0", "", "mtu", 9100}});
  EXPECT_TRUE(series.series().empty());
  EXPECT_EQ(series.lost(), 0u);
}

// A counter that grows by 1 a sample, and a queue that is long in one of a thousand samples.
TEST(DeviceSeries, IsBoundedAndKeepsLastValuesAndTheLongestQueue) {
  constexpr int64_t kSamples = 1000;
  constexpr size_t kRows = 32;
  DeviceSeries series({}, kRows);
  for (int64_t i = 0; i < kSamples; ++i) {
    const std::vector<DeviceValue> values = {{"e0", "", "drops", static_cast<uint64_t>(i)},
                                             {"e0", "", "queue_depth", i == 500 ? 4096u : 1u}};
    series.add(arrived_at(i), values);
    ASSERT_LE(series.rows().size(), kRows);
  }
  // 2 rows a sample: 16 samples fit, so one stands for 2^6 of 1000 or more.
  EXPECT_GE(series.samples_together(), 64u);
  EXPECT_EQ(series.samples().back().arrived, kSamples - 1);
  uint64_t last = 0, longest = 0;
  uint32_t sample = 0;
  for (const DeviceSeries::Row& row : series.rows()) {
    EXPECT_GE(row.sample, sample);
    sample = row.sample;
    if (row.series == 0) {
      EXPECT_GE(row.value, last);
      last = row.value;
    } else {
      longest = std::max(longest, row.value);
    }
  }
  EXPECT_EQ(last, static_cast<uint64_t>(kSamples - 1));
  EXPECT_EQ(longest, 4096u);
}

// 8 rows are 4 counters at most; the 5th and the 6th have no room, in either sample.
TEST(DeviceSeries, CountsWhatHasNoRow) {
  DeviceSeries series({}, 8);
  for (uint64_t i = 0; i < 2; ++i) {
    std::vector<DeviceValue> values;
    for (int port = 0; port < 6; ++port) values.push_back({"e" + std::to_string(port), "", "drops", i});
    series.add(arrived_at(static_cast<int64_t>(i)), values);
  }
  EXPECT_EQ(series.series().size(), 4u);
  EXPECT_EQ(series.lost(), 4u);
}

}  // namespace
}  // namespace rankwire

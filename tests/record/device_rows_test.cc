#include "emulator/record/device_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <thread>
#include <vector>

#include "emulator/record/live_measurements.h"
#include "emulator/record/reader.h"
#include "emulator/record/recorder.h"
#include "tests/temporary_folder.h"

namespace rankwire {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::TemporaryFolder;

/// A counter with these values.
DeviceCounters counted(const std::vector<uint64_t>& values) {
  DeviceCounters all{.devices = {{.name = "leaf", .kind = "command", .samples = values.size()}}, .counters = {}};
  DeviceCounterRows& counter = all.counters.emplace_back();
  counter.port = "Ethernet0", counter.name = "drops", counter.metric = DeviceMetric::kDrops;
  for (const uint64_t value : values) counter.values.push_back({Time(static_cast<int64_t>(value)), {}, value});
  return all;
}

/// All of them each time, one more than before, up to three.
class GrowingCounters final : public LiveMeasurements {
 public:
  std::optional<DeviceCounters> device_update() override {
    if (values_.size() == 3) return std::nullopt;
    values_.push_back(values_.size() + 1);
    return counted(values_);
  }

 private:
  std::vector<uint64_t> values_;
};

std::vector<uint64_t> recorded_values(const std::filesystem::path& folder) {
  const RunReader reader(folder);
  std::vector<uint64_t> values;
  for (const DeviceCounterRows& counter : reader.device_counters(*reader.emulated()).counters)
    for (const DeviceValueRow& row : counter.values) values.push_back(row.value);
  return values;
}

// The test's time limit is the only clock.
TEST(DeviceRows, AreInTheRecordWhileTheRunGoesOnAndReplacedByItsEnd) {
  const TemporaryFolder folder;
  GrowingCounters counters;
  RunRecorder recorder(folder.path(), {.commit_interval = std::chrono::milliseconds(1)});
  RunRecorder::Run run = recorder.begin({.fidelity = Fidelity::kEmulated, .ranks = 1});
  EXPECT_THAT(recorded_values(folder.path()), IsEmpty());
  {
    const RunRecorder::Following following(run, {&counters});
    while (recorded_values(folder.path()).size() < 3) std::this_thread::yield();
  }
  EXPECT_THAT(recorded_values(folder.path()), ElementsAre(1, 2, 3));
  RunEnd end;
  end.device_counters = counted({7, 8});
  run.end(end);
  EXPECT_THAT(recorded_values(folder.path()), ElementsAre(7, 8));
}

}  // namespace
}  // namespace rankwire

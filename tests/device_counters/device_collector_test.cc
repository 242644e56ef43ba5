// Devices that are asked beside a run, by hooks that behave and by others.
#include "emulator/device_counters/device_collector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace rankwire {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

DeviceSourceOptions called(const std::string& command) {
  return {
      .name = "leaf1", .kind = "command", .command = command, .stream = {}, .interval = milliseconds(20), .names = {}};
}

DeviceSourceOptions streamed(const std::string& script) {
  return {.name = "leaf1",
          .kind = "stream",
          .command = {},
          .stream = {"sh", "-c", script},
          .interval = milliseconds(20),
          .names = {}};
}

/// What is had of one device from the beginning of a run to its end.
DeviceReadings readings_of(DeviceSourceOptions options) {
  const std::atomic<bool> interrupted = false;
  DeviceCollector collector({std::move(options)}, interrupted);
  collector.wait_for_first();
  std::vector<DeviceReadings> readings = collector.finish();
  return std::move(readings.at(0));
}

// One before the run and one behind it, each within its call.
TEST(DeviceCollector, CallsACommandBeforeAndAfterTheRun) {
  const DeviceReadings readings = readings_of(called(R"(echo '{"counters": {"e0": {"drops": 5}}}')"));
  EXPECT_GE(readings.samples, 2u);
  EXPECT_EQ(readings.failures, 0u);
  ASSERT_EQ(readings.series.rows().size(), 1u);  // it does not change
  EXPECT_EQ(readings.series.rows()[0].value, 5u);
  for (const SampleTimes& times : readings.series.samples()) EXPECT_LE(*times.asked, times.arrived);
  EXPECT_THAT(device_warnings(readings), IsEmpty());
}

TEST(DeviceCollector, ReadsAStreamLineByLine) {
  const DeviceReadings readings =
      readings_of(streamed(R"(echo '{"round_trip_ns": 7}'; n=0; while sleep 0.01; do n=$((n + 1));
                  echo "{\"time_ns\": $n, \"counters\": {\"e0\": {\"drops\": $n}}}"; done)"));
  EXPECT_GE(readings.samples, 1u);
  EXPECT_EQ(readings.round_trip_ns, 7);
  EXPECT_EQ(readings.series.rows().size(), readings.samples);  // each is another
  EXPECT_EQ(readings.series.samples()[0].stamp, 1);
}

TEST(DeviceCollector, TellsWhatFailsAndGoesOn) {
  const DeviceReadings failed = readings_of(called("sh -c 'echo no such switch >&2; exit 7'"));
  EXPECT_EQ(failed.samples, 0u);
  EXPECT_GE(failed.failures, 1u);
  EXPECT_THAT(device_warnings(failed),
              ElementsAre(::testing::AllOf(HasSubstr("device_counters 'leaf1': "), HasSubstr("ended with status 7"),
                                           HasSubstr("no such switch"))));
  EXPECT_THAT(readings_of(called("echo rubbish")).first_failure, HasSubstr("no JSON object; it wrote: rubbish"));
  EXPECT_THAT(readings_of(called("/no/such/program")).first_failure, HasSubstr("cannot be started"));
  const DeviceReadings broken = readings_of(streamed("echo '{\"counters\": {\"e0\": {\"drops\": 1}}}'; exit 3"));
  EXPECT_GE(broken.samples, 1u);  // which stay
  EXPECT_THAT(broken.first_failure, HasSubstr("ended with status 3"));
}

// A minute each, unless they are killed.
TEST(DeviceCollector, DoesNotHang) {
  for (DeviceSourceOptions options : {called("sleep 60"), streamed("sleep 60"), streamed("yes | tr -d '\\n'")}) {
    options.patience = milliseconds(100);
    const DeviceReadings readings = readings_of(options);
    EXPECT_EQ(readings.samples, 0u);
    EXPECT_GE(readings.failures, 1u);
  }
}

// It would be silent for a minute, of which it has a tenth of a second; what tells of changes alone may be.
TEST(DeviceCollector, AStreamThatFallsSilentIsStartedAgain) {
  const std::atomic<bool> interrupted = false;
  DeviceSourceOptions options = streamed("echo '{\"counters\": {\"e0\": {\"drops\": 1}}}'; sleep 60");
  options.patience = milliseconds(100);
  DeviceSourceOptions quiet = options;
  quiet.may_be_silent = true;
  DeviceCollector collector({options, quiet}, interrupted);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (collector.so_far()[0].samples < 2 && std::chrono::steady_clock::now() < deadline)
    std::this_thread::sleep_for(milliseconds(20));
  const std::vector<DeviceReadings> readings = collector.finish();
  EXPECT_GE(readings[0].samples, 2u);
  EXPECT_THAT(device_warnings(readings[0]), ElementsAre(HasSubstr("'sh' printed nothing more for 0.1 s")));
  EXPECT_EQ(readings[1].samples, 1u);
  EXPECT_EQ(readings[1].failures, 0u);
}

TEST(DeviceCollector, AnInterruptEndsCallsAtOnce) {
  std::atomic<bool> interrupted = true;
  DeviceCollector collector({called("sleep 60"), streamed("sleep 60")}, interrupted);
  EXPECT_THAT(collector.wait_for_first(), IsEmpty());
  for (const DeviceReadings& readings : collector.finish()) EXPECT_EQ(readings.failures, 0u);
}

}  // namespace
}  // namespace rankwire

// What `transport.timeout: auto` stands for.
#include <gtest/gtest.h>

#include "emulator/assembly/setup.h"
#include "emulator/assembly/transport_options.h"
#include "tests/test_data.h"

namespace rankwire {
namespace {

/// Two ranks on two ports that all-reduce the embedding: 1000 x 256 parameters of 2 bytes.
RunConfig two_port_run(const std::string& device, Bandwidth rate) {
  RunConfig config;
  config.workload.generate = {.transformer = {.layers = 1,
                                              .hidden = 256,
                                              .vocabulary = 1000,
                                              .tensor_parallel = 1,
                                              .pipeline_parallel = 1,
                                              .data_parallel = 2}};
  for (int p = 0; p < 2; ++p) config.ports.push_back({.name = "p" + std::to_string(p), .device = device, .rate = rate});
  return config;
}

uint32_t timeout_of(const RunConfig& config) {
  const testing::TemporaryFolder folder;
  Setup setup;
  prepare(setup, config, folder.path());
  return default_timeout(setup);
}

constexpr Bandwidth kFast(100'000'000'000);

TEST(DefaultTimeout, FollowsFromWhatStandsBehindThePorts) {
  // A window of 64 x 4096 bytes takes 22 us at 100 Gb/s, far below 2^8 x 4.096 us = 1 ms.
  EXPECT_EQ(timeout_of(two_port_run("memory", kFast)), 8u);
  EXPECT_EQ(timeout_of(two_port_run("ring", kFast)), 8u);
  EXPECT_EQ(timeout_of(two_port_run("0000:81:00.0", kFast)), 14u);
}

TEST(DefaultTimeout, OutlastsASwitchThreadThatWaitsForACore) {
  RunConfig config = two_port_run("ring", kFast);
  config.embedded_switch.core = SwitchCore::kOwn;
  EXPECT_EQ(timeout_of(config), 12u);
}

TEST(DefaultTimeout, IsTwiceTheWaitInFrontOfASlowPort) {
  // 64 packets of 4096 bytes and their headers are 264 to 268 KB, 21.1 to 21.5 ms at 100 Mb/s. Twice that is above
  // 4.096 us x 2^13 = 33.6 ms and below 2^14's 67.1 ms.
  EXPECT_EQ(timeout_of(two_port_run("memory", Bandwidth(100'000'000))), 14u);
}

// The same wait, in front of a cable between fast ports.
TEST(DefaultTimeout, IsTwiceTheWaitInFrontOfASlowCable) {
  RunConfig config = two_port_run("memory", kFast);
  config.fabric = FabricConfig{.link_rate = Bandwidth(100'000'000)};
  EXPECT_EQ(timeout_of(config), 14u);
}

// And while it is degraded, for however short a time.
TEST(DefaultTimeout, IsTwiceTheWaitInFrontOfADegradedCable) {
  RunConfig config = two_port_run("memory", kFast);
  config.fabric = FabricConfig{};
  config.fabric->failures = {{.a = "leaf0", .b = "spine0", .up = microseconds(1), .rate = Bandwidth(100'000'000)}};
  EXPECT_EQ(timeout_of(config), 14u);
}

// 64 packets of 4096 bytes are four times this buffer, of which 64 KB take 5.2 ms at 100 Mb/s: twice that is within
// 4.096 us x 2^12 = 16.8 ms. Where data is paused rather than lost all of it counts, the 21.5 ms of a slow port.
TEST(DefaultTimeout, CountsWhatIsPausedBeyondTheBuffer) {
  RunConfig config = two_port_run("memory", Bandwidth(100'000'000));
  config.fabric = FabricConfig{.topology = TopologyName::kStar};
  config.embedded_switch.buffer = Bytes(65'536);
  EXPECT_EQ(timeout_of(config), 12u);
  config.fabric->lossless = {3};  // of DSCP 26, by which data is marked
  EXPECT_EQ(timeout_of(config), 14u);
}

}  // namespace
}  // namespace rankwire

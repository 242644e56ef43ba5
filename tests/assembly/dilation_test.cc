// What is on the wires of a run whose time is stretched.
#include "emulator/assembly/dilation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/assembly/tiny_run.h"

namespace rankwire {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

RunConfig dilated(uint32_t factor) {
  RunConfig config = tiny_run(2, 1);
  config.ports[0].device = "net_null0", config.ports[1].device = "net_null1";
  config.embedded_switch = {.latency = nanoseconds(600), .link_latency = nanoseconds(50), .buffer = Bytes(1 << 20)};
  config.dilation.factor = factor;
  return config;
}

TEST(Dilation, DividesTheLatenciesOfADevice) {
  RunConfig config = dilated(8);
  EXPECT_TRUE(has_unstretched_device(config));
  EXPECT_EQ(on_wires(config).embedded_switch.latency, Duration(75'000));
  EXPECT_EQ(on_wires(config).embedded_switch.link_latency, Duration(6'250));
  EXPECT_EQ(on_wires(config).embedded_switch.buffer, Bytes(1 << 20)) << "bytes are bytes";
  EXPECT_THAT(
      unstretched(config),
      ElementsAre("dilation: the device's latency of 600ns is 75ns to the job, whose own network has 600ns",
                  "dilation: the device's link latency of 50ns is 6250ps to the job, whose own network has 50ns"));

  config.dilation.device = {.latency = nanoseconds(4800),
                            .link_latency = nanoseconds(400),
                            .buffer = Bytes(512 << 10),
                            .ecn_threshold = Bytes(64 << 10)};
  EXPECT_EQ(on_wires(config).embedded_switch.latency, nanoseconds(600)) << "as slow as it must be";
  EXPECT_EQ(on_wires(config).embedded_switch.link_latency, nanoseconds(50));
  EXPECT_EQ(on_wires(config).embedded_switch.buffer, Bytes(512 << 10));
  EXPECT_EQ(on_wires(config).embedded_switch.ecn_threshold, Bytes(64 << 10));
  EXPECT_THAT(unstretched(config),
              ElementsAre("dilation: the device's buffer has 512KiB, that of the job's own network 1MiB",
                          "dilation: the device marks from 64KiB on, the job's own network not at all"));
}

TEST(Dilation, StretchesTheEmbeddedSwitch) {
  RunConfig config = tiny_run(2, 1);
  config.dilation.factor = 8;
  EXPECT_FALSE(has_unstretched_device(config));
  EXPECT_EQ(on_wires(config).embedded_switch.latency, config.embedded_switch.latency);
  EXPECT_THAT(unstretched(config), IsEmpty());
  EXPECT_FALSE(has_unstretched_device(dilated(1)));
}

}  // namespace
}  // namespace rankwire

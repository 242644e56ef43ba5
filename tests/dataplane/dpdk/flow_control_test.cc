#include "dataplane/dpdk/flow_control.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/dataplane/dpdk/fixture.h"

namespace rankwire {
namespace {

using ::testing::HasSubstr;

class DpdkFlowControl : public testing::Dpdk {};

// net_null has no flow control.
TEST_F(DpdkFlowControl, SaysWhyADeviceDoesNotObey) {
  const auto ports = open_dpdk_queues(environment(), "net_null8", {.frames = 255});
  EXPECT_THAT(obey_pauses_on_device("net_null8", priority_bit(3)),
              HasSubstr("does not obey PFC frames (Operation not"));
  EXPECT_THAT(receive_pauses_from_device("net_null8,copy=0"), HasSubstr("Operation not"));
}

TEST_F(DpdkFlowControl, KnowsOpenDevicesOnly) {
  EXPECT_THAT(obey_pauses_on_device("net_null9", priority_bit(3)), HasSubstr("no open device"));
  EXPECT_THAT(receive_pauses_from_device("0000:ff:00.0"), HasSubstr("no open device"));
}

}  // namespace
}  // namespace rankwire

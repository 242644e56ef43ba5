#include "dataplane/dpdk/steering.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/dataplane/dpdk/fixture.h"

namespace rankwire {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class DpdkSteering : public testing::Dpdk {};

// net_null has no rules of rte_flow. Devices that have: tests/interop/steering_test.py.
TEST_F(DpdkSteering, SaysWhyADeviceDoesNotSteer) {
  DpdkPortOptions options{.frames = 255, .queues = 2, .steered = {{MacAddress{{2, 0, 0, 0, 0, 1}}, 1}}};
  EXPECT_THAT(error_of("net_null11", options),
              AllOf(HasSubstr("net_null11 does not steer"), HasSubstr("Function not implemented")));
  options.steered.clear();
  EXPECT_EQ(open_dpdk_queues(environment(), "net_null11", options).size(), 2u) << "it was closed";
}

}  // namespace
}  // namespace rankwire

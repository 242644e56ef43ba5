#include "emulator/cli/traffic_split.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/assembly/tiny_run.h"
#include "tests/temporary_folder.h"

namespace rankwire {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// Tensor-parallel pairs (0, 1), (2, 3), ... and data-parallel pairs (0, 2), ... of four ranks on two hosts.
class TrafficSplit : public ::testing::Test {
 protected:
  void place(MappingPolicy policy) {
    RunConfig config = tiny_run(2, 2);
    config.ports = memory_ports(2);
    config.mapping.policy = policy;
    prepare(setup_, config, folder_.path());
    traffic_ = group_traffic(setup_);
  }
  const GroupTraffic& kind(const std::string& name) const {
    return *std::ranges::find(traffic_, name, &GroupTraffic::group);
  }

  const testing::TemporaryFolder folder_;
  rankwire::Setup setup_;
  std::vector<GroupTraffic> traffic_;
};

// Rank r stands on host r % 2: neighbours apart, (0, 2) and (1, 3) together.
TEST_F(TrafficSplit, RoundRobinPutsNeighboursApart) {
  place(MappingPolicy::kRoundRobin);
  const GroupTraffic &tensor = kind("tp_#"), &data = kind("dp_#");
  EXPECT_EQ(tensor.groups, 2u);
  EXPECT_EQ(tensor.members, 2u);
  EXPECT_EQ(tensor.stride, 1u);
  EXPECT_GT(tensor.wire, Bytes(0));
  EXPECT_EQ(tensor.local, Bytes(0));
  EXPECT_EQ(data.stride, 2u);
  EXPECT_EQ(data.wire, Bytes(0));
  EXPECT_GT(data.local, Bytes(0));
  EXPECT_THAT(mapping_advice(setup_, traffic_), AllOf(HasSubstr("\"tp_#\" are 2 ranks"), HasSubstr("'block'")));
}

// Ranks 0 and 1 stand on host 0.
TEST_F(TrafficSplit, BlocksHoldNeighboursTogether) {
  place(MappingPolicy::kBlock);
  EXPECT_EQ(kind("tp_#").wire, Bytes(0));
  EXPECT_EQ(kind("dp_#").local, Bytes(0));
  EXPECT_THAT(mapping_advice(setup_, traffic_), IsEmpty());
}

TEST_F(TrafficSplit, KindsAddUpToThePlan) {
  place(MappingPolicy::kRoundRobin);
  Bytes wire, local;
  for (const GroupTraffic& kind : traffic_) wire += kind.wire, local += kind.local;
  EXPECT_EQ(wire, setup_.plan.bytes_wire);
  EXPECT_EQ(local, setup_.plan.bytes_local);
}

// Two stages of two ranks each, one micro-batch: each of two ranks sends 64 x 64 activations of 2 bytes to the other
// stage and gets as many gradients; rank r stands on host r % 2, as rank r + 2 does.
TEST(TransferSplit, NamesWhatIsPointToPoint) {
  const testing::TemporaryFolder folder;
  RunConfig config = tiny_run(1, 2);
  config.workload.generate->transformer.pipeline_parallel = 2;
  config.ports = memory_ports(2);
  rankwire::Setup setup;
  prepare(setup, config, folder.path());
  const std::vector<TransferTraffic> traffic = transfer_traffic(setup);
  ASSERT_EQ(traffic.size(), 2u);
  for (const size_t i : {0, 1}) {
    EXPECT_EQ(traffic[i].name, i == 0 ? "mb#.activation.send" : "mb#.gradient.send");
    EXPECT_EQ(traffic[i].messages, 2u);
    EXPECT_EQ(traffic[i].wire, Bytes(0));
    EXPECT_EQ(traffic[i].local, Bytes(2 * 64 * 64 * 2));
  }
}

}  // namespace
}  // namespace rankwire

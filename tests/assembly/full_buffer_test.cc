#include "emulator/assembly/full_buffer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/assembly/twin_run.h"

namespace rankwire {
namespace {

using ::testing::HasSubstr;

/// Four ranks on a port each, of whose all-reduces each has a window of 64 packets of 4096 bytes on the way to all
/// others at once. So 768 KiB come to a port at three times its rate, and a third of them is gone by then: 512 KiB
/// wait.
class FullBuffer : public ::testing::Test {
 protected:
  FullBuffer() {
    config_.workload.generate = {.transformer = {.layers = 2,
                                                 .hidden = 1024,
                                                 .sequence = 1024,
                                                 .vocabulary = 1024,
                                                 .micro_batches = 1,
                                                 .tensor_parallel = 4,
                                                 .pipeline_parallel = 1,
                                                 .data_parallel = 1}};
    config_.ports = memory_ports(4);
    config_.transport.window = 64;
    config_.transport.mtu = 4096;
    config_.collectives.algorithms[static_cast<size_t>(Operation::kAllReduce)].algorithm = Algorithm::kDirect;
  }
  std::optional<std::string> finding() const {
    const testing::TemporaryFolder folder;
    rankwire::Setup setup;
    prepare(setup, config_, folder.path());
    return full_buffer_finding(setup);
  }

  RunConfig config_;
};

TEST_F(FullBuffer, IsFoundWhereMoreMayWaitThanThereIsRoomFor) {
  config_.embedded_switch.buffer = Bytes(512 << 10);
  EXPECT_EQ(finding(), std::nullopt);
  config_.embedded_switch.buffer = Bytes((512 << 10) - 1);
  EXPECT_THAT(finding().value_or(""), HasSubstr("0.5 MiB may wait in front of port 'p0' at once"));
}

// Three that send at 1 Gbit/s do not fill a port of 3. At the others 4 of 5 Gbit/s wait, so 4/5 of 768 KiB.
TEST_F(FullBuffer, IsNoMatterOfAPortThatTakesAllThatComes) {
  for (PortConfig& port : config_.ports) port.rate = Bandwidth(1'000'000'000);
  config_.ports[0].rate = Bandwidth(3'000'000'000);
  config_.embedded_switch.buffer = Bytes(629'146);
  EXPECT_EQ(finding(), std::nullopt);
  config_.embedded_switch.buffer = Bytes(629'145);
  EXPECT_THAT(finding().value_or(""), HasSubstr("port 'p1'"));
}

TEST_F(FullBuffer, IsSeenToByPausesAndByCongestionControl) {
  config_.embedded_switch.buffer = Bytes(64 << 10);
  ASSERT_NE(finding(), std::nullopt);
  RunConfig controlled = config_;
  std::swap(config_, controlled);
  config_.transport.congestion.algorithm = AlgorithmName::kDcqcn;
  EXPECT_EQ(finding(), std::nullopt);
  std::swap(config_, controlled);
  config_.fabric = FabricConfig{.topology = TopologyName::kStar};
  EXPECT_EQ(finding(), std::nullopt);
}

}  // namespace
}  // namespace rankwire

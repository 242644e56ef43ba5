// The whole stack in virtual time: engine, RoCEv2, ports, switch, local interconnect.
#include <gtest/gtest.h>

#include "emulator/engine/transport_group.h"
#include "tests/assembly/twin_run.h"
#include "tests/counting_new.h"

namespace rankwire {
namespace {

/// Every second port has the other transport, which connects on a thread of its own.
std::unique_ptr<Transport> two_transports(const Setup& setup, const std::vector<PortBinding>& ports) {
  std::vector<TransportGroup::Part> parts(2);
  std::vector<std::vector<PortId>> of_parts(2);
  for (uint32_t i = 0; i < 2; ++i) {
    std::vector<PortBinding> own;
    for (const PortBinding& binding : ports) {
      if (binding.id.value % 2 == i) own.push_back(binding), of_parts[i].push_back(binding.id);
    }
    parts[i].transport = std::make_unique<RoceTransport>(roce_options(setup), own);
  }
  parts[1].connect = ConnectTime::kLong;
  return std::make_unique<TransportGroup>(std::move(parts), route_by_ports(std::move(of_parts)));
}

/// Runs to the end and returns what the loop allocated.
uint64_t allocations_of_the_loop(const RunConfig& config, TwinRun::MakeWire make_wire = TwinRun::one_transport) {
  TwinRun twin(config, make_wire);
  const uint64_t before = testing::allocations;
  const RunResult result = twin.run();
  const uint64_t allocated = testing::allocations - before;
  EXPECT_EQ(result.verdict, Verdict::kOk) << result.reason;
  EXPECT_EQ(twin.engine().communication().counters().delivered, 3 * twin.setup().plan.messages_per_iteration);
  EXPECT_EQ(twin.engine().communication().counters().payload_errors, 0u);
  // Both ends of a queue pair are here, whichever transport has them.
  for (const FlowCounters& flow : twin.transport().flows()) {
    const Connection& connection = twin.setup().plan.transport.connections[flow.connection.value];
    if (connection.path == Path::kLocal) continue;
    EXPECT_EQ(flow.messages, 3u * connection.messages_per_iteration);
    EXPECT_NE(flow.source_qp, 0u);
    EXPECT_NE(flow.destination_qp, 0u);
  }
  return allocated;
}

TEST(HotPath, TakesNoMemory) {
  EXPECT_EQ(allocations_of_the_loop(small_run()), 0u);
}

// Who looks on is told at the beginning and at the end of so short a run. Of 8 ranks' messages each is 3 times.
TEST(HotPath, TakesNoMemoryWhileSomebodyLooksOn) {
  TwinRun twin(small_run(), TwinRun::one_transport, true);
  const uint64_t before = testing::allocations;
  const RunResult result = twin.run();
  EXPECT_EQ(testing::allocations - before, 0u);
  ASSERT_EQ(result.verdict, Verdict::kOk) << result.reason;
  const LiveFigures figures = twin.feed().read();
  EXPECT_EQ(figures[LiveCount::kMessages], 3 * twin.setup().plan.messages_per_iteration);
  EXPECT_EQ(figures[LiveCount::kOperations], twin.feed().operations);
  EXPECT_EQ(figures[LiveCount::kPacketsSent], twin.transport().counters().packets_tx);
  EXPECT_EQ(figures.jobs.at(0).iterations, 3u);
  EXPECT_EQ(figures.now, Time() + result.total);
}

TEST(HotPath, TakesNoMemoryWithTransportsThatMeetOnTheWire) {
  EXPECT_EQ(allocations_of_the_loop(small_run(), two_transports), 0u);
  RunConfig nccl = small_run();
  nccl.collectives.profile = CollectivesProfile::kNccl;  // clear-to-send travels against the data
  EXPECT_EQ(allocations_of_the_loop(nccl, two_transports), 0u);
}

TEST(HotPath, TakesNoMemoryToRecoverFromLoss) {
  RunConfig config = small_run();
  config.embedded_switch.loss_ppm = 10'000;
  EXPECT_EQ(allocations_of_the_loop(config), 0u);
}

// Rows that double their interval, and a capture that is full before the end.
TEST(HotPath, TakesNoMemoryToSampleQueuesAndToCapture) {
  RunConfig config = small_run();
  config.fabric = FabricConfig();
  config.fabric_interval = microseconds(1);
  config.fabric_rows = 100;
  config.capture = Bytes(100'000);
  EXPECT_EQ(allocations_of_the_loop(config), 0u);
}

}  // namespace
}  // namespace rankwire

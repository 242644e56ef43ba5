// The whole stack in virtual time: engine, RoCEv2, ports, switch, local interconnect.
#include <gtest/gtest.h>

#include "emulator/cli/setup.h"
#include "emulator/cli/testbed.h"
#include "emulator/cli/transport_options.h"
#include "emulator/engine/port_transports.h"
#include "emulator/engine/split_transport.h"
#include "emulator/simulator/network_model.h"
#include "tests/counting_new.h"
#include "tests/test_data.h"

namespace rankwire {
namespace {

class NoRecord final : public RecordSink {
 public:
  void operations(std::span<const OperationRecord>) noexcept override {}
  void messages(std::span<const MessageRecord>) noexcept override {}
};

RunConfig small_run() {
  RunConfig config;
  config.workload.generate = {.layers = 4,
                              .hidden = 256,
                              .sequence = 128,
                              .micro_batches = 4,
                              .tensor_parallel = 2,
                              .pipeline_parallel = 2,
                              .data_parallel = 2};
  config.workload.iterations = 3;
  config.hosts = {.count = 2, .npus = 4, .nics = 2};
  for (int p = 0; p < 4; ++p) config.ports.push_back({.name = "p" + std::to_string(p), .device = "memory"});
  config.transport.checking = true;
  return config;
}

using MakeWire = std::unique_ptr<Transport> (*)(const Setup& setup, const std::vector<PortBinding>& ports);

std::unique_ptr<Transport> one_transport(const Setup& setup, const std::vector<PortBinding>& ports) {
  return std::make_unique<RoceTransport>(roce_options(setup), ports);
}

/// Every second port has the other transport, which connects on a thread of its own.
std::unique_ptr<Transport> two_transports(const Setup& setup, const std::vector<PortBinding>& ports) {
  std::vector<PortTransports::Part> parts(2);
  for (uint32_t i = 0; i < 2; ++i) {
    std::vector<PortBinding> own;
    for (const PortBinding& binding : ports) {
      if (binding.id.value % 2 == i) own.push_back(binding), parts[i].ports.push_back(binding.id);
    }
    parts[i].transport = std::make_unique<RoceTransport>(roce_options(setup), own);
  }
  parts[1].connect = ConnectTime::kLong;
  return std::make_unique<PortTransports>(std::move(parts));
}

/// Runs to the end and returns what the loop allocated.
uint64_t allocations_of_the_loop(const RunConfig& config, MakeWire make_wire = one_transport) {
  const testing::TemporaryFolder folder;
  Setup setup;
  prepare(setup, config, folder.path());
  const std::unique_ptr<Testbed> testbed = make_memory_testbed(setup);
  SplitTransport transport(make_wire(setup, testbed->ports()),
                           std::make_unique<NetworkModel>(reference_network(setup)));
  EXPECT_TRUE(transport.connect(transport.prepare(setup.plan.transport)).empty());
  EXPECT_TRUE(transport.not_ready().empty());
  NoRecord sink;
  Engine engine(setup.workload, setup.plan, engine_options(config), sink);
  VirtualClock clock;
  const std::atomic<bool> go_on{false};
  const uint64_t before = testing::allocations;
  const RunResult result = run(engine, transport, testbed->devices(), clock, run_options(config), go_on);
  const uint64_t allocated = testing::allocations - before;
  EXPECT_EQ(result.verdict, Verdict::kOk) << result.reason;
  EXPECT_EQ(engine.communication().counters().delivered, 3 * setup.plan.messages_per_iteration);
  EXPECT_EQ(engine.communication().counters().payload_errors, 0u);
  // Both ends of a queue pair are here, whichever transport has them.
  for (const FlowCounters& flow : transport.flows()) {
    const Connection& connection = setup.plan.transport.connections[flow.connection.value];
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

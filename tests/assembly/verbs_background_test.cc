// Traffic beside a job over RDMA devices, which are in memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <vector>

#include "base/clock.h"
#include "dataplane/verbs/transport.h"
#include "emulator/assembly/real_time_transports.h"
#include "emulator/assembly/verbs_options.h"
#include "emulator/assembly/verbs_ports.h"
#include "emulator/assembly/worker_engines.h"
#include "emulator/engine/run.h"
#include "tests/dataplane/verbs/bench.h"
#include "tests/temporary_folder.h"
#include "tests/workload/trace_set.h"

namespace rankwire {
namespace {

class Unrecorded final : public RecordSink {
 public:
  void operations(std::span<const OperationRecord>) noexcept override {}
  void messages(std::span<const MessageRecord>) noexcept override {}
  bool wants_messages() const noexcept override { return false; }
};

/// Executes what the devices are asked for whenever the loop turns: their wires take no time.
class Wires final : public Device {
 public:
  explicit Wires(testing::FakeFabric& fabric) : fabric_(fabric) {}
  bool step(Time) noexcept override {
    fabric_.run();
    return false;
  }
  Time next_event() const noexcept override { return Time::never(); }

 private:
  testing::FakeFabric& fabric_;
};

struct Ended {
  RunResult result;
  BackgroundCounters background;
  TransportCounters transport;
};

/// Two ranks behind a device each compute for 100 us and sum 1 MiB, beside messages of 40.9 KB in the mean, 4 Gbit/s
/// each way. Payloads are compared.
Ended run_beside(const TransportConfig& transport_config) {
  testing::TraceSet traces;
  for (int rank = 0; rank < 2; ++rank)
    traces.add({testing::compute(1, "work").micros(100), testing::collective(2, "sum").after({1}).size(1 << 20)});
  RunConfig config;
  config.workload.traces = traces.options.traces;
  config.hosts = {.count = 2, .npus = 1};
  for (const char* name : {"fake0", "fake1"})
    config.ports.push_back({.name = name, .device = "", .verbs = name, .rate = Bandwidth(100'000'000'000)});
  config.transport = transport_config;
  config.transport.checking = true;
  config.background.push_back({.name = "noise",
                               .pattern = BackgroundPatternName::kAllToAll,
                               .size = {.fixed = {}, .published = "storage", .file = {}},
                               .rate = Bandwidth(4'000'000'000),
                               .backlog = 1000});
  const testing::TemporaryFolder folder;
  Setup setup;
  prepare(setup, config, folder.path());
  std::vector<VerbsPort> ports;
  for (uint32_t p = 0; p < 2; ++p) ports.push_back({PortId(p), config.ports[p].name, testing::fake_place(p)});
  take_device_addresses(setup, ports);
  tell_message_sizes(setup);

  testing::FakeFabric fabric;
  Wires wires(fabric);
  const auto transport =
      with_interconnect(setup, std::make_unique<VerbsTransport>(verbs_options(setup), fabric, std::move(ports)));
  EXPECT_TRUE(transport->connect(transport->prepare(setup.plan.transport)).empty());
  Unrecorded sink;
  Engine engine(setup.workload, setup.plan, engine_options(setup.config), sink);
  WorkerBackground background(setup, nullptr);
  Device* const device = &wires;
  Crew crew({{.engine = &engine,
              .transport = transport.get(),
              .background = background.of_worker(0),
              .devices = {&device, 1}}});
  VirtualClock clock;
  const std::atomic<bool> interrupted{false};
  Ended ended;
  ended.result = crew.run([&](ConnectionId connection) { return transport->describe(connection); }, clock,
                          run_options(setup.config), interrupted);
  ended.background = background.counters().at(0);
  ended.transport = transport->counters();
  transport->close();
  return ended;
}

// 4 Gbit/s for 100 us are 50,000 bytes each way: one message and what is drawn before the next is due.
TEST(VerbsBackground, IsPostedAndReceivedBesideAJob) {
  for (const VerbName verb : {VerbName::kWriteImm, VerbName::kSendImm, VerbName::kRead}) {
    for (const uint32_t queue_pairs : {1u, 2u}) {
      TransportConfig config;
      config.verb = verb;
      config.queue_pairs = queue_pairs;
      const Ended ended = run_beside(config);
      EXPECT_EQ(ended.result.verdict, Verdict::kOk) << ended.result.reason;
      EXPECT_EQ(ended.result.total, microseconds(100));
      EXPECT_GE(ended.background.bytes_offered, 100'000u) << "what is posted is never behind the rate";
      EXPECT_EQ(ended.background.offered, ended.background.posted);
      EXPECT_GT(ended.background.delivered, 2u);
      EXPECT_EQ(ended.background.acknowledged, ended.background.delivered);
      EXPECT_EQ(ended.background.failed, 0u);
      EXPECT_EQ(ended.background.payload_errors, 0u) << "the receiver knew another size";
      EXPECT_EQ(ended.transport.payload_errors, 0u);
    }
  }
}

}  // namespace
}  // namespace rankwire

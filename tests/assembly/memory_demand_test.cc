#include "emulator/assembly/memory_demand.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "emulator/assembly/testbed.h"
#include "emulator/assembly/transport_options.h"
#include "emulator/simulator/link_sharing.h"
#include "tests/assembly/tiny_run.h"
#include "tests/temporary_folder.h"

namespace rankwire {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr Bytes kSetup(20 << 20);

MemoryDemand demand_of(const RunConfig& config, RunKind kind = RunKind::kEmulated) {
  const testing::TemporaryFolder folder;
  Setup setup;
  prepare(setup, config, folder.path());
  return memory_demand(setup, kind, kSetup);
}

TEST(MemoryDemand, EveryRunHasItsPartsAndTheLargestCounts) {
  RunConfig config = tiny_run(2, 2);
  config.hosts = {.count = 2, .npus = 2, .nics = 2};  // tensor parallelism is local, so that there is a model
  config.simulation.fidelity = {SimulationFidelity::kFlow, SimulationFidelity::kTwin};
  config.simulation.threads = 1;
  const MemoryDemand demand = demand_of(config);
  ASSERT_EQ(demand.runs.size(), 5u);
  EXPECT_STREQ(demand.runs[3].run, "ensemble");
  EXPECT_EQ(demand.runs[3].times, 16u);
  for (const size_t run : {0, 2}) {
    SCOPED_TRACE(demand.runs[run].run);
    Bytes sum;
    for (const MemoryPart& part : memory_parts()) {
      EXPECT_GT(demand.runs[run].*part.bytes, Bytes(0)) << part.name;
      sum += demand.runs[run].*part.bytes;
    }
    EXPECT_EQ(demand.runs[run].total(), sum);
  }
  EXPECT_STREQ(demand.runs[0].run, "emulated");
  EXPECT_STREQ(demand.runs[1].run, "flow");
  EXPECT_EQ(demand.runs[1].frames, Bytes(0)) << "the model sends none";
  EXPECT_STREQ(demand.runs[2].run, "twin");
  EXPECT_STREQ(demand.runs[4].run, "report");
  EXPECT_THAT(demand.peak(), ElementsAre(&demand.runs[0]));
  EXPECT_EQ(demand.total(), kSetup + demand.runs[0].total());
}

/// What runs of this total have.
RunMemory taking(const char* run, MemoryStage stage, int64_t mebibytes, uint32_t times = 1) {
  return {.run = run, .stage = stage, .times = times, .engine = Bytes(mebibytes << 20)};
}

std::vector<std::string> names_at_peak(const MemoryDemand& demand) {
  std::vector<std::string> names;
  for (const RunMemory* run : demand.peak()) names.push_back(run->run);
  return names;
}

// The models take 90 + 50 + 20, of which so many are at work as there are threads; of four jobs alone each takes 54,
// which is more than the models from three threads on.
TEST(MemoryDemand, TheLargestOfAStageThatAreAtWorkAtATimeCount) {
  MemoryDemand demand{
      .setup = kSetup,
      .runs = {taking("emulated", MemoryStage::kEmulated, 100), taking("flow", MemoryStage::kModels, 20),
               taking("twin", MemoryStage::kModels, 90), taking("alpha_beta", MemoryStage::kModels, 50),
               taking("job alone", MemoryStage::kJobsAlone, 54, 4), taking("report", MemoryStage::kReport, 9)}};
  const std::vector<std::pair<std::vector<std::string>, int64_t>> expected = {
      {{"emulated"}, 100},
      {{"twin", "alpha_beta"}, 140},
      {{"job alone", "job alone", "job alone"}, 162},
      {{"job alone", "job alone", "job alone", "job alone"}, 216},
      {{"job alone", "job alone", "job alone", "job alone"}, 216}};
  for (uint32_t threads = 1; threads <= expected.size(); ++threads) {
    demand.threads = threads;
    EXPECT_EQ(names_at_peak(demand), expected[threads - 1].first);
    EXPECT_EQ(demand.total(), kSetup + Bytes(expected[threads - 1].second << 20));
  }
}

// Two jobs at work and, where a cable fails, all of them without that. One job's time alone is the model's, unless
// something is beside it.
TEST(MemoryDemand, JobsAloneAreRunsToo) {
  RunConfig config = tiny_run(1, 4);
  config.simulation.threads = 3;
  for (const char* name : {"a", "b"}) config.jobs.push_back({.name = name, .workload = config.workload});
  const auto alone = [&]() -> std::optional<RunMemory> {
    const MemoryDemand demand = demand_of(config, RunKind::kModels);
    EXPECT_EQ(demand.threads, 3u);
    const auto row = std::ranges::find(demand.runs, MemoryStage::kJobsAlone, &RunMemory::stage);
    return row == demand.runs.end() ? std::nullopt : std::optional(*row);
  };
  ASSERT_TRUE(alone());
  EXPECT_EQ(alone()->times, 2u);
  EXPECT_GT(alone()->model, Bytes(0));
  EXPECT_EQ(alone()->record, Bytes(0));
  config.simulation.fidelity = {SimulationFidelity::kAlphaBeta};
  EXPECT_EQ(alone()->model, Bytes(0)) << "nothing is sent";
  config.jobs[1].idle = true;
  EXPECT_FALSE(alone());
  config.simulation.fidelity = {SimulationFidelity::kTwin};
  EXPECT_EQ(alone()->times, 1u);
  config.jobs[1].idle = false;
  config.fabric.emplace().failures.push_back({.a = "p0", .up = milliseconds(1)});
  EXPECT_EQ(alone()->times, 3u);
}

// Dealt messages are not split, so that queue pairs are all that there is more of: each step of the same number of them
// takes the same.
TEST(MemoryDemand, QueuePairsTakeMemoryInProportion) {
  std::vector<int64_t> bytes;
  for (const uint32_t queue_pairs : {16, 32, 48}) {
    RunConfig config = tiny_run(1, 4);
    config.transport.queue_pairs = queue_pairs;
    config.transport.spread = SpreadName::kDeal;
    bytes.push_back(demand_of(config).runs[0].connections.count);
  }
  const int64_t step = bytes[1] - bytes[0];
  EXPECT_GT(step, 0);
  EXPECT_NEAR(static_cast<double>(bytes[2] - bytes[1]), static_cast<double>(step), 0.05 * static_cast<double>(step));
}

// What is told beforehand is what the transport says of itself. All numbers of queue pairs are powers of two, so that
// queues have no empty places; with congestion control a lane has slots of its own, too.
TEST(MemoryDemand, QueuePairsTakeWhatTheTransportSays) {
  for (const AlgorithmName algorithm : {AlgorithmName::kNone, AlgorithmName::kDcqcn}) {
    RunConfig config = tiny_run(1, 8);
    config.transport.queue_pairs = 64;
    config.transport.congestion.algorithm = algorithm;
    const testing::TemporaryFolder folder;
    rankwire::Setup setup;
    prepare(setup, config, folder.path());
    const std::unique_ptr<Testbed> testbed = make_memory_testbed(setup);
    RoceTransport transport(roce_options(setup), testbed->ports());
    const uint64_t ends = transport.prepare(setup.plan.transport).size();
    const auto said = static_cast<double>(transport.queue_pair_bytes());
    EXPECT_NEAR(static_cast<double>(queue_pair_memory(roce_options(setup), ends, 8).count), said, 0.01 * said);
  }
}

TEST(MemoryDemand, ModelsAloneNeedNoConnections) {
  RunConfig config = tiny_run(1, 4);
  config.simulation.fidelity = {SimulationFidelity::kFlow};
  config.simulation.ensemble = 0;
  const MemoryDemand demand = demand_of(config, RunKind::kModels);
  ASSERT_EQ(demand.runs.size(), 2u);
  EXPECT_EQ(demand.runs[0].connections, Bytes(0));
  EXPECT_GT(demand.runs[0].model, Bytes(0));
}

// On the two directions of four ports, two jobs at work are four pairs each. An idle one has its connections, and
// shares nothing.
// What is registered counts on the machine whose port is an RDMA device, and frames on that of the DPDK device.
TEST(MemoryDemand, EachMachineTakesWhatItsOwnPortsDo) {
  RunConfig config = tiny_run(1, 2);
  config.hosts = {.count = 2, .npus = 1};
  config.ports[0].device = "", config.ports[0].verbs = "mlx5_0", config.ports[0].on = "a";
  config.ports[1].device = "0000:01:00.0", config.ports[1].on = "b";
  config.transport.checking = true;
  const auto of_machine = [&](const char* machine, int64_t registered) {
    config.transport.verbs.memory = Bytes(registered);
    const testing::TemporaryFolder folder;
    rankwire::Setup setup;
    prepare(setup, config, folder.path());
    setup.machine = machine;
    return memory_demand(setup, RunKind::kEmulated, kSetup).runs.front();
  };
  EXPECT_EQ(of_machine("a", 1 << 30).frames, Bytes(0));
  EXPECT_GT(of_machine("b", 1 << 30).frames, Bytes(0));
  EXPECT_GT(of_machine("a", 1 << 30).connections, of_machine("a", 64).connections);
  EXPECT_EQ(of_machine("b", 1 << 30).connections, of_machine("b", 64).connections);
}

TEST(MemoryDemand, JobsThatMayShareLinksAreCounted) {
  RunConfig config = tiny_run(1, 4);
  config.simulation.fidelity = {SimulationFidelity::kFlow};
  for (const char* name : {"a", "b"}) config.jobs.push_back({.name = name, .workload = config.workload});
  const Bytes both = demand_of(config, RunKind::kModels).runs[0].model;
  config.jobs[1].idle = true;
  const Bytes one = demand_of(config, RunKind::kModels).runs[0].model;
  EXPECT_GT(both, one + Bytes(LinkSharing::bytes(0, 0, 2 * 4 * 4)));
}

TEST(MemoryDemand, MoreThanThereIsIsAFinding) {
  const MemoryDemand demand{.setup = Bytes(100 << 20),
                            .runs = {{.run = "emulated", .connections = Bytes(300 << 20), .engine = Bytes(50 << 20)}}};
  EXPECT_EQ(memory_finding(demand, Bytes(350 << 20)), std::nullopt);
  EXPECT_EQ(memory_finding(demand, std::nullopt), std::nullopt);
  const auto finding = memory_finding(demand, Bytes(349 << 20));
  ASSERT_TRUE(finding);
  EXPECT_THAT(*finding,
              HasSubstr("the emulated run would take 450 MiB of memory, 300 MiB of it for connections, and 449 "
                        "MiB are available"));
}

// Of two at a time the part counts that takes most of both: 70 + 20 MiB of frames, 80 of connections.
TEST(MemoryDemand, RunsAtATimeThatTakeMoreThanThereIsAreAFinding) {
  MemoryDemand demand{
      .setup = Bytes(10 << 20),
      .threads = 2,
      .runs = {
          {.run = "flow", .stage = MemoryStage::kModels, .frames = Bytes(20 << 20)},
          {.run = "twin", .stage = MemoryStage::kModels, .connections = Bytes(80 << 20), .frames = Bytes(70 << 20)}}};
  const auto finding = memory_finding(demand, Bytes(100 << 20));
  ASSERT_TRUE(finding);
  EXPECT_THAT(*finding, HasSubstr("the twin run and 1 beside it would take 180 MiB of memory, 90 MiB of it for frames, "
                                  "and 110 MiB are available: take fewer ranks, or lower simulation.threads, "));
}

}  // namespace
}  // namespace rankwire

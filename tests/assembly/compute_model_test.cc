#include "emulator/assembly/compute_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <limits>
#include <string>
#include <vector>

#include "emulator/workload/node_stream.h"
#include "tests/test_data.h"
#include "tests/workload/trace_set.h"

namespace rankwire {
namespace {

using namespace rankwire::testing;  // NOLINT: the vocabulary of this file
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Four ranks on two hosts and four ports, each with the same nodes.
class ComputeModelTest : public ::testing::Test {
 protected:
  ComputeModelTest() {
    config_.file = "test.yaml";
    config_.hosts.count = 2;
    config_.hosts.npus = 2;
    config_.hosts.nics = 2;
    config_.mapping.policy = MappingPolicy::kBlock;
    for (int p = 0; p < 4; ++p) config_.ports.push_back({.name = "p" + std::to_string(p), .device = "memory"});
  }

  /// Gives the nodes to each of four ranks, with an all-reduce behind them, and prepares.
  void prepare_set(const Nodes& nodes, TraceSet& set, rankwire::Setup& setup) {
    for (int rank = 0; rank < 4; ++rank) {
      Nodes all = nodes;
      all.push_back(collective(1'000, "ar").size(64).after({nodes.front().id()}));
      set.add(all);
    }
    config_.workload.traces = set.options.traces;
    prepare(setup, config_, folder_.path());
  }
  /// Once a test.
  rankwire::Setup& prepare_with(const Nodes& nodes) {
    prepare_set(nodes, set_, setup_);
    return setup_;
  }
  const Node& node(uint32_t rank, uint32_t index) { return setup_.workload.ranks[rank].nodes[index]; }
  std::string table(const std::string& text) {
    const std::filesystem::path file = folder_ / "kernels.csv";
    std::ofstream(file) << text;
    return file.string();
  }
  std::string error_of(const Nodes& nodes) {
    TraceSet set;
    rankwire::Setup setup;
    try {
      prepare_set(nodes, set, setup);
    } catch (const Error& error) {
      return error.what();
    }
    return "accepted";
  }

  TemporaryFolder folder_;
  TraceSet set_;
  RunConfig config_;
  rankwire::Setup setup_;
};

Make work(uint64_t id, const std::string& name, int64_t flops, int64_t bytes) {
  return compute(id, name).integer("num_ops", flops).integer("tensor_size", bytes);
}

// 10^12 flop on an H100: bf16 989.5, fp32 67, fp64 67 Tflop/s; and 3.35 GB at 3.35 TB/s.
TEST_F(ComputeModelTest, TimesByDataTypeAndSaysWhatBounds) {
  config_.compute.device = "h100";
  config_.compute.latency = microseconds(2);
  prepare_with({work(1, "bf16", 1'000'000'000'000, 8), work(2, "fp32", 1'000'000'000'000, 8).text("dtype", "Float"),
                work(3, "memory", 8, 3'350'000'000), work(4, "recorded", 1'000, 8).micros(7), compute(5, "nothing")});
  EXPECT_EQ(node(0, 0).duration, microseconds(2) + Duration(1'010'611'420));  // 10^12 / 989.5 x 10^12 s
  EXPECT_EQ(node(0, 0).timed_by, TimedBy::kRooflineArithmetic);
  EXPECT_EQ(node(0, 1).duration, microseconds(2) + Duration(14'925'373'135));  // 10^12 / 67 x 10^12 s
  EXPECT_EQ(node(0, 2).duration, microseconds(1'002));
  EXPECT_EQ(node(0, 2).timed_by, TimedBy::kRooflineMemory);
  EXPECT_EQ(node(0, 3).duration, microseconds(7));
  EXPECT_EQ(node(0, 3).timed_by, TimedBy::kRecorded);
  EXPECT_EQ(node(0, 4).duration, microseconds(2));
  EXPECT_EQ(node(0, 4).timed_by, TimedBy::kDefault);
}

// The keys that there always were: 10^9 flop at 50 Tflop/s; 1 MB at 1 Tbit/s.
TEST_F(ComputeModelTest, ObeysPeakAndMemoryBandwidth) {
  config_.compute.source = ComputeSource::kRoofline;
  config_.compute.peak = 50'000'000'000'000;
  config_.compute.memory_bandwidth = Bandwidth(1'000'000'000'000);
  config_.workload.compute_scale = {1, 4};
  prepare_with({work(1, "a", 1'000'000'000, 8).micros(1), work(2, "b", 0, 1'000'000),
                Make(chakra::MEM_LOAD_NODE, 3, "load").integer("tensor_size", 1'000'000)});
  EXPECT_EQ(node(0, 0).duration, microseconds(5));
  EXPECT_EQ(node(0, 1).duration, microseconds(2));
  EXPECT_EQ(node(0, 2).duration, microseconds(2));
  EXPECT_EQ(node(0, 2).timed_by, TimedBy::kMemory);
}

TEST_F(ComputeModelTest, ReachesItsShareOfTheRoofline) {
  config_.compute.efficiency_axis = EfficiencyCurve::Axis::kWork;
  config_.compute.efficiency = {{0, 100'000}, {1'000'000'000'000, 500'000}};  // at 0 and 10^9 flop
  prepare_with({work(1, "half way", 500'000'000, 0), work(2, "beyond", 2'000'000'000, 0)});
  EXPECT_EQ(node(0, 0).duration, Duration(16'666'667));  // 5 us at 30 %
  EXPECT_EQ(node(0, 1).duration, microseconds(40));      // 20 us at 50 %
}

// 1 MB at 1 Tbit/s is 8 us, at 100 Gbit/s 80 us, at 10 Gbit/s 800 us.
TEST_F(ComputeModelTest, KnowsMemoriesAndStorage) {
  config_.compute.memory_bandwidth = Bandwidth(1'000'000'000'000);
  config_.compute.local.latency = nanoseconds(100);
  config_.compute.remote = {Bandwidth(100'000'000'000), microseconds(1)};
  config_.compute.pool = {Bandwidth(10'000'000'000), microseconds(3)};
  config_.compute.storage = {Bandwidth(1'000'000'000), microseconds(50)};
  config_.compute.memory_location = MemoryLocation::kPool;
  const auto load = [](uint64_t id, int64_t place) {
    return Make(chakra::MEM_LOAD_NODE, id, "load").integer("tensor_size", 1'000'000).integer("tensor_loc", place);
  };
  prepare_with({load(1, 0), load(2, 1), load(3, 2), load(4, 3),
                Make(static_cast<chakra::NodeType>(10), 5, "checkpoint").integer("tensor_size", 1'000'000)});
  std::vector<Duration> times;
  for (uint32_t n = 0; n < 5; ++n) times.push_back(node(0, n).duration);
  EXPECT_THAT(times, ElementsAre(microseconds(803), nanoseconds(8'100), microseconds(81), microseconds(803),
                                 microseconds(8'050)));
  EXPECT_EQ(node(0, 4).timed_by, TimedBy::kStorage);
}

TEST_F(ComputeModelTest, TakesTablesBeforeEverythingElse) {
  config_.compute.kernels_file = table(
      "# measured\nduration,pattern,ranks,ps_per_flop\n1us,gemm,1,\n,gemm,,0.5\n9us,\"a, b\",,\n,recorded,0 2-3,2\n");
  prepare_with(
      {work(1, "gemm", 1'000'000, 8), work(2, "a, b", 1, 1).on_cpu(), work(3, "recorded", 500'000, 8).micros(7)});
  EXPECT_EQ(node(0, 0).duration, Duration(500'000));
  EXPECT_EQ(node(1, 0).duration, microseconds(1));
  EXPECT_EQ(node(1, 0).timed_by, TimedBy::kTable);
  EXPECT_EQ(node(0, 1).duration, microseconds(9));
  EXPECT_EQ(node(0, 2).duration, microseconds(1));
  EXPECT_EQ(node(1, 2).duration, microseconds(7));
}

// Host 1 has ranks 2 and 3. 10^9 flop take 10 us on the generic device, 3.205 us on an A100 (312 Tflop/s), 20 us at
// 50 Tflop/s.
TEST_F(ComputeModelTest, OverridesKeysForRanks) {
  config_.compute.latency = microseconds(1);
  config_.compute.peak = 100'000'000'000'000;
  ComputeOverride a100, slow, late;
  a100.who.hosts = {{1, 1}};
  a100.keys.device = "a100";
  slow.who.ranks = {{0, 0}, {3, 3}};
  slow.keys.peak = 50'000'000'000'000;
  late.who.ports = {"p3"};
  late.keys.latency = microseconds(5);
  config_.compute.overrides = {a100, slow, late};
  prepare_with({work(1, "a", 1'000'000'000, 0)});
  EXPECT_EQ(node(0, 0).duration, microseconds(21));
  EXPECT_EQ(node(1, 0).duration, microseconds(11));
  EXPECT_EQ(node(2, 0).duration, microseconds(1) + Duration(3'205'129));
  EXPECT_EQ(node(3, 0).duration, microseconds(25));
}

TEST_F(ComputeModelTest, FindsWhatIsNotThere) {
  config_.compute.overrides.resize(1);
  ComputeOverride& item = config_.compute.overrides.front();
  item.place = "test.yaml:7";
  item.who.ranks = {{2, 4}};
  EXPECT_EQ(error_of({work(1, "a", 1, 1)}),
            "test.yaml:7: compute.overrides[0].ranks: there is no rank 4; the workload has ranks 0 .. 3");
  item.who = {.hosts = {{2, 2}}};
  EXPECT_EQ(error_of({work(1, "a", 1, 1)}),
            "test.yaml:7: compute.overrides[0].hosts: there is no host 2; there are hosts 0 .. 1");
  item.who = {.groups = {"dp"}};
  EXPECT_THAT(error_of({work(1, "a", 1, 1)}),
              HasSubstr("test.yaml:7: compute.overrides[0].groups: there is no process group 'dp'"));
}

TEST_F(ComputeModelTest, NamesTheNodeThatADeviceCannotCompute) {
  config_.compute.device = "tpu_v4";
  EXPECT_EQ(error_of({work(3, "gemm", 1, 1).text("dtype", "Float")}),
            "rank 0, node 3 \"gemm\" computes in fp32, for which device tpu_v4 has no peak rate: give "
            "compute.peaks.fp32");
}

TEST_F(ComputeModelTest, TimesNodesThatStayInTheirFilesTheSame) {
  config_.compute.overrides.resize(1);
  config_.compute.overrides.front().who.ranks = {{1, 1}};
  config_.compute.overrides.front().keys.peak = 50'000'000'000'000;
  config_.workload.stream_above = 0;
  prepare_with({work(1, "a", 1'000'000'000, 0)});
  ASSERT_FALSE(setup_.workload.streaming.empty());
  std::vector<Duration> times;
  for_each_node(setup_.workload, [&](RankId, uint32_t, const Node& n) {
    if (n.kind == NodeKind::kCompute) times.push_back(n.duration);
  });
  EXPECT_THAT(times, ElementsAre(microseconds(10), microseconds(20), microseconds(10), microseconds(10)));
}

TEST_F(ComputeModelTest, VariesNothingUnlessAsked) {
  EXPECT_EQ(prepare_with({work(1, "a", 1, 1)}).variation, nullptr);
}

// The same arguments give the same, in whatever order; other ranks, places, iterations and seeds give others.
TEST_F(ComputeModelTest, VariationFollowsFromItsArguments) {
  config_.compute.jitter = JitterDistribution::kNormal;
  config_.compute.jitter_deviation_ppm = 100'000;
  prepare_with({work(1, "a", 1, 1)});
  const NodeVariation& variation = *setup_.variation;
  const auto end = [&](const NodeVariation& v, uint32_t rank, uint32_t place, uint32_t iteration, Time start) {
    return v.vary(RankId(rank), place, iteration, milliseconds(1), start).end - start;
  };
  const Duration first = end(variation, 1, 2, 3, Time());
  EXPECT_NE(end(variation, 2, 2, 3, Time()), first);
  EXPECT_NE(end(variation, 1, 3, 3, Time()), first);
  EXPECT_NE(end(variation, 1, 2, 4, Time()), first);
  EXPECT_EQ(end(variation, 1, 2, 3, Time(5'000'000)), first);
  setup_.config.seed = 2;
  EXPECT_NE(end(*make_variation(setup_), 1, 2, 3, Time()), first);
  setup_.config.seed = 1;
  EXPECT_EQ(end(*make_variation(setup_), 1, 2, 3, Time()), first);
}

// Rank 2 takes 1.5 times as long from 2 ms to 5 ms, and all of host 0 stands still from 10 ms to 11 ms.
TEST_F(ComputeModelTest, Stragglers) {
  StragglerConfig slow, pause;
  slow.who.ranks = {{2, 2}};
  slow.from = milliseconds(2), slow.until = milliseconds(5), slow.factor = Scale{3, 2};
  pause.who.hosts = {{0, 0}};
  pause.from = milliseconds(10), pause.until = milliseconds(11), pause.pause = true;
  config_.compute.stragglers = {slow, pause};
  prepare_with({work(1, "a", 1, 1)});
  const auto vary = [&](uint32_t rank, Duration start) {
    return setup_.variation->vary(RankId(rank), 0, 0, milliseconds(1), Time() + start);
  };
  EXPECT_EQ(vary(2, milliseconds(3)).end, Time() + microseconds(4'500));
  EXPECT_EQ(vary(2, milliseconds(3)).slowed, microseconds(500));
  EXPECT_EQ(vary(1, milliseconds(3)).end, Time() + milliseconds(4));
  EXPECT_EQ(vary(1, microseconds(9'500)).end, Time() + microseconds(11'500));
  EXPECT_EQ(vary(3, microseconds(9'500)).end, Time() + microseconds(10'500));
  const std::vector<StragglerRow> rows = straggler_rows(setup_);
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[2].rank, RankId(2));
  EXPECT_EQ(rows[2].factor_ppm, 1'500'000u);
  EXPECT_EQ(rows[0].factor_ppm, std::nullopt);
}

// What does not fit ends before never, and nothing of it is told.
TEST_F(ComputeModelTest, VariationSaturates) {
  config_.compute.noise_period = nanoseconds(1);
  config_.compute.noise_duration = seconds(1);
  prepare_with({work(1, "a", 1, 1)});
  const VariedTime time = setup_.variation->vary(RankId(0), 0, 0, Duration::max(), Time(7));
  EXPECT_EQ(time.end, Time(std::numeric_limits<int64_t>::max() - 1));
  EXPECT_EQ(time.noise, Duration(0));
}

}  // namespace
}  // namespace rankwire

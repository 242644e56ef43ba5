#include "emulator/assembly/collective_spec.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "base/error.h"
#include "tests/temporary_folder.h"

namespace rankwire {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using testing::TemporaryFolder;

std::string refusal(const CollectiveSpec& spec) {
  try {
    collective_config(spec);
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

TEST(CollectiveSpec, SizesAreThoseOfNcclTests) {
  EXPECT_EQ(parse_collective_size("8", "--min"), Bytes(8));
  EXPECT_EQ(parse_collective_size("128M", "--min"), Bytes(128 << 20));
  EXPECT_EQ(parse_collective_size("1MB", "--min"), Bytes(1'000'000));
  EXPECT_EQ(parse_collective_size("1MiB", "--min"), Bytes(1 << 20));
  for (const char* wrong : {"", "M", "8Q", "-8", "1.3"}) EXPECT_THROW(parse_collective_size(wrong, "--min"), Error);
}

TEST(CollectiveSpec, WithoutPortsEachRankHasOneOfTheEmbeddedSwitch) {
  const RunConfig config = collective_config({.operation = "all_reduce", .ranks = 6, .largest = "64K"});
  EXPECT_EQ(config.name, "all_reduce");
  ASSERT_EQ(config.ports.size(), 6u);
  EXPECT_EQ(config.ports[0].device, "ring");
  EXPECT_EQ(config.ports[0].rate, Bandwidth(1'000'000'000));
  const CollectiveSeriesConfig& series = config.workload.generate->collective;
  EXPECT_EQ(series.ranks, 6u);
  EXPECT_EQ(series.largest, Bytes(65536));
  EXPECT_EQ(series.iterations, 20u);
  EXPECT_EQ(collective_config({.operation = "all_reduce", .ranks = 40}).ports.size(), 16u);
}

TEST(CollectiveSpec, ALargeSmallestSizeIsTheOnlyOne) {
  const RunConfig config = collective_config({.operation = "all_reduce", .smallest = "8M"});
  EXPECT_EQ(config.workload.generate->collective.largest, Bytes(8 << 20));
}

TEST(CollectiveSpec, SizesMayGrowByASteadyStep) {
  const CollectiveSeriesConfig series =
      collective_config({.operation = "all_reduce", .smallest = "1M", .largest = "4M", .step = "1M"})
          .workload.generate->collective;
  EXPECT_EQ(series.step, Bytes(1 << 20));
  EXPECT_EQ(measured_sizes(series.series()).size(), 4u);
  EXPECT_THAT(refusal({.operation = "all_reduce", .step = "0"}), HasSubstr("--stepbytes: 0 is not 1 or more"));
  EXPECT_THAT(refusal({.operation = "all_reduce", .step = "1M", .factor = 2}), HasSubstr("only one of them"));
  // (16 MiB - 8 B) / 1 B + 1.
  EXPECT_THAT(refusal({.operation = "all_reduce", .largest = "16M", .step = "1"}), HasSubstr("are 16777209 sizes"));
}

// As `mpirun -np 3 ... -t 2 -g 2`: the ranks of a process are consecutive.
TEST(CollectiveSpec, HostsHoldTheRanksOfThreads) {
  const RunConfig config = collective_config({.operation = "all_reduce", .ranks = 12, .threads = 2, .npus = 2});
  EXPECT_EQ(config.ports.size(), 3u);
  EXPECT_EQ(config.hosts.count, 3u);
  EXPECT_EQ(config.hosts.npus, 4u);
  EXPECT_EQ(config.mapping.policy, MappingPolicy::kBlock);
  // By default each port is that of a host: two of 8.
  EXPECT_EQ(collective_config({.operation = "all_reduce", .ports = {"a=ring,b=ring"}, .npus = 8})
                .workload.generate->collective.ranks,
            16u);
  EXPECT_THAT(refusal({.operation = "all_reduce", .ranks = 6, .npus = 4}), HasSubstr("--ranks: 6 are no two hosts"));
  EXPECT_THAT(refusal({.operation = "all_reduce", .ranks = 4, .npus = 4}), HasSubstr("--ranks: 4 are no two hosts"));
  EXPECT_THAT(refusal({.operation = "all_reduce", .npus = 0}), HasSubstr("1 to 1024"));
  EXPECT_THAT(refusal({.operation = "all_reduce", .config = "lab.yaml", .npus = 4}), HasSubstr("those of --config"));
}

TEST(CollectiveSpec, PortsMayBeGiven) {
  const RunConfig config = collective_config({.operation = "alltoall",
                                              .ports = {"a=0000:81:00.0,b=verbs:mlx5_1"},
                                              .port = {"c=net_af_packet0,iface=veth0"},
                                              .rate = "100Gbps"});
  ASSERT_EQ(config.ports.size(), 3u);
  EXPECT_EQ(config.ports[0].device, "0000:81:00.0");
  EXPECT_EQ(config.ports[1].verbs, "mlx5_1");
  EXPECT_EQ(config.ports[2].name, "c");
  EXPECT_EQ(config.ports[2].device, "net_af_packet0,iface=veth0");
  EXPECT_EQ(config.workload.generate->collective.ranks, 3u);
  EXPECT_EQ(config.workload.generate->collective.operation, MeasuredCollective::kAllToAll);
}

TEST(CollectiveSpec, SaysHowItIsCarried) {
  const RunConfig config = collective_config({.operation = "all_to_all_v",
                                              .channels = 2,
                                              .algorithm = "pairwise",
                                              .chunk = "64KiB",
                                              .check = true,
                                              .settings = {"transport.window=7"}});
  EXPECT_EQ(config.collectives.algorithms[static_cast<size_t>(Operation::kAllToAll)].algorithm, Algorithm::kPairwise);
  EXPECT_EQ(config.collectives.channels, 2u);
  EXPECT_TRUE(config.transport.checking);
  EXPECT_EQ(config.transport.window, 7u);
}

class CollectiveSpecWithFile : public ::testing::Test {
 protected:
  std::string file(const std::string& text) {
    const std::string path = folder_ / "lab.yaml";
    std::ofstream(path) << text;
    return path;
  }
  TemporaryFolder folder_;
};

TEST_F(CollectiveSpecWithFile, TakesPortsAndHostsFromIt) {
  const std::string path =
      file("workload: {traces: none_such}\nhosts: {count: 2, npus: 3}\nports: {count: 2, rate: 40Gbps}\n");
  const RunConfig config = collective_config({.operation = "reduce", .config = path, .root = 5});
  EXPECT_EQ(config.name, "lab");
  EXPECT_EQ(config.ports[1].rate, Bandwidth(40'000'000'000));
  EXPECT_EQ(config.workload.generate->collective.ranks, 6u);
  EXPECT_EQ(config.workload.generate->collective.root, 5u);
  EXPECT_THAT(refusal({.operation = "reduce", .config = path, .rate = "1Gbps"}), HasSubstr("--config"));
}

TEST_F(CollectiveSpecWithFile, KeepsTheSeriesThatItHasButForWhatIsAsked) {
  const std::string path = file(
      "workload: {generate: {kind: collective, collective: {ranks: 4, min: 64B, max: 1KiB, iterations: 3}}}\n"
      "ports: {count: 4}\n");
  const RunConfig config = collective_config({.operation = "broadcast", .config = path, .largest = "2K"});
  const CollectiveSeriesConfig& series = config.workload.generate->collective;
  EXPECT_EQ(series.operation, MeasuredCollective::kBroadcast);
  EXPECT_EQ(series.smallest, Bytes(64));
  EXPECT_EQ(series.largest, Bytes(2048));
  EXPECT_EQ(series.iterations, 3u);
}

TEST(CollectiveSpec, RefusesWhatCannotBe) {
  EXPECT_THAT(refusal({.operation = "all_reduc"}), HasSubstr("did you mean 'all_reduce'?"));
  EXPECT_THAT(refusal({.operation = "xyzzy"}), HasSubstr("there are all_reduce, "));
  EXPECT_THAT(refusal({.operation = "all_reduce", .smallest = "2K", .largest = "1K"}), HasSubstr("--min"));
  EXPECT_THAT(refusal({.operation = "all_reduce", .factor = 1}), HasSubstr("--factor: 1 is not 2 or more"));
  EXPECT_THAT(refusal({.operation = "all_reduce", .ranks = 1}), HasSubstr("--ranks: 1 is not 2 or more"));
  EXPECT_THAT(refusal({.operation = "all_reduce", .datatype = "floaty"}), HasSubstr("there is no 'floaty'"));
  EXPECT_THAT(refusal({.operation = "all_reduce", .ports = {"p0=ring"}}), HasSubstr("has one port"));
  EXPECT_THAT(refusal({.operation = "all_reduce", .ports = {"ring,ring"}}), HasSubstr("is not NAME=DEVICE"));
  EXPECT_THAT(refusal({.operation = "all_reduce", .ports = {"a=0000:81:00.0,b=ring"}}), HasSubstr("--rate"));
  EXPECT_THAT(refusal({.operation = "sendrecv", .algorithm = "ring"}), HasSubstr("which have none"));
  EXPECT_THAT(refusal({.operation = "hypercube", .ranks = 6}), HasSubstr("power of two"));
  EXPECT_THAT(refusal({.operation = "all_reduce", .smallest = "6"}), HasSubstr("whole number of elements"));
  EXPECT_EQ(refusal({.operation = "all_reduce", .root = 0}), "--root: all_reduce has none");
  EXPECT_THAT(refusal({.operation = "all_to_all", .spread = "50%"}), HasSubstr("--spread: is of all_to_all_v"));
  for (const char* rate : {"0", "0Gbps", "fast"})
    EXPECT_THAT(refusal({.operation = "all_reduce", .rate = rate}), HasSubstr("write for example 100Gbps"));
}

TEST(CollectiveSpec, NamesOptionsAsTheyWereTyped) {
  EXPECT_EQ(refusal({.operation = "reduce", .root = 9}), "--root 9: 9 is no rank; there are 0 to 3");
  EXPECT_THAT(refusal({.operation = "all_to_all_v", .spread = "200%"}), StartsWith("--spread 200%: "));
  EXPECT_THAT(refusal({.operation = "all_reduce", .chunk = "big"}), StartsWith("--chunk big: "));
  EXPECT_THAT(refusal({.operation = "all_reduce", .settings = {"collectives.chunk=big"}}),
              StartsWith("--set collectives.chunk=big: "));
}

// 4 ranks, one a port of 1 Gb/s. A call of 1 MB sends 2 x 3/4 x 1 MB of each, 6 MB of all, in 12 ms; 5 + 20 of them.
TEST(CollectiveSpec, DemandIsTheClosedForm) {
  const RunConfig config = collective_config({.operation = "all_reduce", .smallest = "1MB", .largest = "1MB"});
  const CollectiveDemand demand = collective_demand(config);
  EXPECT_EQ(demand.sizes, 1u);
  EXPECT_EQ(demand.calls, 25u);
  EXPECT_EQ(demand.bytes, Bytes(150'000'000));
  EXPECT_EQ(demand.time, milliseconds(300));
}

TEST(CollectiveSpec, RefusesWhatIsLongUnlessOnlyModelled) {
  // 1 GiB takes 2 x 3/4 x 8.6 s at 1 Gb/s, 25 of them 322 s.
  const RunConfig config = collective_config({.operation = "all_reduce", .smallest = "1G", .largest = "1G"});
  EXPECT_THROW(require_moderate(config, RunKind::kEmulated), Error);
  EXPECT_NO_THROW(require_moderate(config, RunKind::kTwin));
  EXPECT_NO_THROW(require_moderate(config, RunKind::kModels));
  // 1.5 x 4 x 25 x 4 GiB = 600 GiB.
  const RunConfig large = collective_config({.operation = "all_reduce", .smallest = "4G", .largest = "4G"});
  EXPECT_THROW(require_moderate(large, RunKind::kTwin), Error);
  EXPECT_NO_THROW(require_moderate(large, RunKind::kModels));
}

}  // namespace
}  // namespace rankwire

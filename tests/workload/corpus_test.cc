// Public traces, where they are installed: counts and bytes against an independent tally of the same files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>

#include "tests/workload/node_table.h"
#include "tests/workload/run_to_end.h"
#include "tests/workload/trace_set.h"

namespace rankwire {
namespace {

using namespace rankwire::testing;  // NOLINT: the vocabulary of this file
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct Count {
  uint64_t nodes = 0;
  int64_t bytes = 0;
  bool operator==(const Count&) const = default;
};

std::ostream& operator<<(std::ostream& out, const Count& count) {
  return out << count.nodes << " nodes of " << count.bytes << " bytes";
}

using Tally = std::map<std::string, Count>;

Tally tally(const Workload& workload) {
  Tally result;
  for (const RankTrace& trace : workload.ranks) {
    for (const Node& node : trace.nodes) {
      const bool collective = node.kind == NodeKind::kCollective;
      Count& count = result[collective ? to_string(node.collective) : to_string(node.kind)];
      ++count.nodes;
      count.bytes += node.bytes.count;
    }
  }
  return result;
}

/// Loads the set and checks that it runs to its end, and that it is the same when it stays in its files.
Workload load(const std::string& prefix, const std::string& groups, Warnings& warnings) {
  WorkloadOptions options;
  options.traces = {prefix};
  options.groups_file = groups;
  Workload workload = load_workload(options, warnings);
  EXPECT_TRUE(TimelessRun(workload).completes());
  options.stream_above = 0;
  Warnings of_files;
  EXPECT_EQ(table(load_workload(options, of_files)), table(workload));
  return workload;
}

TEST(Corpus, Gpt3On8Ranks) {
  RANKWIRE_REQUIRE_DATA(archive, "traces/stage/gpt3_8r_tp2pp2dp2.tar.xz");
  TemporaryFolder folder;
  unpack(archive, folder);
  Warnings warnings;
  const Workload workload = load(folder / "gpt3_8r_tp2pp2dp2/w", folder / "gpt3_8r_tp2pp2dp2/w.json", warnings);
  EXPECT_EQ(tally(workload), (Tally{{"compute", {5808, 0}},
                                    {"all_gather", {1152, 9663676416}},
                                    {"reduce_scatter", {768, 12884901888}},
                                    {"all_reduce", {208, 22682796032}},
                                    {"send", {32, 268435456}},
                                    {"receive", {32, 268435456}}}));
  // Its nodes are not in topological order in the file.
  EXPECT_THAT(warnings, ElementsAre(HasSubstr("in the order of their dependencies")));
}

TEST(Corpus, MixtureOfExpertsOn8Ranks) {
  RANKWIRE_REQUIRE_DATA(archive, "traces/stage/moe_8r_ep4dp2.tar.xz");
  TemporaryFolder folder;
  unpack(archive, folder);
  Warnings warnings;
  const Workload workload = load(folder / "moe_8r_ep4dp2/w", folder / "moe_8r_ep4dp2/w.json", warnings);
  EXPECT_EQ(tally(workload), (Tally{{"compute", {4192, 0}},
                                    {"all_gather", {192, 2147614720}},
                                    {"all_to_all", {256, 8589934592}},
                                    {"all_reduce", {80, 19814023168}}}));
}

TEST(Corpus, MlsynthMatchesMessagesInOrderAndKeepsFileOrder) {
  RANKWIRE_REQUIRE_DATA(archive, "traces/mlsynth/mlsynth_c8.tar.xz");
  TemporaryFolder folder;
  unpack(archive, folder);
  Warnings warnings;
  const Workload workload = load(folder / "mlsynth_c8/et/w", folder / "mlsynth_c8/comm_groups.json", warnings);
  EXPECT_EQ(tally(workload), (Tally{{"compute", {512, 0}},
                                    {"all_reduce", {520, 41674817536}},
                                    {"send", {32, 2147483648}},
                                    {"receive", {32, 2147483648}}}));
  EXPECT_THAT(warnings, IsEmpty());
}

TEST(Corpus, ResNet50On64RanksHasControlDependenciesOnlyAndNoMetadata) {
  RANKWIRE_REQUIRE_DATA(archive, "traces/astra-sim/f5d4ddd_resnet50_DataParallel_64r_v004_nometa_ctrldeps.tar.xz");
  TemporaryFolder folder;
  unpack(archive, folder);
  Warnings warnings;
  const Workload workload = load(folder / "runs/example/workload/resnet50_DataParallel", "", warnings);
  // A rank has 161 compute nodes and 54 all-reduces of together 102,011,648 bytes.
  EXPECT_EQ(tally(workload), (Tally{{"compute", {64 * 161, 0}}, {"all_reduce", {64 * 54, int64_t{64} * 102011648}}}));
  uint64_t dependencies = 0;
  for (const uint32_t count : workload.ranks[63].dependencies) dependencies += count;
  EXPECT_GT(dependencies, 161u);
  EXPECT_THAT(warnings, IsEmpty());
}

TEST(Corpus, PyTorchCaptureCountsKernelsOnce) {
  RANKWIRE_REQUIRE_DATA(archive, "traces/chakra/feeder_tests_trace.tar.gz");
  TemporaryFolder folder;
  unpack(archive, folder);
  Warnings warnings;
  const Tally counts = tally(load(folder / "tests/data/chakra", "", warnings));
  EXPECT_EQ(counts.at("all_reduce"), (Count{5, 102228128}));
  EXPECT_EQ(counts.at("broadcast"), (Count{2, 212904}));
  EXPECT_EQ(counts.at("none"), (Count{14, 0}));
  EXPECT_EQ(counts.at("compute").nodes + counts.at("host").nodes, 3643u);
  EXPECT_THAT(warnings, ElementsAre(HasSubstr("14 communication nodes on the CPU"), HasSubstr("1277 control")));
}

TEST(Corpus, GeneratorOutputs) {
  RANKWIRE_REQUIRE_DATA(archive, "traces/chakra/generator_outputs_4npus.tar.xz");
  TemporaryFolder folder;
  unpack(archive, folder);
  Warnings warnings;
  const auto counts = [&](const std::string& name) { return tally(load(folder / ("gen4/" + name), "", warnings)); };
  // Four ranks; a collective is of 64 KiB, a memory node of 1 KiB.
  for (const auto& [name, kind] : std::map<std::string, std::string>{{"ALL_REDUCE", "all_reduce"},
                                                                     {"ALL_GATHER", "all_gather"},
                                                                     {"ALL_TO_ALL", "all_to_all"},
                                                                     {"BROADCAST", "broadcast"},
                                                                     {"REDUCE_SCATTER", "reduce_scatter"}}) {
    EXPECT_EQ(counts(name), (Tally{{kind, {4, 4 * 65536}}})) << name;
  }
  EXPECT_EQ(counts("BARRIER"), (Tally{{"barrier", {4, 0}}}));
  EXPECT_EQ(counts("one_remote_mem_load_node"), (Tally{{"memory", {4, 4096}}}));
  EXPECT_EQ(counts("one_remote_mem_store_node"), (Tally{{"memory", {4, 4096}}}));
  EXPECT_EQ(counts("one_metadata_node_all_types"), (Tally{{"none", {4, 0}}}));
  EXPECT_EQ(counts("two_comp_nodes_dependent"), (Tally{{"compute", {8, 0}}}));
  WorkloadOptions options;
  options.traces = {folder / "gen4/one_comm_send_node"};
  EXPECT_THAT([&] { load_workload(options, warnings); },
              ::testing::ThrowsMessage<Error>(
                  HasSubstr("one_comm_send_node.0.et: node 56 \"COMM_SEND_NODE\": has no comm_dst")));
}

TEST(Corpus, CustomRingAllReduce) {
  RANKWIRE_REQUIRE_DATA(archive, "traces/astra-sim/examples_workload_and_custom_collectives.tar.xz");
  TemporaryFolder folder;
  unpack(archive, folder);
  Warnings warnings;
  const Workload workload = load(
      folder / "examples/system/custom_collectives/custom_ring_allreduce_8npus_1MB/custom_allreduce", "", warnings);
  // Each of 8 ranks has 2 x 7 steps that send 1 MiB / 8, and reduces in 7 of them.
  EXPECT_EQ(tally(workload),
            (Tally{{"compute", {56, 0}}, {"send", {8 * 14, 8 * 14 * 131072}}, {"receive", {8 * 14, 8 * 14 * 131072}}}));
}

TEST(Corpus, TransformerOn64RanksOfTheOldestSchema) {
  RANKWIRE_REQUIRE_DATA(archive, "traces/astra-sim/768a491_transformer_2stack_64r_v001.tar.xz");
  TemporaryFolder folder;
  unpack(archive, folder);
  Warnings warnings;
  const Workload workload = load(folder / "runs/example/workload/transformer_2stack", "", warnings);
  ASSERT_EQ(workload.ranks.size(), 64u);
  Tally counts = tally(workload);
  uint64_t collectives = 0;
  for (const auto& [kind, count] : counts) collectives += kind != "compute" ? count.nodes : 0;
  EXPECT_EQ(counts["compute"].nodes, 64u * 102);
  EXPECT_EQ(collectives, 64u * 40);
}

TEST(Corpus, TheSameCaptureInJsonHasNoSizes) {
  RANKWIRE_REQUIRE_DATA(archive, "traces/chakra/json_trace.tar.gz");
  TemporaryFolder folder;
  unpack(archive, folder);
  std::map<uint32_t, uint64_t> types;
  TraceReader reader(folder / "jsonData/chakra.0.json");
  for (TraceNode node; reader.next(node);) ++types[node.type];
  EXPECT_EQ(types, (std::map<uint32_t, uint64_t>{{chakra::COMP_NODE, 3643}, {chakra::COMM_COLL_NODE, 21}}));
  Warnings warnings;
  WorkloadOptions options;
  options.traces = {folder / "jsonData/chakra"};
  EXPECT_THAT(
      [&] { load_workload(options, warnings); },
      ::testing::ThrowsMessage<Error>(HasSubstr("node 435 \"ncclKernel_Broadcast_RING_LL_Sum_int8_t(ncclDevComm*, "
                                                "unsigned long, ncclWork*)\": has no comm_size")));
}

}  // namespace
}  // namespace rankwire

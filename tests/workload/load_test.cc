#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tuple>

#include "emulator/workload/workload.h"
#include "tests/workload/trace_set.h"

namespace rankwire {
namespace {

using namespace rankwire::testing;  // NOLINT: the vocabulary of this file
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(Load, KindsFollowTypeAndProcessor) {
  TraceSet set({{
      compute(1, "gemm"),
      compute(2, "python").on_cpu(),
      Make(chakra::MEM_LOAD_NODE, 3, "load").integer("tensor_size", 64),
      Make(chakra::MEM_STORE_NODE, 4, "store").integer("tensor_size", 32),
      Make(chakra::METADATA_NODE, 5, "meta"),
      Make(chakra::INVALID_NODE, 6, "invalid"),
      collective(7, "reduce").size(8),
  }});
  const Workload workload = set.load();
  std::vector<NodeKind> kinds;
  for (const Node& node : workload.ranks[0].nodes) kinds.push_back(node.kind);
  EXPECT_THAT(kinds, ElementsAre(NodeKind::kCompute, NodeKind::kHost, NodeKind::kMemory, NodeKind::kMemory,
                                 NodeKind::kNone, NodeKind::kNone, NodeKind::kCollective));
  EXPECT_EQ(workload.ranks[0].nodes[2].bytes, Bytes(64));
  EXPECT_THAT(set.warnings, IsEmpty());
}

TEST(Load, NodesCanBeObservedAsTheirFilesHaveThem) {
  TraceSet set({{compute(7, "a"), Make(chakra::METADATA_NODE, 3, "meta")}, {compute(7, "b")}});
  std::vector<std::tuple<uint32_t, uint32_t, uint64_t, uint32_t>> seen;
  set.options.observe = [&](RankId rank, uint32_t place, const TraceNode& node) {
    seen.emplace_back(rank.value, place, node.id, node.type);
  };
  set.load();
  EXPECT_THAT(seen,
              ElementsAre(std::tuple(0u, 0u, 7u, chakra::COMP_NODE), std::tuple(0u, 1u, 3u, chakra::METADATA_NODE),
                          std::tuple(1u, 0u, 7u, chakra::COMP_NODE)));
}

TEST(Load, NodeTypesOfLaterSchemasTakeNoTimeAndAreTold) {
  TraceSet set({{Make(static_cast<chakra::NodeType>(11), 1, "later"), compute(2, "c").after({1})}});
  const Workload workload = set.load();
  EXPECT_EQ(workload.ranks[0].nodes[0].kind, NodeKind::kNone);
  EXPECT_THAT(set.warnings, ElementsAre(HasSubstr("1 nodes of unknown type")));
}

TEST(Load, StorageOfTheProposedSchemaMovesBytes) {
  std::vector<Nodes> ranks(1);
  for (int type : {8, 9, 10})
    ranks[0].push_back(
        Make(static_cast<chakra::NodeType>(type), static_cast<uint64_t>(type), "io").integer("tensor_size", 64));
  TraceSet set(ranks);
  const Workload workload = set.load();
  for (const Node& node : workload.ranks[0].nodes) {
    EXPECT_EQ(node.kind, NodeKind::kMemory);
    EXPECT_EQ(node.subject.memory(), MemoryPlace::kStorage);
    EXPECT_EQ(node.bytes, Bytes(64));
  }
  EXPECT_THAT(set.warnings, IsEmpty());
}

TEST(Load, MemoryNodesSayWhichMemory) {
  TraceSet set({{Make(chakra::MEM_LOAD_NODE, 1, "a"), Make(chakra::MEM_LOAD_NODE, 2, "b").integer("tensor_loc", 1),
                 Make(chakra::MEM_STORE_NODE, 3, "c").integer("tensor_loc", 2),
                 Make(chakra::MEM_STORE_NODE, 4, "d").integer("tensor_loc", 3)}});
  std::vector<MemoryPlace> places;
  const Workload workload = set.load();
  for (const Node& node : workload.ranks[0].nodes) places.push_back(node.subject.memory());
  EXPECT_THAT(places,
              ElementsAre(MemoryPlace::kUnspecified, MemoryPlace::kLocal, MemoryPlace::kRemote, MemoryPlace::kPool));
  TraceSet wrong({{Make(chakra::MEM_LOAD_NODE, 7, "x").integer("tensor_loc", 4)}});
  EXPECT_THAT(wrong.error(), HasSubstr("node 7 \"x\": tensor_loc 4 is no memory"));
}

TEST(Load, ComputeNodesSayTheirDataType) {
  TraceSet set(
      {{compute(1, "attribute").text("dtype", "BFloat16").types("['Tensor(float)']"),
        compute(2, "inputs").types("['Tensor(long int)', 'Int', 'GenericList[Tensor(c10::Half),Tensor(float)]']"),
        compute(3, "eight bits").types("['Tensor(c10::Float8_e4m3fn)']"), compute(4, "ours").text("dtype", "tf32"),
        compute(5, "none").types("['Tensor(bool)', 'Double']"), compute(6, "nothing"),
        compute(7, "double").types("['Tensor(double)']"), compute(8, "bytes").types("['Tensor(signed char)']")}});
  std::vector<DataType> types;
  const Workload workload = set.load();
  for (const Node& node : workload.ranks[0].nodes) types.push_back(node.subject.data_type());
  EXPECT_THAT(types, ElementsAre(DataType::kBf16, DataType::kFp16, DataType::kFp8, DataType::kTf32, DataType::kUnknown,
                                 DataType::kUnknown, DataType::kFp64, DataType::kInt8));
}

TEST(Load, NodesSayWhereTheirTimeComesFrom) {
  TraceSet set({{compute(1, "a").micros(5), compute(2, "b"), collective(3, "c").size(8).micros(5)}});
  const Workload workload = set.load();
  const std::vector<Node>& nodes = workload.ranks[0].nodes;
  EXPECT_EQ(nodes[0].timed_by, TimedBy::kRecorded);
  EXPECT_EQ(nodes[1].timed_by, TimedBy::kDefault);
  EXPECT_EQ(nodes[2].timed_by, TimedBy::kNothing);
}

TEST(Load, CpuDuplicateOfACollectiveCarriesNothing) {
  TraceSet set({{
      Make(chakra::COMM_COLL_NODE, 1, "c10d::allreduce_").on_cpu(),
      collective(2, "ncclDevKernel_AllReduce").size(100).after({1}),
  }});
  const Workload workload = set.load();
  EXPECT_EQ(workload.ranks[0].nodes[0].kind, NodeKind::kNone);
  EXPECT_EQ(workload.ranks[0].nodes[1].kind, NodeKind::kCollective);
  EXPECT_THAT(set.warnings, ElementsAre(HasSubstr("1 communication nodes on the CPU")));
  EXPECT_THAT(set.warnings[0], HasSubstr("node 1 \"c10d::allreduce_\""));
}

TEST(Load, CommTypeMeansACollectiveOnlyOnCollectives) {
  // MSCCL writes the node type, 5, into comm_type of its SENDs; as a collective that would be a broadcast.
  TraceSet set(
      {{send(1, "s", 1).size(8).integer("comm_type", 5)}, {receive(1, "r", 0).size(8).integer("comm_type", 6)}});
  const Workload workload = set.load();
  EXPECT_EQ(workload.ranks[0].nodes[0].kind, NodeKind::kSend);
  EXPECT_EQ(workload.ranks[1].nodes[0].kind, NodeKind::kReceive);
}

TEST(Load, AbsentCommTypeIsAllReduceAndABarrierNeedsNoSize) {
  TraceSet set({{Make(chakra::COMM_COLL_NODE, 1, "c").size(8), collective(2, "b", CollectiveKind::kBarrier)}});
  const Workload workload = set.load();
  EXPECT_EQ(workload.ranks[0].nodes[0].collective, CollectiveKind::kAllReduce);
  EXPECT_EQ(workload.ranks[0].nodes[1].collective, CollectiveKind::kBarrier);
  EXPECT_EQ(workload.ranks[0].nodes[1].bytes, Bytes(0));
}

TEST(Load, SizesAreElementsScaledAndRoundedToWholeElements) {
  TraceSet set({{collective(1, "c").size(1001), compute(2, "g").integer("tensor_size", 3).integer("num_ops", 7),
                 collective(3, "empty").size(0)}});
  set.options.element_size = Bytes(4);
  set.options.bytes = {1, 10};
  const Workload workload = set.load();
  // 1001 x 4 = 4004; a tenth is 400.4, in whole elements of 4: 404. A tensor is not scaled: 3 x 4.
  EXPECT_EQ(workload.ranks[0].nodes[0].bytes, Bytes(404));
  EXPECT_EQ(workload.ranks[0].nodes[1].tensor, Bytes(12));
  EXPECT_EQ(workload.ranks[0].nodes[1].operations, 7);
  EXPECT_EQ(workload.ranks[0].nodes[2].bytes, Bytes(0));
  EXPECT_EQ(workload.element, Bytes(4));
}

TEST(Load, DurationsAreMicrosecondsAndScaled) {
  TraceSet set({{compute(1, "a").micros(10), compute(2, "b"), collective(3, "c").size(8).micros(4)}});
  set.options.compute = {3, 2};
  const Workload workload = set.load();
  const std::vector<Node>& nodes = workload.ranks[0].nodes;
  EXPECT_EQ(nodes[0].recorded, microseconds(10));
  EXPECT_EQ(nodes[0].duration, microseconds(15));
  EXPECT_EQ(nodes[1].recorded, std::nullopt);
  EXPECT_EQ(nodes[1].duration, Duration());
  EXPECT_EQ(nodes[2].recorded, microseconds(4));
  EXPECT_EQ(nodes[2].duration, Duration()) << "what communication takes is measured, not replayed";
}

TEST(Scale, RoundsUpOnceAndRefusesWhatDoesNotFit) {
  EXPECT_EQ(scaled_size(Bytes(7), {1, 1}, Bytes(1)), Bytes(7));
  EXPECT_EQ(scaled_size(Bytes(7), {1, 2}, Bytes(1)), Bytes(4));     // 3.5
  EXPECT_EQ(scaled_size(Bytes(7), {1, 1000}, Bytes(8)), Bytes(8));  // never 0 for what was not 0
  EXPECT_EQ(scaled_size(Bytes(0), {1000, 1}, Bytes(8)), Bytes(0));
  EXPECT_EQ(scaled_size(Bytes(1), {int64_t{1} << 62, int64_t{1} << 62}, Bytes(1)), Bytes(1));
  EXPECT_THROW(scaled_size(Bytes(INT64_MAX), {3, 2}, Bytes(1)), Error);
  EXPECT_EQ(scaled_duration(Duration(5), {1, 2}), Duration(3));
}

std::vector<uint32_t> successors(const RankTrace& trace, uint32_t node) {
  const auto span = trace.successors_of(node);
  return {span.begin(), span.end()};
}

TEST(Dependencies, MayReferForwardAndRepeat) {
  TraceSet set({{compute(9, "last").after({5, 7, 5}), compute(5, "a"), compute(7, "b").after({5})}});
  const Workload workload = set.load();
  EXPECT_THAT(workload.ranks[0].dependencies, ElementsAre(2, 0, 1));
  EXPECT_THAT(successors(workload.ranks[0], 1), ElementsAre(0, 2));
  EXPECT_THAT(successors(workload.ranks[0], 2), ElementsAre(0));
}

TEST(Dependencies, OnThemselvesAreDroppedAndCounted) {
  TraceSet set({{compute(1, "a").after({1}), compute(2, "b").after({1, 2})}});
  const Workload workload = set.load();
  EXPECT_THAT(workload.ranks[0].dependencies, ElementsAre(0, 1));
  EXPECT_THAT(set.warnings, ElementsAre(HasSubstr("2 dependencies of a node on itself")));
}

/// a <- b by data, b <- c by control, and a control dependency on a node that was left out.
Nodes both_lists() {
  return {compute(1, "a"), compute(2, "b").after({1}), compute(3, "c").after_control({2, 99})};
}

TEST(Dependencies, AutoTakesDataWhereAnyRankHasData) {
  TraceSet set({both_lists(), {compute(1, "a"), compute(2, "b").after_control({1})}});
  const Workload workload = set.load();
  EXPECT_THAT(workload.ranks[0].dependencies, ElementsAre(0, 1, 0));
  EXPECT_THAT(workload.ranks[1].dependencies, ElementsAre(0, 0));
  EXPECT_THAT(set.warnings, ElementsAre(HasSubstr("1 control dependencies on nodes that are not in their file")));
}

TEST(Dependencies, AutoTakesControlWhereNoRankHasData) {
  TraceSet set({{compute(1, "a"), compute(2, "b").after_control({1})}});
  EXPECT_THAT(set.load().ranks[0].dependencies, ElementsAre(0, 1));
}

TEST(Dependencies, BothJoinsTheListsAndDropsMissingControls) {
  TraceSet set({both_lists()});
  set.options.dependencies = DependencyPolicy::kBoth;
  EXPECT_THAT(set.load().ranks[0].dependencies, ElementsAre(0, 1, 1));
  EXPECT_THAT(set.warnings, SizeIs(1));
}

TEST(Dependencies, ControlAloneMustResolve) {
  TraceSet set({both_lists()});
  set.options.dependencies = DependencyPolicy::kControl;
  EXPECT_THAT(set.error(), HasSubstr("node 3 \"c\": its control dependency on node 99 does not resolve"));
}

TEST(Messages, AreMatchedByTagAndFirstInFirstOut) {
  // Three tags used out of order; the tag 5 twice. Ordinals count the sorted tags -1, 5, 9.
  TraceSet set(
      {{send(1, "s9", 1).size(1).integer("comm_tag", 9), send(2, "s5", 1).size(2).integer("comm_tag", 5),
        send(3, "s5b", 1).size(3).integer("comm_tag", 5), send(4, "s-1", 1).size(4).integer("comm_tag", -1)},
       {receive(1, "r-1", 0).size(4).integer("comm_tag", -1), receive(2, "r5", 0).size(2).integer("comm_tag", 5),
        receive(3, "r9", 0).size(1).integer("comm_tag", 9), receive(4, "r5b", 0).size(3).integer("comm_tag", 5)}});
  const Workload workload = set.load();
  struct Name {
    uint32_t ordinal, sequence;
    bool operator==(const Name&) const = default;
  };
  const auto names = [&](uint32_t rank) {
    std::vector<Name> result;
    for (const Node& node : workload.ranks[rank].nodes) result.push_back({node.tag_ordinal, node.sequence});
    return result;
  };
  EXPECT_THAT(names(0), ElementsAre(Name{2, 0}, Name{1, 0}, Name{1, 1}, Name{0, 0}));
  EXPECT_THAT(names(1), ElementsAre(Name{0, 0}, Name{1, 0}, Name{2, 0}, Name{1, 1}));
  EXPECT_EQ(workload.ranks[0].nodes[0].peer, RankId(1));
  EXPECT_EQ(workload.ranks[1].nodes[0].peer, RankId(0));
}

TEST(Collectives, AreNumberedPerGroupInFileOrder) {
  const auto rank = [](uint64_t first) -> Nodes {
    return {collective(first + 2, "x").size(8).group("g"), collective(first + 1, "y").size(8),
            collective(first, "z").size(16).group("g")};
  };
  TraceSet set({rank(10), rank(50)});
  set.groups(R"({"g": [1, 0]})");
  const Workload workload = set.load();
  for (const RankTrace& trace : workload.ranks) {
    EXPECT_EQ(trace.nodes[0].sequence, 0u);
    EXPECT_EQ(trace.nodes[1].sequence, 0u);
    EXPECT_EQ(trace.nodes[2].sequence, 1u);
    EXPECT_EQ(trace.nodes[2].run_order, 1u);
  }
  EXPECT_THAT(workload.groups[0].members, ElementsAre(RankId(1), RankId(0))) << "the order of the ring";
}

TEST(Collectives, RootIsNamedOrTheFirstMember) {
  const Nodes nodes = {collective(1, "b", CollectiveKind::kBroadcast).size(8).group("g"),
                       collective(2, "r", CollectiveKind::kReduce).size(8).group("g").integer("root", 0),
                       collective(3, "a").size(8).group("g")};
  TraceSet set({nodes, nodes});
  set.groups(R"({"g": [1, 0]})");
  const std::vector<Node> loaded = set.load().ranks[1].nodes;
  EXPECT_EQ(loaded[0].peer, RankId(1));
  EXPECT_EQ(loaded[1].peer, RankId(0));
  EXPECT_FALSE(loaded[2].peer.valid());
}

// Rank 0 sends rank 1 5 elements and itself 3, rank 1 sends rank 0 nothing and itself 1; elements are 4 bytes.
TEST(Collectives, HaveBlocksAsTheirSplitsSay) {
  const auto exchange = [](const char* splits, int64_t sum) {
    return Nodes{collective(1, "e", CollectiveKind::kAllToAll).size(sum).text("comm_splits", splits),
                 collective(2, "g", CollectiveKind::kAllGather).size(sum).text("comm_splits", "[8, 1]"),
                 collective(3, "s", CollectiveKind::kReduceScatter).size(9).text("comm_splits", "[9, 0]"),
                 collective(4, "even", CollectiveKind::kAllToAll).size(2)};
  };
  TraceSet set({exchange("[3, 5]", 8), exchange("[0, 1]", 1)});
  set.options.element_size = Bytes(4);
  for (const uint64_t in_memory : {UINT64_MAX, uint64_t{1}}) {
    set.options.stream_above = in_memory;
    set.options.bytes = {1, 1};
    Workload workload = set.load();
    const auto blocks = [&](uint32_t node) {
      std::vector<int64_t> begins;
      for (const Bytes begin : workload.blocks_of(workload.ranks[1].nodes[node])) begins.push_back(begin.count);
      return begins;
    };
    EXPECT_THAT(blocks(0), ElementsAre(0, 12, 32, 32, 36));
    EXPECT_THAT(blocks(1), ElementsAre(0, 32, 36));
    EXPECT_THAT(blocks(2), ElementsAre(0, 36, 36));
    EXPECT_THAT(blocks(3), ElementsAre());
    EXPECT_EQ(workload.ranks[0].nodes[0].bytes, Bytes(32));
    EXPECT_EQ(workload.ranks[1].nodes[0].bytes, Bytes(4));
    // Half of 3, 5, 1 and 9 elements: 2, 3, 1 and 5 whole ones.
    set.options.bytes = {1, 2};
    workload = set.load();
    EXPECT_THAT(blocks(0), ElementsAre(0, 8, 20, 20, 24));
    EXPECT_EQ(workload.ranks[0].nodes[0].bytes, Bytes(20));
  }
}

TEST(TraceFiles, PlainAndCompressedRanksMix) {
  TemporaryFolder folder;
  const Nodes nodes = {compute(1, "a")};
  TraceSet::write(folder / "w.0.et", nodes);
  TraceSet::write(folder / "w.1.et.gz", nodes);
  TraceSet::write(folder / "ww.2.et", nodes);
  TraceSet::write(folder / "w.02.et", nodes);
  WorkloadOptions options;
  options.traces = {folder / "w"};
  Warnings warnings;
  EXPECT_THAT(load_workload(options, warnings).ranks, SizeIs(2));
}

TEST(TraceFiles, AListNamesTheRanksInOrder) {
  TemporaryFolder folder;
  TraceSet::write(folder / "b", {compute(1, "rank 0")});
  TraceSet::write(folder / "a", {compute(1, "rank 1")});
  WorkloadOptions options;
  options.traces = {folder / "b", folder / "a"};
  Warnings warnings;
  const Workload workload = load_workload(options, warnings);
  EXPECT_EQ(workload.ranks[0].nodes[0].name, "rank 0");
  EXPECT_EQ(workload.ranks[1].nodes[0].name, "rank 1");
  options.traces = {folder / "a"};
  EXPECT_THAT(load_workload(options, warnings).ranks, SizeIs(1));
}

TEST(Select, KeepsWhatMatchesEveryList) {
  const Nodes nodes = {compute(1, "fwd.gemm").micros(3), collective(2, "fwd.ar").size(8).group("g").after({1}),
                       collective(3, "fwd.ag", CollectiveKind::kAllGather).size(8).after({2}),
                       collective(4, "bwd.ar").size(8).group("g").after({3})};
  TraceSet set({nodes, nodes});
  set.groups(R"({"g": [0, 1]})");
  const auto kept = [&](const Selection& selection) {
    set.options.select = selection;
    std::vector<uint64_t> ids;
    const Workload workload = set.load();
    for (const Node& node : workload.ranks[0].nodes) {
      if (node.kind != NodeKind::kNone) ids.push_back(node.id);
    }
    return ids;
  };
  EXPECT_THAT(kept({}), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(kept({.names = {"fwd.*"}, .groups = {}, .kinds = {}}), ElementsAre(1, 2, 3));
  EXPECT_THAT(kept({.names = {}, .groups = {"g"}, .kinds = {}}), ElementsAre(1, 2, 4));
  EXPECT_THAT(kept({.names = {}, .groups = {}, .kinds = {"all_reduce"}}), ElementsAre(2, 4));
  EXPECT_THAT(kept({.names = {"bwd*", "*gemm"}, .groups = {}, .kinds = {"collective"}}), ElementsAre(4));
  EXPECT_THAT(set.warnings, IsEmpty());
}

TEST(Select, DeselectedNodesStillOrderTheOthers) {
  const Nodes nodes = {compute(1, "a"), collective(2, "b").size(8).after({1}), collective(3, "c").size(8).after({2})};
  TraceSet set({nodes});
  set.options.select.names = {"a", "c"};
  const Workload workload = set.load();
  EXPECT_THAT(workload.ranks[0].dependencies, ElementsAre(0, 1, 1));
  EXPECT_EQ(workload.ranks[0].nodes[2].sequence, 0u) << "numbered among those that run";
}

TEST(Select, UnknownNamesAreErrorsAndIdlePatternsWarn) {
  TraceSet set({{collective(1, "a").size(8)}});
  set.options.select.kinds = {"allreduce"};
  EXPECT_THAT(set.error(), HasSubstr("kind \"allreduce\" is none of compute"));
  set.options.select = {.names = {}, .groups = {"tp"}, .kinds = {}};
  EXPECT_THAT(set.error(), HasSubstr("select.groups: no group is named \"tp\"; there "));
  set.options.select = {.names = {"zzz*"}, .groups = {}, .kinds = {}};
  set.load();
  EXPECT_THAT(set.warnings, ElementsAre(HasSubstr("no node matches \"zzz*\"")));
}

}  // namespace
}  // namespace rankwire

// Aggregators as ranks behind those of the trace: who is in which group's tree, and what they take part in.
#include "emulator/workload/aggregation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/workload/trace_set.h"

namespace rankwire {
namespace {

using namespace rankwire::testing;  // NOLINT: the vocabulary of this file
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Leaves 0 and 1 below the spine 2; ranks 0 and 1 at the first leaf, 2 and 3 at the second.
const std::vector<AggregationNode> kSpineAndLeaves = {{"leaf0", 2}, {"leaf1", 2}, {"spine", {}}};
const std::vector<uint32_t> kLeafOfRank = {0, 0, 1, 1};

std::vector<uint32_t> participants(const Group& group) {
  std::vector<uint32_t> ranks;
  for (const RankId participant : group.participants) ranks.push_back(participant.value);
  return ranks;
}

bool reduces_everywhere(const Node& node) {
  return node.collective == CollectiveKind::kAllReduce;
}

/// The same nodes at ranks 0 to 3.
Workload four_ranks(const Nodes& nodes, const std::string& groups = "") {
  TraceSet set({nodes, nodes, nodes, nodes});
  if (!groups.empty()) set.groups(groups);
  return set.load();
}

TEST(Aggregation, AGroupOfAllHasTheWholeTree) {
  Workload workload = four_ranks({collective(1, "sum").size(8)});
  add_aggregators(workload, kSpineAndLeaves, kLeafOfRank, reduces_everywhere);
  ASSERT_THAT(workload.ranks, SizeIs(4 + 3));
  // Ranks 4, 5 and 6 are leaf0, leaf1 and spine; positions in the order in which the members meet them on their ways
  // up: member 0 meets leaf0 (4) and spine (5), member 2 leaf1 (6).
  EXPECT_THAT(participants(workload.groups[0]), ElementsAre(0, 1, 2, 3, 4, 6, 5));
  EXPECT_THAT(workload.groups[0].aggregation, ElementsAre(4, 4, 6, 6, 5, 5, 5));
  EXPECT_THAT(workload.groups[0].members, SizeIs(4));
  EXPECT_EQ(workload.ranks[4].file, "aggregator leaf0");
  EXPECT_EQ(workload.ranks[6].file, "aggregator spine");
  for (uint32_t rank = 0; rank < 7; ++rank) EXPECT_EQ(workload.ranks[rank].aggregates, rank >= 4) << rank;
}

TEST(Aggregation, AGroupBelowOneLeafNeedsNoSpine) {
  TraceSet set({{collective(1, "sum").size(8).group("g")},
                {collective(1, "sum").size(8).group("g")},
                {compute(1, "idle")},
                {compute(1, "idle")}});
  set.groups(R"({"g": [1, 0]})");
  Workload workload = set.load();
  add_aggregators(workload, kSpineAndLeaves, kLeafOfRank, reduces_everywhere);
  // The leaf at position 2 is above both members and the top of the tree.
  EXPECT_THAT(participants(workload.groups[0]), ElementsAre(1, 0, 4));
  EXPECT_THAT(workload.groups[0].aggregation, ElementsAre(2, 2, 2));
  EXPECT_THAT(workload.ranks[4].nodes, SizeIs(1));
  EXPECT_THAT(workload.ranks[5].nodes, IsEmpty());
  EXPECT_THAT(workload.ranks[6].nodes, IsEmpty());
}

TEST(Aggregation, OnlyWhatIsAggregatedIsServedInTheOrderOfTheGroup) {
  Workload workload = four_ranks({collective(1, "first").size(8),
                                  collective(2, "gather", CollectiveKind::kAllGather).size(8).after({1}),
                                  compute(3, "work").after({2}), collective(4, "last").size(16).after({3})});
  add_aggregators(workload, kSpineAndLeaves, kLeafOfRank, reduces_everywhere);
  for (uint32_t rank = 4; rank < 7; ++rank) {
    const RankTrace& trace = workload.ranks[rank];
    ASSERT_THAT(trace.nodes, SizeIs(2)) << rank;
    EXPECT_EQ(trace.nodes[0].bytes, Bytes(8));
    EXPECT_EQ(trace.nodes[1].bytes, Bytes(16));
    // Second and third collective of the group, numbered as its members' (names of messages) and counted among
    // themselves (order of running); ready from the start.
    EXPECT_EQ(trace.nodes[1].sequence, workload.ranks[0].nodes[3].sequence);
    EXPECT_EQ(trace.nodes[0].run_order, 0u);
    EXPECT_EQ(trace.nodes[1].run_order, 1u);
    EXPECT_THAT(trace.communicating, ElementsAre(0, 1));
    EXPECT_THAT(trace.dependencies, ElementsAre(0, 0));
  }
}

TEST(Aggregation, GroupsThatAreNotServedStayAsTheyAre) {
  // Nothing of the group is aggregated, and one member needs nobody.
  Workload workload = four_ranks({collective(1, "gather", CollectiveKind::kAllGather).size(8)});
  add_aggregators(workload, kSpineAndLeaves, kLeafOfRank, reduces_everywhere);
  EXPECT_THAT(workload.groups[0].participants, IsEmpty());
  EXPECT_THAT(workload.groups[0].positions(), SizeIs(4));

  TraceSet set({{collective(1, "sum").size(8).group("g")}, {compute(1, "idle")}});
  set.groups(R"({"g": [0]})");
  Workload alone = set.load();
  const std::vector<AggregationNode> one = {{"only", {}}};
  add_aggregators(alone, one, std::vector<uint32_t>{0, 0}, reduces_everywhere);
  EXPECT_THAT(alone.groups[0].participants, IsEmpty());
  EXPECT_THAT(alone.ranks[2].nodes, IsEmpty());
}

}  // namespace
}  // namespace rankwire

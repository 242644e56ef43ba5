#include "emulator/workload/run_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "emulator/workload/graph.h"
#include "tests/workload/run_to_end.h"
#include "tests/workload/trace_set.h"

namespace rankwire {
namespace {

using namespace rankwire::testing;  // NOLINT: the vocabulary of this file
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::vector<uint32_t> run_orders(const RankTrace& trace) {
  std::vector<uint32_t> orders;
  for (const Node& node : trace.nodes) {
    if (node.kind == NodeKind::kCollective) orders.push_back(node.run_order);
  }
  return orders;
}

TEST(RunOrder, IsTheFileOrderWhereThatCanRun) {
  // The second is ready long before the first, and still waits for it, as in a communicator.
  const Nodes nodes = {compute(1, "slow").micros(100), collective(3, "first").size(8).after({1}),
                       collective(2, "second").size(8)};
  TraceSet set({nodes, nodes});
  const Workload workload = set.load();
  EXPECT_THAT(run_orders(workload.ranks[0]), ElementsAre(0, 1));
  EXPECT_THAT(set.warnings, IsEmpty());
}

/// Three collectives a, m, z in the file, of which a depends on z: file order cannot run. m may start at 1 us, a when z
/// is over, which begins at 0 and takes 80 ps a byte.
Nodes reversed(int64_t z_bytes) {
  return {compute(1, "work").micros(1), collective(10, "a").size(8).after({12}), collective(11, "m").size(8).after({1}),
          collective(12, "z").size(z_bytes)};
}

TEST(RunOrder, OtherwiseFollowsTheEarliestStart) {
  // z is over at 80 ns, before m can start: z, a, m.
  TraceSet set({reversed(1000), reversed(1000)});
  const Workload workload = set.load();
  EXPECT_THAT(run_orders(workload.ranks[0]), ElementsAre(1, 2, 0));
  EXPECT_THAT(run_orders(workload.ranks[1]), ElementsAre(1, 2, 0));
  EXPECT_THAT(set.warnings, ElementsAre(HasSubstr("collectives run in the order of their dependencies")));
  EXPECT_EQ(workload.ranks[0].nodes[1].sequence, 0u) << "identity stays in file order";
  EXPECT_TRUE(TimelessRun(workload).completes());
}

TEST(RunOrder, CountsTheTimeOfCommunication) {
  // z is over at 20000 x 80 ps = 1.6 us, after m starts: z, m, a.
  TraceSet set({reversed(20000), reversed(20000)});
  EXPECT_THAT(run_orders(set.load().ranks[0]), ElementsAre(2, 1, 0));
}

TEST(RunOrder, BreaksTiesByTheIdOnTheLowestRank) {
  // b and c start at 0; on rank 0 c has the lower id, on rank 1 b. a waits for c, so that file order cannot run.
  TraceSet set({{collective(30, "a").size(8).after({10}), collective(20, "b").size(8), collective(10, "c").size(8)},
                {collective(30, "a").size(8).after({11}), collective(10, "b").size(8), collective(11, "c").size(8)}});
  const Workload workload = set.load();
  EXPECT_THAT(run_orders(workload.ranks[0]), ElementsAre(2, 1, 0));
  EXPECT_THAT(run_orders(workload.ranks[1]), ElementsAre(2, 1, 0));
}

TEST(RunOrder, SeesCyclesThroughOtherGroupsAndMessages) {
  // Within each rank the file order of "g" is fine; together the message from y on rank 0 to x on rank 1 reverses it.
  TraceSet set({{collective(1, "x").size(8), collective(2, "y").size(8), send(3, "s", 1).size(8).after({2})},
                {receive(1, "r", 0).size(8), collective(2, "x").size(8).after({1}), collective(3, "y").size(8)}});
  const Workload workload = set.load();
  EXPECT_THAT(run_orders(workload.ranks[0]), ElementsAre(1, 0));
  EXPECT_THAT(set.warnings, SizeIs(1));
  EXPECT_TRUE(TimelessRun(workload).completes());
}

TEST(RunOrder, OracleSeesADeadlock) {
  TraceSet set({reversed(8), reversed(8)});
  Workload workload = set.load();
  for (RankTrace& trace : workload.ranks) {
    for (Node& node : trace.nodes) node.run_order = node.sequence;
  }
  EXPECT_FALSE(TimelessRun(workload).completes());
}

/// Random collectives of three groups in an order that can run, written to the files in another order. Seeded.
std::vector<Nodes> shuffled_ranks(uint64_t seed) {
  constexpr uint32_t kRanks = 4, kCollectives = 12;
  const std::vector<std::vector<uint32_t>> members = {{0, 1, 2, 3}, {0, 1}, {1, 2, 3}};
  const char* names[] = {"all4", "low", "high"};
  Random random(seed);
  std::vector<uint32_t> group(kCollectives), file_order(kCollectives);
  for (uint32_t c = 0; c < kCollectives; ++c) {
    group[c] = static_cast<uint32_t>(random.below(3));
    file_order[c] = c;
  }
  for (uint32_t c = kCollectives; c > 1; --c) std::swap(file_order[c - 1], file_order[random.below(c)]);
  std::vector<Nodes> ranks(kRanks);
  for (const uint32_t c : file_order) {
    for (const uint32_t rank : members[group[c]]) {
      Make node = collective(100 + c, "c" + std::to_string(c));
      node.size(int64_t{8} * (c + 1)).group(names[group[c]]);
      // A dependency on an earlier collective of this rank, if that one is of a group of the rank.
      const auto parent = static_cast<uint32_t>(random.below(kCollectives));
      if (parent < c && std::ranges::find(members[group[parent]], rank) != members[group[parent]].end()) {
        node.after({100u + parent});
      }
      ranks[rank].push_back(node);
    }
  }
  return ranks;
}

TEST(RunOrder, NeverDeadlocksAndIsTheSameAtAllMembers) {
  size_t reordered = 0;
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    TraceSet set(shuffled_ranks(seed));
    set.groups(R"({"all4": [0, 1, 2, 3], "low": [0, 1], "high": [1, 2, 3]})");
    const Workload workload = set.load();
    reordered += set.warnings.size();
    EXPECT_TRUE(TimelessRun(workload).completes()) << "seed " << seed;
    std::map<std::pair<uint32_t, uint32_t>, uint32_t> order;  // by group and sequence
    for (const RankTrace& trace : workload.ranks) {
      for (const Node& node : trace.nodes) {
        const auto [known, added] = order.try_emplace({node.group.value, node.sequence}, node.run_order);
        EXPECT_EQ(known->second, node.run_order) << "seed " << seed << " node " << node.name;
      }
    }
  }
  // Both branches are taken: with 12 shuffled collectives most sets, but not all, contradict their file order.
  EXPECT_GT(reordered, 0u);
  EXPECT_LT(reordered, 40u);
}

TEST(Graph, FindsACycleAndNoneWhereThereIsNone) {
  const std::vector<Edge> diamond = {{0, 1}, {0, 2}, {1, 3}, {2, 3}};
  EXPECT_THAT(find_cycle(make_graph(4, diamond)), IsEmpty());
  const std::vector<Edge> tail_and_cycle = {{0, 1}, {1, 2}, {2, 3}, {3, 1}};
  EXPECT_THAT(find_cycle(make_graph(4, tail_and_cycle)), ElementsAre(1, 2, 3));
  EXPECT_THAT(find_cycle(make_graph(0, {})), IsEmpty());
}

TEST(Graph, IsNotLimitedByTheStack) {
  constexpr uint32_t kLength = 1'000'000;
  std::vector<Edge> chain;
  for (uint32_t v = 0; v + 1 < kLength; ++v) chain.push_back({v, v + 1});
  EXPECT_THAT(find_cycle(make_graph(kLength, chain)), IsEmpty());
}

}  // namespace
}  // namespace rankwire

// Workloads that are looked at and not run: of what communicates alike one node is kept.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <tuple>

#include "tests/workload/trace_set.h"

namespace rankwire {
namespace {

using namespace rankwire::testing;  // NOLINT: the vocabulary of this file
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Workload folded(TraceSet& set) {
  set.options.stream_above = 0;
  set.options.fold = true;
  return set.load();
}

/// What a rank sends or takes part in, and how often.
using Sums = std::map<std::tuple<uint32_t, NodeKind, CollectiveKind, uint32_t, uint32_t, int64_t>, uint64_t>;

Sums sums(const Workload& workload) {
  Sums result;
  for (uint32_t rank = 0; rank < workload.ranks.size(); ++rank) {
    const RankTrace& trace = workload.ranks[rank];
    for (const uint32_t n : trace.communicating) {
      const Node& node = trace.nodes[n];
      result[{rank, node.kind, node.collective, node.group.value, node.peer.value, node.bytes.count}] +=
          trace.times_of(n);
    }
  }
  return result;
}

/// Three ranks that pass on `steps` messages of two sizes, with an all-reduce of the last two and one of all each time.
std::vector<Nodes> steps_of_three(int64_t steps) {
  std::vector<Nodes> ranks;
  for (int64_t rank = 0; rank < 3; ++rank) {
    Nodes nodes;
    uint64_t id = 0;
    const auto next = [&](Make make) {
      if (id > 1) make.after({id - 1});
      nodes.push_back(make);
    };
    for (int64_t step = 0; step < steps; ++step) {
      const int64_t size = 64 * (1 + step % 2);
      next(compute(++id, fmt::format("work {}", step)).micros(1));
      if (rank > 0) next(receive(++id, fmt::format("from {}", step), rank - 1).size(size));
      if (rank < 2) next(send(++id, fmt::format("to {}", step), rank + 1).size(size));
      if (rank > 0) next(collective(++id, "pair").size(32).group("pair"));
      next(collective(++id, fmt::format("all {}", step)).size(size));
    }
    ranks.push_back(std::move(nodes));
  }
  return ranks;
}

class FoldedWorkload : public ::testing::Test {
 protected:
  static void group(TraceSet& set) { set.groups(R"({"pair": [1, 2]})"); }
};

TEST_F(FoldedWorkload, HasTheSameOperationsInFewNodes) {
  TraceSet set(steps_of_three(40));
  group(set);
  const Sums expected = sums(set.load());
  const Workload workload = folded(set);
  ASSERT_TRUE(workload.folded);
  EXPECT_EQ(sums(workload), expected);
  EXPECT_THAT(set.warnings, IsEmpty());
  // Of the middle rank: two sizes of RECV, SEND and all-reduce, and the pair's.
  EXPECT_EQ(workload.ranks[1].nodes.size(), 7u);
  EXPECT_THAT(workload.ranks[1].times, ElementsAre(20, 20, 40, 20, 20, 20, 20));
  EXPECT_EQ(workload.ranks[1].streamed->nodes, 200u);
  EXPECT_EQ(workload.ranks[1].streamed->operations, 40u);
  EXPECT_EQ(workload.groups[workload.ranks[1].nodes[2].group.value].name, "pair");
}

TEST_F(FoldedWorkload, NamesOfSendsStayApartButForTheirNumbers) {
  const auto sends = [](const std::string& second) {
    return Nodes{send(1, "gradient 1", 1).size(8), send(2, second, 1).size(8).after({1})};
  };
  const Nodes receives = {receive(1, "a", 0).size(8), receive(2, "b", 0).size(8).after({1})};
  TraceSet alike({sends("gradient 2"), receives}), apart({sends("weights 2"), receives});
  EXPECT_THAT(folded(alike).ranks[0].times, ElementsAre(2));
  EXPECT_THAT(folded(apart).ranks[0].times, ElementsAre(1, 1));
}

/// Of a set that cannot be folded: it is loaded, or refused, as without.
void expect_unfolded(TraceSet& set, const std::string& error) {
  set.options.stream_above = 0;
  const std::string without = set.error();
  EXPECT_THAT(without, HasSubstr(error));
  set.options.fold = true;
  EXPECT_EQ(set.error(), without);
  if (!error.empty()) return;
  const Workload workload = set.load();
  EXPECT_FALSE(workload.folded);
  EXPECT_FALSE(workload.streaming.empty());
}

TEST_F(FoldedWorkload, WhatIsWrongIsToldAsWithAllNodes) {
  const auto two = [](const Nodes& first, const Nodes& second) { return TraceSet({first, second}); };
  TraceSet size = two({collective(1, "a").size(8)}, {collective(1, "b").size(16)});
  expect_unfolded(size, "is all_reduce of 16 bytes, but on");
  TraceSet order = two({collective(1, "a").size(8), collective(2, "b").size(16)},
                       {collective(1, "a").size(16), collective(2, "b").size(8)});
  expect_unfolded(order, "collective 0 of group");
  TraceSet number = two({collective(1, "a").size(8), collective(2, "a").size(8)}, {collective(1, "a").size(8)});
  expect_unfolded(number, "node 2 \"a\": collective 1 of group");
  TraceSet member = two({collective(1, "a").size(8)}, {compute(1, "b")});
  expect_unfolded(member, "has no counterpart in");
  TraceSet root = two({collective(1, "a", CollectiveKind::kBroadcast).size(8).integer("root", 0)},
                      {collective(1, "a", CollectiveKind::kBroadcast).size(8).integer("root", 1)});
  expect_unfolded(root, "with root 1, but on");
  TraceSet message = two({send(1, "a", 1).size(8)}, {receive(1, "b", 0).size(16)});
  expect_unfolded(message, "sends 8 bytes, but its counterpart");
  TraceSet tag = two({send(1, "a", 1).size(8).integer("comm_tag", 3)}, {receive(1, "b", 0).size(8)});
  expect_unfolded(tag, "has no counterpart in");
  TraceSet circle = two({receive(1, "a", 1).size(8), send(2, "b", 1).size(8).after({1})},
                        {receive(1, "a", 0).size(8), send(2, "b", 0).size(8).after({1})});
  expect_unfolded(circle, "the ranks wait for each other");
}

TEST_F(FoldedWorkload, WhatMustBeKnownOfEachNodeIsNotFolded) {
  // One after the other the ranks would wait: each receives first, but its SEND does not depend on that.
  TraceSet crossed(
      {{receive(1, "a", 1).size(8), send(2, "b", 1).size(8)}, {receive(1, "a", 0).size(8), send(2, "b", 0).size(8)}});
  expect_unfolded(crossed, "");
  TraceSet forward({{collective(1, "a").size(8).after({2}), compute(2, "b")}, {collective(1, "a").size(8)}});
  expect_unfolded(forward, "");
  const Nodes split = {collective(1, "a", CollectiveKind::kAllToAll).size(8).text("comm_splits", "[4, 4]")};
  TraceSet splits({split, split});
  expect_unfolded(splits, "");
  TraceSet selected({{collective(1, "a").size(8)}, {collective(1, "a").size(8)}});
  selected.options.select.names = {"a"};
  expect_unfolded(selected, "");
}

TEST_F(FoldedWorkload, TracesInMemoryStayWhole) {
  TraceSet set(steps_of_three(2));
  group(set);
  set.options.fold = true;
  EXPECT_FALSE(set.load().folded);
}

}  // namespace
}  // namespace rankwire

// Traces written node by node.
#include "converters/node_list.h"

#include "converters/micro_cases.h"
#include "tests/converters/generated.h"

namespace rankwire {
namespace {

using namespace rankwire::testing;  // NOLINT: the vocabulary of this file
using ::testing::ElementsAre;
using ::testing::SizeIs;

ListedNode sum_of(std::vector<uint32_t> ranks, Bytes size) {
  return {.name = "sum", .ranks = std::move(ranks), .kind = ActionKind::kAllReduce, .size = size};
}

class NodeList : public ::testing::Test {
 protected:
  std::vector<std::vector<WrittenNode>> write(const std::vector<ListedNode>& nodes) {
    const std::string prefix = folder_ / ("list" + std::to_string(sets_++));
    const GeneratedTraces traces = write_node_list(nodes, prefix);
    expect_valid(traces, prefix);
    std::vector<std::vector<WrittenNode>> ranks;
    for (uint32_t rank = 0; rank < traces.ranks; ++rank) ranks.push_back(read_written(trace_file(prefix, rank)));
    return ranks;
  }

  TemporaryFolder folder_;
  int sets_ = 0;
};

TEST_F(NodeList, AnEntryIsANodeOfEachRank) {
  const auto ranks =
      write({{.name = "work", .ranks = {0, 1}, .duration = microseconds(7)},
             {.name = "sum", .ranks = {1, 0}, .kind = ActionKind::kAllReduce, .size = Bytes(64), .after = {"work"}},
             {.name = "tell", .ranks = {1}, .kind = ActionKind::kSend, .size = Bytes(8), .peers = {3}, .tag = 5},
             {.name = "hear", .ranks = {3}, .kind = ActionKind::kReceive, .size = Bytes(8), .peers = {1}, .tag = 5}});
  ASSERT_THAT(ranks, SizeIs(4));
  EXPECT_EQ(node_named(ranks[0], "work").micros, 7u);
  const WrittenNode& sum = node_named(ranks[0], "sum");
  EXPECT_EQ(sum.size, 64);
  EXPECT_EQ(sum.group, "1,0");
  EXPECT_THAT(sum.after, ElementsAre(0));
  EXPECT_EQ(node_named(ranks[1], "tell").destination, 3);
  EXPECT_THAT(node_named(ranks[1], "tell").after, ElementsAre());
  EXPECT_EQ(node_named(ranks[3], "hear").source, 1);
  EXPECT_EQ(node_named(ranks[3], "hear").tag, 5);
  // Rank 2 is there, and does nothing.
  ASSERT_THAT(ranks[2], SizeIs(1));
  EXPECT_EQ(ranks[2].front().micros, 0u);
}

TEST_F(NodeList, IterationsFollowEachOther) {
  const auto ranks = write({{.name = "a", .ranks = {0}, .duration = microseconds(1), .iterations = 3},
                            {.name = "b", .ranks = {0}, .duration = microseconds(1), .after = {"a"}}});
  ASSERT_THAT(ranks[0], SizeIs(4));
  EXPECT_EQ(ranks[0][2].name, "a.2");
  EXPECT_THAT(ranks[0][2].after, ElementsAre(1));
  EXPECT_THAT(node_named(ranks[0], "b").after, ElementsAre(2));
}

TEST_F(NodeList, WhatFollowsSeveralMessagesFollowsAll) {
  const auto ranks =
      write({{.name = "tell", .ranks = {1, 2}, .kind = ActionKind::kSend, .size = Bytes(8), .peers = {0}},
             {.name = "hear", .ranks = {0}, .kind = ActionKind::kReceive, .size = Bytes(8), .peers = {1, 2}},
             {.name = "work", .ranks = {0}, .duration = microseconds(1), .after = {"hear"}}});
  EXPECT_THAT(node_named(ranks[0], "work").after, ElementsAre(0, 1));
}

// 2^50 B can be, one more cannot: whoever counts the nodes learns it before anything is written.
TEST_F(NodeList, NoOperationIsLargerThanAnyRunTakes) {
  const Bytes most(int64_t{1} << 50);
  EXPECT_EQ(node_named(write({sum_of({0, 1}, most)})[0], "sum").size, most.count);
  expect_refused("sum: 1125899906842625 B, more than the 1125899906842624 that an operation can have", [&] {
    write_node_list({sum_of({0, 1}, most + Bytes(1))}, NodeFiles::only_counted(nullptr));
  });
}

std::string wrong(const std::vector<ListedNode>& nodes) {
  const auto found = wrong_node_list(nodes);
  return found ? fmt::format("[{}].{}: {}", found->entry, found->key, found->text) : "";
}

TEST(NodeListRules, MembersAgree) {
  ListedNode first = sum_of({0}, Bytes(8)), second = sum_of({1}, Bytes(8));
  first.group = second.group = {0, 1};
  EXPECT_EQ(wrong({first, second}), "");
  second.size = Bytes(16);
  EXPECT_EQ(wrong({first, second}), "[1].bytes: 16 B of rank 1 meet the 8 B of entry [0]");
  second.size = Bytes(8), second.kind = ActionKind::kAllToAll;
  EXPECT_EQ(wrong({first, second}), "[1].kind: all_to_all of rank 1 meets the all_reduce of entry [0]");
  second.kind = ActionKind::kAllReduce, second.iterations = 2;
  EXPECT_EQ(wrong({first, second}), "[1].group: rank 1 of 0-1 calls it 2 time(s), rank 0 1");
  EXPECT_EQ(wrong({second}), "[0].group: rank 0 of 0-1 calls it 0 time(s), rank 1 2");
  EXPECT_EQ(wrong({sum_of({3}, Bytes(8))}), "[0].ranks: 3 is one rank; a collective has 2 or more");
}

TEST(NodeListRules, RootsAreMembers) {
  ListedNode node = sum_of({1, 2}, Bytes(8));
  node.kind = ActionKind::kBroadcast;
  EXPECT_EQ(wrong({node}), "[0].root: 0 is none of the ranks 1-2");
  node.root = 2;
  EXPECT_EQ(wrong({node}), "");
  node.kind = ActionKind::kAllReduce;
  EXPECT_EQ(wrong({node}), "[0].root: is not for 'kind: all_reduce', but for reduce, gather, scatter and broadcast");
}

TEST(NodeListRules, AListHasAnEnd) {
  ListedNode node = {.name = "a", .ranks = std::vector<uint32_t>(101), .iterations = 100'000};
  for (uint32_t rank = 0; rank <= 100; ++rank) node.ranks[rank] = rank;
  EXPECT_EQ(wrong({node}), "[0].iterations: makes the list 10100000 nodes long; the most are 10000000");
}

TEST_F(NodeList, EveryMicroCaseButTheWrongOnesIsRight) {
  for (const uint32_t ranks : {2, 3, 8}) {
    for (const MicroCase& micro : micro_cases()) {
      SCOPED_TRACE(fmt::format("{} of {} ranks", micro.name, ranks));
      const std::vector<ListedNode> nodes = micro.nodes({.ranks = ranks});
      EXPECT_EQ(wrong(nodes).empty(), !micro.expected.starts_with("refused")) << wrong(nodes);
      if (!micro.expected.starts_with("refused")) write(nodes);
    }
  }
}

}  // namespace
}  // namespace rankwire

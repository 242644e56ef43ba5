#include "emulator/traces/replicate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/traces/planted.h"

namespace rankwire {
namespace {

using namespace rankwire::testing;  // NOLINT: the vocabulary of this file
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::ThrowsMessage;

struct Replicas {
  TemporaryFolder folder;
  ReplicatedSet made;

  Replicas(const TraceSet& set, uint32_t replicas, std::vector<std::string> across = {})
      : made(replicate(check(set).set, {replicas, std::move(across), folder / "copy/r"})) {}
  CheckedSet checked() const { return check({folder / "copy/r"}); }
};

/// "name: member member" of each group.
std::vector<std::string> texts(const std::vector<Group>& groups) {
  std::vector<std::string> list;
  for (const Group& group : groups) {
    std::string text = group.name + ":";
    for (const RankId member : group.members) text += " " + std::to_string(member.value);
    list.push_back(text);
  }
  return list;
}

TEST(Replicate, ALoneRankBecomesARunOfSeveral) {
  const Replicas replicas(TraceSet({sound()[0]}), 3);
  EXPECT_EQ(replicas.made.ranks, 3u);
  EXPECT_EQ(replicas.made.nodes, 9u);
  EXPECT_THAT(replicas.made.across, ElementsAre(""));
  const CheckedSet checked = replicas.checked();
  EXPECT_THAT(summaries(checked), IsEmpty());
  EXPECT_EQ(checked.set.groups.front().members.size(), 3u);
}

TEST(Replicate, GroupsOfOneReplicaAreCopiedAndPeersMove) {
  const auto rank = [](Make message) {
    return Nodes{all_reduce(1, {}).group("1"), all_reduce(2, {}).group("dp"), message.size(64)};
  };
  TraceSet set({rank(send(3, "out", 1)), rank(receive(3, "in", 0))});
  set.groups(R"({"1": [1, 0], "dp": [0, 1]})");
  const Replicas replicas(set, 2, {"dp"});
  EXPECT_THAT(texts(replicas.made.groups), ElementsAre("1: 1 0", "2: 3 2", "dp: 0 1 2 3"));
  const CheckedSet checked = replicas.checked();
  EXPECT_THAT(summaries(checked), IsEmpty());
  EXPECT_EQ(checked.set.ranks[2].nodes[2].destination, 3);
  EXPECT_EQ(checked.set.ranks[3].nodes[2].source, 2);
}

// Ranks 2 and 3 have no trace: the group of 0 and 2 gets the replica of 0 instead.
TEST(Replicate, ReplicasStandInForMembersWithoutATrace) {
  TraceSet set({{all_reduce(1, {}).group("a")}, {all_reduce(1, {}).group("b")}});
  set.groups(R"({"a": [0, 2], "b": [1, 3]})");
  const Replicas replicas(set, 2);
  EXPECT_THAT(texts(replicas.made.groups), ElementsAre("a: 0 2", "b: 1 3"));
  EXPECT_THAT(summaries(replicas.checked()), IsEmpty());
}

TEST(Replicate, MetadataNamesTheNewGroups) {
  const Nodes nodes = {
      Make(chakra::METADATA_NODE, 0, "## process_group:init ##").values(R"([{"pg_name": "7", "ranks": [0]}])"),
      all_reduce(1, {}).group("7")};
  const Replicas replicas(TraceSet({nodes}), 2, {"7"});
  EXPECT_THAT(summaries(replicas.checked()), IsEmpty());
  const std::vector<GroupDefinition> groups = replicas.checked().set.ranks[1].groups;
  ASSERT_EQ(groups.size(), 1u);
  EXPECT_EQ(groups.front().name, "7");
  EXPECT_THAT(groups.front().ranks, ElementsAre(0, 1));
}

// The groups come last: where their file cannot be, the traces before it do not stay either.
TEST(Replicate, LeavesAllOrNothing) {
  TraceSet set({{all_reduce(1, {}).group("a")}, {all_reduce(1, {}).group("b")}});
  set.groups(R"({"a": [0, 2], "b": [1, 3]})");
  const TemporaryFolder folder;
  std::ofstream(folder / "r.json") << "mine";
  EXPECT_THAT(
      [&] {
        replicate(check(set).set, {2, {}, folder / "r"});
      },
      ThrowsMessage<Error>(HasSubstr("r.json: exists already")));
  EXPECT_FALSE(std::filesystem::exists(folder / "r.0.et"));
  EXPECT_EQ(std::filesystem::file_size(folder / "r.json"), 4u);
}

TEST(Replicate, WhatCannotBe) {
  EXPECT_THAT([] { Replicas(TraceSet(sound()), 2, {"tp"}); }, ThrowsMessage<Error>(HasSubstr("--across tp")));
  EXPECT_THAT([] { Replicas(TraceSet({{send(1, "out", 3).size(8)}}), 2); },
              ThrowsMessage<Error>(HasSubstr("comm_dst is 3, which has no trace")));
  const Nodes uneven = {collective(1, "x", CollectiveKind::kAllToAll).size(8).text("comm_splits", "[3, 5]")};
  EXPECT_THAT(
      [&] {
        Replicas(TraceSet({uneven, uneven}), 2);
      },
      ThrowsMessage<Error>(HasSubstr("comm_splits name the members of one replica")));
}

}  // namespace
}  // namespace rankwire

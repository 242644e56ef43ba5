#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "emulator/workload/process_groups.h"
#include "tests/temporary_folder.h"
#include "tests/workload/trace_set.h"

namespace rankwire {
namespace {

using namespace rankwire::testing;  // NOLINT: the vocabulary of this file
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::vector<uint32_t> members(const Group& group) {
  std::vector<uint32_t> ranks;
  for (const RankId member : group.members) ranks.push_back(member.value);
  return ranks;
}

Nodes calls(const std::string& group) {
  return {collective(1, "c").size(8).group(group)};
}

TEST(Groups, KeysOfTheFileMayBeAnyTextAndAreSorted) {
  TraceSet set({calls("pp_0_tp_0"), calls("pp_0_tp_0"), calls("pp_0_tp_0")});
  set.groups(R"({"zz": [2], "pp_0_tp_0": [2, 0, 1], "10": [0]})");
  const Workload workload = set.load();
  ASSERT_THAT(workload.groups, SizeIs(3));
  EXPECT_EQ(workload.groups[0].name, "10");
  EXPECT_EQ(workload.groups[2].name, "zz");
  EXPECT_THAT(members(workload.groups[1]), ElementsAre(2, 0, 1));
  EXPECT_EQ(workload.ranks[0].nodes[0].group, GroupId(1));
}

TEST(Groups, UnnamedAndZeroMeanAllRanks) {
  const Nodes nodes = {collective(1, "absent").size(8), collective(2, "empty").size(8).group(""),
                       collective(3, "zero").size(8).group("0")};
  TraceSet set({nodes, nodes});
  const Workload workload = set.load();
  ASSERT_THAT(workload.groups, SizeIs(1));
  EXPECT_EQ(workload.groups[0].name, "all");
  EXPECT_THAT(members(workload.groups[0]), ElementsAre(0, 1));
  EXPECT_EQ(workload.ranks[1].nodes[2].sequence, 2u);
}

TEST(Groups, ZeroIsTheFilesGroupWhereItHasOne) {
  TraceSet set({calls("0"), {compute(1, "idle")}});
  set.groups(R"({"0": [0]})");
  EXPECT_THAT(members(set.load().groups[0]), ElementsAre(0));
}

TEST(Groups, LegacyCommGroupIsANumber) {
  const Nodes nodes = {collective(1, "c").size(8).integer("comm_group", 7)};
  TraceSet set({nodes, nodes});
  set.groups(R"({"7": [0, 1]})");
  EXPECT_EQ(set.load().ranks[0].nodes[0].group, GroupId(0));
}

chakra::Node init(const std::string& values) {
  return Make(chakra::METADATA_NODE, 90, "## process_group:init ##").values(values);
}

TEST(Groups, MetadataDefinesThem) {
  const Nodes nodes = {
      collective(1, "c").size(8).group("0"), collective(2, "d").size(8).group("ep"),
      init(R"(['[{"pg_name": "0", "pg_desc": "default_pg", "ranks": []}, {"pg_name": "ep", "ranks": [1, 0]}]'])")};
  TraceSet set({nodes, nodes});
  const Workload workload = set.load();
  ASSERT_THAT(workload.groups, SizeIs(2)) << "equal definitions of two ranks are one group";
  EXPECT_THAT(members(workload.groups[0]), ElementsAre(0, 1)) << "no ranks: all";
  EXPECT_THAT(members(workload.groups[1]), ElementsAre(1, 0));
}

TEST(Groups, OneNameMayBeTwoGroupsOnDifferentRanks) {
  const auto rank = [](const std::string& ranks) -> Nodes {
    return {init(R"(['[{"pg_name": "1", "ranks": )" + ranks + "}]']"), collective(1, "c").size(8).group("1")};
  };
  TraceSet set({rank("[0, 1]"), rank("[0, 1]"), rank("[2, 3]"), rank("[2, 3]")});
  const Workload workload = set.load();
  ASSERT_THAT(workload.groups, SizeIs(2));
  EXPECT_EQ(workload.ranks[1].nodes[1].group, GroupId(0));
  EXPECT_EQ(workload.ranks[2].nodes[1].group, GroupId(1));
}

TEST(Groups, TheFileGoesBeforeMetadata) {
  TraceSet set({{init(R"(['[{"pg_name": "g", "ranks": [0]}]'])"), collective(1, "c").size(8).group("g")}, calls("g")});
  set.groups(R"({"g": [0, 1]})");
  EXPECT_THAT(members(set.load().groups[set.load().ranks[0].nodes[1].group.value]), ElementsAre(0, 1));
}

TEST(Groups, OfOneMemberAreFine) {
  TraceSet set({calls("me"), {compute(1, "idle")}});
  set.groups(R"({"me": [0]})");
  EXPECT_EQ(set.load().ranks[0].nodes[0].kind, NodeKind::kCollective);
}

TEST(ProcessGroups, AreReadAsJsonAndAsPythonPrintsThem) {
  for (const char* text : {
           R"([{"pg_name": "dp's", "ranks": [0, 3]}])",
           R"(["[{\"pg_name\": \"dp's\", \"ranks\": [0, 3]}]"])",
           R"([{'pg_name': "dp's", 'pg_desc': None, 'last': True, 'ranks': (0, 3)}])",
           R"(['[{"pg_name": "dp\'s", "backend_config": "cuda:nccl", "ranks": [0, 3], "group_size": 2}]'])",
       }) {
    const std::vector<GroupDefinition> groups = parse_process_groups(text);
    ASSERT_THAT(groups, SizeIs(1)) << text;
    EXPECT_EQ(groups[0].name, "dp's") << text;
    EXPECT_THAT(groups[0].ranks, ElementsAre(0, 3)) << text;
  }
}

TEST(ProcessGroups, NumbersAreNamesAndNoneIsNoGroup) {
  EXPECT_EQ(parse_process_groups("[{'pg_name': 4, 'ranks': []}]").at(0).name, "4");
  EXPECT_THAT(parse_process_groups("[]"), IsEmpty());
}

TEST(ProcessGroups, WhatIsNoListOfGroupsIsAnError) {
  for (const char* text : {"", "['[{]", "{'pg_name': 'a'}", "[3]", "['never closed", "[{'pg_name': 'a', 'ranks': 'b'}]",
                           "[{'pg_name': 'a', 'ranks': [1.5]}]"}) {
    EXPECT_THROW(parse_process_groups(text), Error) << text;
  }
}

TEST(GroupsBeside, AreThoseOfThePrefixOrOfAllItsFiles) {
  TemporaryFolder folder;
  const std::string prefix = (folder / "w").string(), groups = prefix + ".json";
  for (const char* file : {"w.0.et", "w.1.et", "v.1.et"}) std::ofstream(folder / file) << "trace";
  EXPECT_EQ(groups_beside({prefix}), "");
  std::ofstream(groups) << R"({"pair": [0, 1]})";
  EXPECT_EQ(groups_beside({prefix}), groups);
  EXPECT_EQ(groups_beside({prefix + ".0.et", prefix + ".1.et"}), groups);
  EXPECT_EQ(groups_beside({prefix + ".0.et"}), "") << "rank 1 of the group is not among the files";
  EXPECT_EQ(groups_beside({prefix + ".0.et", (folder / "v.1.et").string()}), "") << "files of two prefixes";
  for (const char* other : {R"(["no", "groups"])", R"({"schema": "1.1.0", "nodes": [1]})", R"({"nodes": [{"id": 1}]})",
                            R"({"share": [0.5]})", "{", ""}) {
    std::ofstream(groups) << other;
    EXPECT_EQ(groups_beside({prefix}), "") << other;
  }
}

TEST(GroupsBeside, AreAnErrorWhereTheyBeginAsGroupsAndAreNone) {
  TemporaryFolder folder;
  const std::string prefix = (folder / "w").string(), groups = prefix + ".json";
  std::ofstream(folder / "w.0.et") << "trace";
  for (const char* wrong :
       {R"({"tp_0": [0, 1], "tp_1": [2, )", R"({"tp_0": [0, 1], "tp_1": "2, 3"})", R"({"a": [0], "b": []})"}) {
    std::ofstream(groups) << wrong;
    try {
      groups_beside({prefix});
      ADD_FAILURE() << "taken: " << wrong;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kInput);
      EXPECT_EQ(std::string_view(error.what()).substr(0, groups.size() + 1), groups + ":");
    }
  }
}

TEST(GroupsFile, NamesTheLineThatIsNoJson) {
  TemporaryFolder folder;
  const std::string groups = (folder / "w.json").string();
  std::ofstream(groups) << "{\"tp_0\": [0, 1],\n \"tp_1\": [2, 3],\n \"tp_2\": [4, }\n";
  try {
    read_groups_file(groups);
    ADD_FAILURE();
  } catch (const Error& error) {
    const std::string_view text = error.what();
    EXPECT_TRUE(text.starts_with(groups + ":3: is no file of process groups: ")) << text;
    EXPECT_EQ(text.find("json.exception"), text.npos) << text;
  }
}

}  // namespace
}  // namespace rankwire

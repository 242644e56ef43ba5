#include "emulator/traces/repair.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "tests/traces/planted.h"

namespace rankwire {
namespace {

using namespace rankwire::testing;  // NOLINT: the vocabulary of this file
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::IsEmpty;

/// The nodes of a file.
Nodes read_nodes(const std::string& path) {
  Nodes nodes;
  TraceReader reader(path);
  for (TraceNode node; reader.next(node);) {
    chakra::Node message;
    EXPECT_TRUE(message.ParseFromArray(reader.frame().data(), static_cast<int>(reader.frame().size())));
    nodes.push_back(message);
  }
  return nodes;
}

std::vector<uint64_t> dependencies(const chakra::Node& node) {
  return {node.data_deps().begin(), node.data_deps().end()};
}

/// A repaired copy in a folder of its own.
struct Repaired {
  TemporaryFolder folder;
  std::vector<RepairChange> changes;

  explicit Repaired(const TraceSet& set, const CheckOptions& options = {}, const RepairOptions& further = {})
      : changes(repair_set(check(set, options), options, folder.path() / "copy", further)) {}
  std::string prefix() const { return folder / "copy/w"; }
  Nodes rank(uint32_t rank) const { return read_nodes(prefix() + "." + std::to_string(rank) + ".et"); }
};

class Repairing : public ::testing::TestWithParam<Planted> {};

TEST_P(Repairing, TheCopyIsCleanAndLoads) {
  TraceSet set;
  GetParam().write(set);
  const Repaired repaired(set, GetParam().options);
  EXPECT_THAT(repaired.changes, ::testing::Not(IsEmpty()));
  const CheckedSet copy = check({repaired.prefix()});
  EXPECT_EQ(copy.findings.count(Severity::kError), 0u) << to_text(copy.findings.list(), true);
  EXPECT_EQ(copy.findings.count(Severity::kWarning), 0u) << to_text(copy.findings.list(), true);
  WorkloadOptions options;
  options.traces = {repaired.prefix()};
  Warnings warnings;
  EXPECT_NO_THROW(load_workload(options, warnings));
}

std::vector<Planted> repairable() {
  std::vector<Planted> list = planted();
  std::erase_if(list, [](const Planted& plant) { return !plant.repairable; });
  return list;
}

INSTANTIATE_TEST_SUITE_P(All, Repairing, ::testing::ValuesIn(repairable()),
                         [](const auto& given) { return std::string(given.param.name); });

TEST(Repair, SoundTracesStayAsTheyAre) {
  const Repaired repaired{TraceSet(sound())};
  EXPECT_THAT(repaired.changes, IsEmpty());
  const Nodes nodes = repaired.rank(1);
  ASSERT_EQ(nodes.size(), 3u);
  for (size_t i = 0; i < nodes.size(); ++i) {
    EXPECT_EQ(nodes[i].SerializeAsString(), sound()[1][i].SerializeAsString()) << i;
  }
}

// Kernels 2, 4 and 6 are of stream 7, 5 and 7 of stream 8; 5 and 7 communicate.
TEST(Repair, KernelsFollowEachOtherInTheirStreams) {
  const auto reduce = [](uint64_t id, Ids after) { return all_reduce(id, after).integer("stream", 8); };
  const Nodes nodes = {on_host(1),     kernel(2, {1}), on_host(3, {1}), kernel(4, {3}),
                       reduce(5, {3}), kernel(6, {3}), reduce(7, {3})};
  const Repaired repaired{TraceSet({nodes, nodes})};
  std::vector<std::vector<uint64_t>> lists;
  for (const chakra::Node& node : repaired.rank(0)) lists.push_back(dependencies(node));
  using List = std::vector<uint64_t>;
  EXPECT_THAT(lists, ElementsAre(List{}, List{1}, List{1}, List{3, 2}, List{3, 4}, List{3, 4}, List{3, 5, 6}));
}

TEST(Repair, OfACycleTheDependencyThatReachesFurthestAheadIsDropped) {
  const Nodes nodes = {step(1, {4}), step(2, {1}), step(3, {2}), step(4, {3})};
  const Repaired repaired{TraceSet({nodes})};
  EXPECT_THAT(dependencies(repaired.rank(0)[0]), IsEmpty());
  EXPECT_THAT(dependencies(repaired.rank(0)[3]), ElementsAre(3));
}

TEST(Repair, ElementsBecomeBytesOnce) {
  const Nodes nodes = {step(1).integer("tensor_size", 100), all_reduce(2, {1}, 1000)};
  const CheckOptions options{.element_size = Bytes(2)};
  const Repaired repaired(TraceSet({nodes, nodes}), options);
  const Nodes copy = repaired.rank(0);
  EXPECT_EQ(copy[0].attr(0).int64_val(), 200);
  EXPECT_EQ(copy[1].attr(1).int64_val(), 2000);
  EXPECT_EQ(TraceReader(repaired.prefix() + ".0.et").metadata()->attributes,
            (std::vector<std::pair<std::string, std::string>>{{kSizeUnit, "bytes"}}));
}

TEST(Repair, SplitsBecomeBytesWithTheirSum) {
  const auto exchange = [](const char* splits) {
    return Nodes{collective(1, "x", CollectiveKind::kAllToAll).size(8).text("comm_splits", splits)};
  };
  const CheckOptions options{.element_size = Bytes(4)};
  const Repaired repaired(TraceSet({exchange("[3, 5]"), exchange("[8, 0]")}), options);
  EXPECT_EQ(repaired.rank(0)[0].attr(1).int64_val(), 32);
  EXPECT_EQ(repaired.rank(0)[0].attr(2).string_val(), "[12, 20]");
}

TEST(Repair, TagsAreUniqueAfterwardsAndMessagesKeepTheirPartners) {
  TraceSet set({{send(1, "a", 1).size(64), send(2, "b", 1).size(128), send(3, "c", 1).size(32).integer("comm_tag", 1)},
                {receive(1, "a", 0).size(64), receive(2, "b", 0).size(128),
                 receive(3, "c", 0).size(32).integer("comm_tag", 1)}});
  const Repaired repaired(set);
  const auto tags = [](const Nodes& nodes) {
    std::vector<int64_t> list;
    for (const chakra::Node& node : nodes) {
      int64_t tag = 0;
      for (const chakra::AttributeProto& attribute : node.attr()) {
        if (attribute.name() == "comm_tag") tag = attribute.int64_val();
      }
      list.push_back(tag);
    }
    return list;
  };
  EXPECT_THAT(tags(repaired.rank(0)), ElementsAre(0, 2, 1));  // 0 and 1 are used
  EXPECT_THAT(tags(repaired.rank(1)), ElementsAreArray(tags(repaired.rank(0))));
}

/// A SEND and a RECV of rank 0 that rank 1 knows nothing of, between steps, beside a message that both have.
TraceSet one_sided() {
  return TraceSet({{step(1), send(2, "out", 1).after({1}).size(64).integer("comm_tag", 3), step(3, {2}),
                    receive(4, "in", 1).after({3}).size(32), step(5, {4})},
                   {step(1), receive(2, "out", 0).after({1}).size(64).integer("comm_tag", 3), step(3, {2})}});
}

std::vector<std::string> errors_of(const Repaired& repaired) {
  std::vector<std::string> errors;
  const CheckedSet copy = check({repaired.prefix()});
  for (const Finding& finding : copy.findings.list()) {
    if (finding.symptom->severity == Severity::kError) errors.push_back(summary(finding));
  }
  return errors;
}

TEST(Repair, UnmatchedEndsStayUnlessSomethingIsAskedFor) {
  EXPECT_THAT(errors_of(Repaired(one_sided())), ElementsAre("unmatched-receive 0: 4"));
}

TEST(Repair, DroppedEndsDoNothingAndKeepTheirPlace) {
  const Repaired repaired(one_sided(), {}, {.unmatched = RepairOptions::Unmatched::kDrop});
  EXPECT_THAT(errors_of(repaired), IsEmpty());
  ASSERT_EQ(repaired.changes.size(), 1u);
  EXPECT_STREQ(repaired.changes[0].finding.symptom->code, "unmatched-receive");
  const Nodes nodes = repaired.rank(0);
  EXPECT_EQ(nodes[1].type(), chakra::COMM_SEND_NODE);
  EXPECT_EQ(nodes[3].type(), chakra::COMP_NODE);
  EXPECT_EQ(nodes[3].duration_micros(), 0u);
  EXPECT_THAT(dependencies(nodes[3]), ElementsAre(3));
  EXPECT_THAT(dependencies(nodes[4]), ElementsAre(4));
}

TEST(Repair, CompletedEndsGetTheOtherOne) {
  const Repaired repaired(one_sided(), {}, {.unmatched = RepairOptions::Unmatched::kComplete});
  EXPECT_THAT(errors_of(repaired), IsEmpty());
  const Nodes nodes = repaired.rank(1);
  ASSERT_EQ(nodes.size(), 4u);
  EXPECT_EQ(nodes[3].id(), 4u);
  EXPECT_EQ(nodes[3].type(), chakra::COMM_SEND_NODE);
  EXPECT_THAT(dependencies(nodes[3]), IsEmpty());
  std::map<std::string, int64_t> values;
  for (const chakra::AttributeProto& attribute : nodes[3].attr()) values[attribute.name()] = attribute.int64_val();
  EXPECT_EQ(values,
            (std::map<std::string, int64_t>{{"comm_src", 1}, {"comm_dst", 0}, {"comm_tag", 0}, {"comm_size", 32}}));
}

// One member's call has a negative size, and one RECV too many bytes: the other member's call and the SEND go, too.
TEST(Repair, AbsurdOperationsAreDroppedAtAllWhoTakePart) {
  const TraceSet set({{all_reduce(1, {}, -1), all_reduce(2, {1}, 8), send(3, "out", 1).after({2}).size(64)},
                      {all_reduce(1, {}, 8), all_reduce(2, {1}, 8), receive(3, "out", 0).after({2}).size(INT64_MAX)}});
  const Repaired repaired(set, {}, {.drop_absurd = true});
  EXPECT_THAT(errors_of(repaired), IsEmpty());
  for (const uint32_t rank : {0u, 1u}) {
    const Nodes nodes = repaired.rank(rank);
    EXPECT_EQ(nodes[0].type(), chakra::COMP_NODE) << rank;
    EXPECT_EQ(nodes[1].type(), chakra::COMM_COLL_NODE) << rank;
    EXPECT_EQ(nodes[2].type(), chakra::COMP_NODE) << rank;
    EXPECT_THAT(dependencies(nodes[2]), ElementsAre(2)) << rank;
  }
}

TEST(Repair, AnAbsurdDurationIsDroppedAndTheOperationStays) {
  const Nodes nodes = {step(1).micros(UINT64_MAX), all_reduce(2, {1}).micros(UINT64_MAX), step(3, {2})};
  const Repaired repaired(TraceSet({nodes, sound()[1]}), {}, {.drop_absurd = true});
  EXPECT_THAT(errors_of(repaired), IsEmpty());
  ASSERT_EQ(repaired.changes.size(), 1u);
  EXPECT_EQ(repaired.changes[0].finding.count, 2u);
  const Nodes copy = repaired.rank(0);
  EXPECT_EQ(copy[0].duration_micros(), 0u);
  EXPECT_EQ(copy[1].type(), chakra::COMM_COLL_NODE);
  EXPECT_EQ(copy[1].duration_micros(), 0u);
  EXPECT_EQ(copy[2].duration_micros(), 10u);
}

// Rank 0's clock shows 5,000 us less than rank 1's, so its times move.
TEST(Repair, ClocksAgreeAfterwards) {
  const auto rank = [](uint64_t start) {
    chakra::Node node = all_reduce(1, {}).micros(100);
    node.set_start_time_micros(start);
    return Nodes{node};
  };
  const Repaired repaired{TraceSet({rank(1000), rank(6000)})};
  EXPECT_EQ(repaired.rank(0)[0].start_time_micros(), 6000u);
  EXPECT_EQ(repaired.rank(1)[0].start_time_micros(), 6000u);
  EXPECT_THAT(summaries(check({repaired.prefix()})), IsEmpty());
}

TEST(Repair, NothingIsOverwritten) {
  const TraceSet set(sound());
  const CheckedSet checked = check(set);
  EXPECT_THROW(repair_set(checked, {}, std::filesystem::path(set.file(0)).parent_path()), Error);
}

TEST(Repair, GroupsComeAlong) {
  TraceSet set({{step(1), all_reduce(2, {1}).group("a")}, {step(1), all_reduce(2, {1}).group("a")}});
  set.groups(R"({"a": [1, 0]})");
  const Repaired repaired(set);
  EXPECT_THAT(summaries(check({repaired.prefix()})), IsEmpty());
}

}  // namespace
}  // namespace rankwire

#include "emulator/traces/select.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/traces/planted.h"

namespace rankwire {
namespace {

using namespace rankwire::testing;  // NOLINT: the vocabulary of this file
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::ThrowsMessage;

/// A part of a set in a folder of its own.
struct Selected {
  TemporaryFolder folder;
  PartOfSet made;

  Selected(const TraceSet& set, PartOptions options) {
    const CheckedSet checked = check(set);
    options.prefix = folder / "part/p";
    const Timing timing = time_operations(checked.set, checked.matches, {});
    made = select_part(checked.set, checked.matches, timing, options);
  }
  CheckedSet checked() const { return check({folder / "part/p"}); }
  /// "id: dependencies" of each node.
  std::vector<std::string> nodes(uint32_t rank) const {
    std::vector<std::string> list;
    const RankFacts facts = read_facts(folder / fmt::format("part/p.{}.et", rank), rank);
    for (uint32_t i = 0; i < facts.nodes.size(); ++i) {
      std::string text = std::to_string(facts.nodes[i].id) + ":";
      for (const uint64_t id : facts.data.of(i)) text += " " + std::to_string(id);
      list.push_back(text);
    }
    return list;
  }
};

/// 1 -> 2 -> 4 -> 5 and 1 -> 3 -> 4.
std::vector<Nodes> diamond() {
  return {{step(1), step(2, {1}), step(3, {1}), step(4, {2, 3}), step(5, {4})}};
}

TEST(Select, DependenciesAreClosedOverWhatIsLeftOut) {
  const Selected selected(TraceSet(diamond()), {.ids = {{1, 3}, {5, 5}}});
  EXPECT_THAT(selected.nodes(0), ElementsAre("1:", "2: 1", "3: 1", "5: 2 3"));
  EXPECT_EQ(selected.made.left_out, 1u);
  EXPECT_THAT(Selected(TraceSet(diamond()), {.ids = {{1, 1}, {5, 5}}}).nodes(0), ElementsAre("1:", "5: 1"));
}

TEST(Select, KindsAndNames) {
  const Nodes nodes = {step(1), all_reduce(2, {1}), compute(3, "softmax").after({2}).micros(1), all_reduce(4, {3})};
  const TraceSet set({nodes, nodes});
  EXPECT_THAT(Selected(set, {.kinds = {"all_reduce"}}).nodes(1), ElementsAre("2:", "4: 2"));
  EXPECT_THAT(Selected(set, {.kinds = {"compute"}, .names = {"soft*"}}).nodes(0), ElementsAre("3:"));
  EXPECT_THAT([&] { Selected(set, {.kinds = {"sleep"}}); }, ThrowsMessage<Error>(HasSubstr("none of all_gather")));
  EXPECT_THAT([&] { Selected(set, {.ids = {{90, 99}}}); }, ThrowsMessage<Error>(HasSubstr("nothing is selected")));
}

// 10 us each, one after the other: the second and third are at work between 12 and 21 us.
TEST(Select, AWindowOfTime) {
  const Nodes nodes = {step(1), step(2, {1}), step(3, {2}), step(4, {3})};
  const Span window{Time(0) + microseconds(12), Time(0) + microseconds(21)};
  EXPECT_THAT(Selected(TraceSet({nodes}), {.window = window}).nodes(0), ElementsAre("2:", "3: 2"));
}

TEST(Select, CommunicationStaysAtAllEndsOrNone) {
  const TraceSet set(
      {{all_reduce(1, {}), send(2, "out", 1).size(8)}, {all_reduce(5, {}), receive(6, "in", 0).size(8)}});
  const Selected selected(set, {.ids = {{1, 2}, {6, 6}}});
  EXPECT_THAT(selected.nodes(0), ElementsAre("2:"));
  EXPECT_THAT(selected.nodes(1), ElementsAre("6:"));
  EXPECT_EQ(selected.made.unmatched, 1u);
  EXPECT_THAT(summaries(selected.checked()), IsEmpty());
}

TEST(Select, RanksAreNumberedAnewAndGroupsShrink) {
  const auto rank = [](Make message) {
    return Nodes{all_reduce(1, {}).group("a"), message.size(8), all_reduce(3, {1})};
  };
  TraceSet set(
      {rank(send(2, "out", 3)), rank(send(2, "out", 2)), rank(receive(2, "in", 1)), rank(receive(2, "in", 0))});
  set.groups(R"({"a": [3, 2, 1, 0]})");
  const Selected selected(set, {.ranks = {{1, 2}}});
  ASSERT_EQ(selected.made.groups.size(), 1u);
  EXPECT_THAT(selected.made.groups[0].members, ElementsAre(RankId(1), RankId(0)));
  const CheckedSet checked = selected.checked();
  EXPECT_THAT(summaries(checked), IsEmpty());
  EXPECT_EQ(checked.set.ranks[0].nodes[1].destination, 1);
  // Rank 0 alone loses its message to rank 3.
  EXPECT_THAT(Selected(set, {.ranks = {{0, 0}}}).nodes(0), ElementsAre("1:", "3: 1"));
  EXPECT_THAT([&] { Selected(set, {.ranks = {{0, 4}}}); }, ThrowsMessage<Error>(HasSubstr("the set has 4 ranks")));
}

}  // namespace
}  // namespace rankwire

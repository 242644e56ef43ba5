#include "emulator/traces/shrink.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/traces/planted.h"

namespace rankwire {
namespace {

using namespace rankwire::testing;  // NOLINT: the vocabulary of this file
using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// Three ranks in two iterations, each a computation, an all-reduce, and a message from rank 0 to rank 1.
struct Iterations : TraceSet {
  Iterations() {
    for (const int rank : {0, 1, 2}) {
      Nodes nodes;
      for (uint64_t id = 10; id <= 20; id += 10) {
        nodes.push_back(compute(id, "gemm").after({id - 10}).micros(500));
        if (id == 10) nodes.back() = compute(id, "gemm").micros(500);
        nodes.push_back(collective(id + 1, "reduce").after({id}).size(1 << 20));
        if (rank == 0) nodes.push_back(send(id + 2, "out", 1).after({id + 1}).size(300));
        if (rank == 1) nodes.push_back(receive(id + 2, "in", 0).after({id + 1}).size(300));
        if (rank == 2) nodes.push_back(compute(id + 2, "alone").after({id + 1}).micros(5));
      }
      // The second computation waits for the end of the first iteration.
      nodes[3].clear_data_deps();
      nodes[3].add_data_deps(12);
      add(nodes);
    }
  }
};

/// What is found when `shows` is asked about each candidate as its files have it.
struct Shrunk {
  TemporaryFolder folder;
  ShrinkCandidate best;
  bool shown = false;
  int tries = 0;

  Shrunk(const TraceSet& set, const std::function<bool(const CheckedSet&, const ShrinkCandidate&)>& shows,
         int most = 1000) {
    const CheckedSet whole = check(set);
    const ShrinkQuestions questions{.keys = 5,
                                    .shows =
                                        [&](ShrinkPass, const ShrinkCandidate& candidate) {
                                          const std::string prefix = folder / fmt::format("try{}", tries++);
                                          try {
                                            write_candidate(whole.set, whole.matches, candidate, prefix);
                                          } catch (const Error&) {
                                            return false;  // a message whose peer goes is nothing
                                          }
                                          return shows(check({prefix}), candidate);
                                        },
                                    .go_on = [&, most] { return tries < most; }};
    shown = shrink(whole.set, whole.matches, questions, best);
    if (shown) write_candidate(whole.set, whole.matches, best, folder / "best");
  }
  CheckedSet checked() const { return check({folder / "best"}); }
};

uint64_t count_kind(const CheckedSet& checked, NodeKind kind, uint32_t place) {
  if (place >= checked.set.ranks.size()) return 0;
  return static_cast<uint64_t>(std::ranges::count(checked.set.ranks[place].nodes, kind, &NodeFacts::kind));
}

TEST(Shrink, FindsTheOneMessage) {
  const Shrunk shrunk(Iterations(), [](const CheckedSet& checked, const ShrinkCandidate&) {
    return count_kind(checked, NodeKind::kSend, 0) > 0;
  });
  ASSERT_TRUE(shrunk.shown);
  const CheckedSet checked = shrunk.checked();
  // Both ends of it, on two ranks, of one byte; no key.
  EXPECT_THAT(summaries(checked), IsEmpty());
  ASSERT_EQ(checked.set.ranks.size(), 2U);
  EXPECT_EQ(checked.nodes(), 2U);
  EXPECT_EQ(checked.set.ranks[1].nodes.front().kind, NodeKind::kReceive);
  EXPECT_EQ(checked.set.ranks[0].nodes.front().size, 1);
  EXPECT_THAT(checked.set.ranks[0].data.of(0), IsEmpty());
  EXPECT_EQ(shrunk.best.kept_keys(), 0U);
}

TEST(Shrink, BridgesDependencies) {
  // Two computations that depend on each other through what goes; 256 us or more each, and the keys 1 and 4.
  const Shrunk shrunk(Iterations(), [](const CheckedSet& checked, const ShrinkCandidate& candidate) {
    const RankFacts& facts = checked.set.ranks.front();
    const auto is_long = [](const NodeFacts& node) { return node.duration >= 256; };
    return std::ranges::count_if(facts.nodes, is_long) == 2 && !facts.data.empty() && candidate.keys[1] &&
           candidate.keys[4];
  });
  const CheckedSet checked = shrunk.checked();
  ASSERT_EQ(checked.set.ranks.size(), 1U);
  ASSERT_EQ(checked.set.ranks[0].nodes.size(), 2U);
  EXPECT_EQ(checked.set.ranks[0].nodes[0].id, 10U);
  EXPECT_EQ(checked.set.ranks[0].nodes[1].id, 20U);
  EXPECT_THAT(checked.set.ranks[0].data.of(1), ElementsAre(10));
  EXPECT_EQ(checked.set.ranks[0].nodes[1].duration, 256U);
  EXPECT_THAT(shrunk.best.keys, ElementsAre(false, true, false, false, true));
}

TEST(Shrink, KeepsCollectivesWholeInEveryTry) {
  const Shrunk shrunk(Iterations(), [](const CheckedSet& checked, const ShrinkCandidate&) {
    // A rank may be left without nodes, which is a finding; that members disagree is none that a part may add.
    EXPECT_FALSE(checked.findings.has("absent-member"));
    EXPECT_FALSE(checked.findings.has("unmatched-send"));
    return count_kind(checked, NodeKind::kCollective, 0) > 0 && checked.set.ranks.size() == 3;
  });
  EXPECT_EQ(shrunk.checked().nodes(), 3U);  // one all-reduce
}

TEST(Shrink, KeepsAMessageWithoutItsOtherEnd) {
  const TraceSet set({{step(1), send(2, "out", 1).after({1}).size(64)}, {step(1)}});
  const Shrunk shrunk(
      set, [](const CheckedSet& checked, const ShrinkCandidate&) { return checked.findings.has("unmatched-send"); });
  ASSERT_TRUE(shrunk.shown);
  EXPECT_EQ(count_kind(shrunk.checked(), NodeKind::kSend, 0), 1U);
}

TEST(Shrink, SaysWhereTheWholeDoesNotShowIt) {
  const Shrunk shrunk(Iterations(), [](const CheckedSet&, const ShrinkCandidate&) { return false; });
  EXPECT_FALSE(shrunk.shown);
  EXPECT_EQ(shrunk.tries, 1);
}

TEST(Shrink, StopsAtItsLimit) {
  const Shrunk shrunk(
      Iterations(), [](const CheckedSet& checked, const ShrinkCandidate&) { return checked.nodes() >= 5; }, 7);
  EXPECT_TRUE(shrunk.shown);
  EXPECT_LE(shrunk.tries, 7);
  EXPECT_GE(shrunk.checked().nodes(), 5U);
}

}  // namespace
}  // namespace rankwire

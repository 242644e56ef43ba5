// What machines know of a run that stands still, together: as if one process had all its ranks.
#include "emulator/assembly/joined_stall.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "base/random.h"
#include "tests/assembly/stalled_machines.h"

namespace rankwire {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::kRanks;
using testing::Lab;
using ::testing::SizeIs;
using testing::Told;
using testing::Truth;

auto of(const StallWait& w) {
  return std::tuple(w.kind, w.rank, w.peer, w.operation, w.group, w.iteration, w.connection, w.source_qp,
                    w.destination_qp, w.retries, w.state);
}

void expect_equal(const StallRow& one, const StallRow& other) {
  EXPECT_EQ(one.kind, other.kind);
  EXPECT_EQ(one.culprit, other.culprit);
  EXPECT_EQ(one.behind, other.behind);
  EXPECT_EQ(one.accused, other.accused);
  EXPECT_EQ(one.is_cycle, other.is_cycle);
  EXPECT_EQ(one.last_progress, other.last_progress);
  const auto compare = [](const std::vector<StallWait>& ours, const std::vector<StallWait>& theirs) {
    ASSERT_EQ(ours.size(), theirs.size());
    for (size_t i = 0; i < ours.size(); ++i) EXPECT_EQ(of(ours[i]), of(theirs[i])) << i;
  };
  compare(one.chain, other.chain);
  compare(one.waits, other.waits);
}

/// Ranks wait at random for others and for nobody, at connections in any state, of which some have failed.
Truth anything(const Lab& lab, uint64_t seed) {
  Random random(seed);
  Truth truth;
  const auto below = [&](uint64_t most) { return static_cast<uint32_t>(random.below(most)); };
  for (const Connection& c : lab.setup.plan.transport.connections)
    for (int pair = 0; pair < 2; ++pair) {
      const Hold hold = below(2) == 0 ? Hold::kNothing : static_cast<Hold>(1 + below(10));
      truth.state(c.id, {.hold = hold, .retries = below(8), .unacknowledged = 100}, 100 + below(3));
    }
  for (uint32_t rank = 0; rank < kRanks; ++rank) {
    if (below(8) == 0) truth.facts.finished.emplace_back(rank);
    if (below(6) == 0) truth.facts.waits.push_back({.kind = WaitKind::kOrder, .rank = RankId(rank), .node = 1});
    if (below(6) == 0) truth.facts.waits.push_back({.kind = WaitKind::kIteration, .rank = RankId(rank)});
    if (below(2) == 0)
      truth.wait(WaitKind::kMessage, rank, (rank + kRanks - 1) % kRanks, lab.from((rank + kRanks - 1) % kRanks));
    if (below(3) == 0) truth.wait(WaitKind::kAnswer, rank, (rank + 1) % kRanks, lab.from(rank));
    if (below(10) > 0) continue;
    truth.facts.broken.push_back({.kind = WaitKind::kAnswer,
                                  .rank = RankId(rank),
                                  .peer = RankId((rank + 1) % kRanks),
                                  .connection = lab.from(rank)});
    truth.facts.broken_by.push_back(static_cast<Failure>(1 + below(8)));
  }
  return truth;
}

TEST(JoinedStall, IsWhatOneProcessSays) {
  std::map<std::string, int> kinds;
  for (const uint32_t machines : {2u, 3u}) {
    const Lab lab(machines);
    for (uint64_t seed = 0; seed < 150; ++seed) {
      SCOPED_TRACE(::testing::Message() << machines << " machines, seed " << seed);
      const Truth truth = anything(lab, seed);
      Told told(lab, truth);
      // One of three runs has a message that was sent from the first machine and not delivered on the second.
      if (seed % 3 == 0) told.reports[0]->messages.sent = 5, told.reports[1]->messages.delivered = 4;
      const std::optional<StallRow> one = truth.row(lab, seed % 3 == 0 ? 1 : 0), row = told.row();
      ASSERT_TRUE(one && row);
      expect_equal(*row, *one);
      EXPECT_EQ(row->machine, row->culprit.valid() ? lab.names[row->culprit.value % machines] : "");
      ++kinds[row->kind];
    }
  }
  EXPECT_GE(kinds.size(), 6u) << "else the seeds tell little";
}

/// Rank 3 has not heard that rank 4 has what it sent, as rank 4 now waits for rank 5: only the state of its end tells.
TEST(JoinedStall, AsksTheOtherEndOfAConnectionAlone) {
  const Lab lab(2);
  Truth truth;
  truth.state(lab.from(3), {.hold = Hold::kAnswer, .retries = 2, .unacknowledged = 100}, 102);
  truth.wait(WaitKind::kAnswer, 3, 4, lab.from(3));
  const Told told(lab, truth);
  // Ranks 0, 2 and 4 are on machine a.
  EXPECT_THAT(untold_ends(told.machines()), ElementsAre(ElementsAre(lab.from(3)), IsEmpty()));
  const std::optional<StallRow> row = told.row();
  ASSERT_TRUE(row);
  EXPECT_EQ(row->kind, "lost_completion");
  ASSERT_THAT(row->chain, SizeIs(1));
  const std::string name = std::to_string(lab.from(3).value);
  EXPECT_EQ(row->chain[0].state, "source of " + name + "; destination of " + name);
  EXPECT_EQ(row->chain[0].retries, 2u);
  EXPECT_EQ(row->chain[0].source_qp, lab.from(3).value * 2 + 16);
}

TEST(JoinedStall, BlamesTheMachineThatHasGone) {
  const Lab lab(3);  // b has ranks 1 and 4
  Truth truth;
  for (uint32_t rank = 0; rank < kRanks; ++rank) {
    const uint32_t before = (rank + kRanks - 1) % kRanks;
    truth.state(lab.from(rank), {.hold = Hold::kAnswer, .unacknowledged = 100}, 100);
    if (rank % 3 != 1) truth.wait(WaitKind::kMessage, rank, before, lab.from(before));
  }
  Told told(lab, truth);
  told.reports[1].reset();
  told.reports[0]->messages.sent = 9;  // of which b has delivered some, but does not say so
  const std::optional<StallRow> row = told.row();
  ASSERT_TRUE(row);
  EXPECT_EQ(row->kind, "gone_machine");
  EXPECT_EQ(row->machine, "b");
  EXPECT_EQ(row->accused, 2u) << "ranks 2 and 5";
  ASSERT_THAT(row->chain, SizeIs(1)) << "others wait at connections that do not go on";
  EXPECT_EQ(row->chain[0].peer, row->culprit);
  EXPECT_THAT(row->chain[0].state, HasSubstr("machine 'b' has gone; destination of "));
}

// By its own clock, which is 10 s ahead, the loop of machine b stood still up to 18 s of the run: up to 8 s, before
// the last progress at 10 s. By a clock that is right it has stood still since then.
TEST(JoinedStall, TimesAreComparedByOneClock) {
  const Lab lab(2);
  Truth truth;
  truth.standstills[1] = {.took = seconds(3), .end = Time() + seconds(18)};
  truth.wait(WaitKind::kMessage, 0, 5, lab.from(5));
  truth.state(lab.from(5), {.hold = Hold::kNothing}, 100);
  Told told(lab, truth);
  const std::optional<StallRow> right = told.row();
  ASSERT_TRUE(right);
  EXPECT_EQ(right->kind, "generator_starvation");
  EXPECT_EQ(right->machine, "b");
  EXPECT_FALSE(right->culprit.valid());

  told.clocks[1].offset = seconds(10);
  const std::optional<StallRow> corrected = told.row();
  ASSERT_TRUE(corrected);
  EXPECT_NE(corrected->kind, "generator_starvation");
  EXPECT_EQ(corrected->last_progress, Time() + seconds(10)) << "that of machine a";
}

TEST(JoinedStall, ALinkThatAnotherMachineLostIsNamed) {
  const Lab lab(2);
  Truth truth;
  truth.state(lab.from(2), {.hold = Hold::kAnswer, .retries = 7, .unacknowledged = 100}, 100);
  truth.wait(WaitKind::kAnswer, 2, 3, lab.from(2));
  Told told(lab, truth);
  told.reports[1]->lost_links = {{PortId(5), "link", "up", "there is no network interface x any more"}};
  told.reports[1] = machine_report(bytes_of(*told.reports[1]));
  RunEnd end;
  end.stall = told.row();
  ASSERT_TRUE(end.stall);
  EXPECT_EQ(end.stall->culprit, RankId(3));
  for (uint32_t rank = 0; rank < kRanks; ++rank) end.rank_nics.push_back({.nic = NicId(rank), .port = PortId(rank)});
  RunResult result;
  result.verdict = Verdict::kStalled, result.reason = end.reason = "no progress";
  tell_lost_links(told.machines(), result, end);
  EXPECT_EQ(end.reason, "port p5: there is no network interface x any more; no progress");
  EXPECT_EQ(end.stall->kind, "lost_link");
  EXPECT_EQ(end.stall->culprit, RankId(5));
  EXPECT_EQ(end.stall->machine, "b");
  tell_lost_links(told.machines(), result, end);
  EXPECT_EQ(result.reason, "port p5: there is no network interface x any more; no progress") << "told once";
}

TEST(JoinedStall, WhoEndedWellHasFinished) {
  const Lab lab(2);
  Truth truth;
  truth.wait(WaitKind::kMessage, 1, 0, lab.from(0));
  truth.state(lab.from(0), {.hold = Hold::kNothing}, 100);
  Told told(lab, truth);
  told.reports[0] = MachineReport{.reason = {}, .waiting = {}, .messages = {}};
  const std::optional<StallRow> row = told.row();
  ASSERT_TRUE(row);
  EXPECT_EQ(row->kind, "mismatched_collective");
  EXPECT_EQ(row->culprit, RankId(0));
  told.reports[1] = told.reports[0];
  EXPECT_FALSE(told.row()) << "a run that ended well has come to nothing";
}

}  // namespace
}  // namespace rankwire

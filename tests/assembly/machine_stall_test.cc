// What a machine tells of a run that stands still.
#include "emulator/assembly/machine_stall.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <tuple>
#include <vector>

#include "emulator/assembly/joined_stall.h"
#include "tests/assembly/stalled_machines.h"

namespace rankwire {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Lab;
using ::testing::SizeIs;
using testing::Told;
using testing::Truth;

TEST(MachineStall, SurvivesItsWayToTheLeader) {
  const Lab lab(2);
  Truth truth;
  truth.wait(WaitKind::kAnswer, 1, 2, lab.from(1));
  truth.state(lab.from(1), {.hold = Hold::kPaused, .retries = 4, .unacknowledged = 0xfffffe}, 3);
  truth.at_source[lab.from(1).value].text = "\"quoted\" \xff";
  truth.facts.waits.push_back({.kind = WaitKind::kOrder, .rank = RankId(3), .node = 4, .behind = 5, .iteration = 6});
  truth.facts.finished = {RankId(5)};
  truth.facts.broken = {{.kind = WaitKind::kAnswer, .rank = RankId(1), .peer = RankId(2), .connection = lab.from(1)}};
  truth.facts.broken_by = {Failure::kDevice};
  truth.standstills[3] = {.took = Duration(7), .end = Time(8)};
  const MachineStall got = *Told(lab, truth).reports[1]->stall;
  ASSERT_THAT(got.facts.waits, SizeIs(2));
  const RankWait &answer = got.facts.waits[0], &order = got.facts.waits[1];
  EXPECT_EQ(std::tuple(answer.kind, answer.rank, answer.peer, answer.node, answer.iteration, answer.connection),
            std::tuple(WaitKind::kAnswer, RankId(1), RankId(2), 0u, 1u, lab.from(1)));
  EXPECT_EQ(std::tuple(order.kind, order.rank, order.peer, order.node, order.behind, order.iteration),
            std::tuple(WaitKind::kOrder, RankId(3), RankId(), 4u, 5u, 6u));
  EXPECT_FALSE(order.connection.valid());
  EXPECT_THAT(got.facts.finished, ElementsAre(RankId(5)));
  EXPECT_THAT(got.facts.broken, SizeIs(1));
  EXPECT_THAT(got.facts.broken_by, ElementsAre(Failure::kDevice));
  ASSERT_THAT(got.standstills, SizeIs(3)) << "ranks 1, 3 and 5";
  EXPECT_EQ(std::tuple(got.standstills[1].took, got.standstills[1].end), std::tuple(Duration(7), Time(8)));
  EXPECT_EQ(std::tuple(got.end, got.last_progress), std::tuple(truth.end, truth.last_progress));
  ASSERT_THAT(got.views, SizeIs(1));
  const ConnectionView& view = got.views.begin()->second;
  EXPECT_THAT(view.text, HasSubstr("\"quoted\" "));
  ASSERT_THAT(view.states, SizeIs(1));
  const QueuePairState& state = view.states[0];
  EXPECT_EQ(std::tuple(state.hold, state.retries, state.unacknowledged, state.expected),
            std::tuple(Hold::kPaused, 4u, std::optional(0xfffffeu), std::optional<uint32_t>()));
}

// Of two ranks one waits five times. Whoever is left out waits elsewhere, too.
TEST(MachineStall, AMachineTellsSoMuchAtTheMost) {
  const Lab lab(2);
  Truth truth;
  for (int i = 0; i < 5; ++i) truth.wait(WaitKind::kAnswer, 0, 1, lab.from(0));
  truth.wait(WaitKind::kAnswer, 2, 3, lab.from(2));
  for (const uint32_t rank : {0, 2}) truth.state(lab.from(rank), {.hold = Hold::kAnswer}, 100);
  // Text and a state of one connection are some 53 bytes; two have no room.
  const Told told(lab, truth, {.waits = 3, .view_bytes = 70});
  const MachineStall& stall = *told.reports[0]->stall;
  ASSERT_THAT(stall.facts.waits, SizeIs(3));
  EXPECT_EQ(stall.facts.waits[0].rank, RankId(0));
  EXPECT_EQ(stall.facts.waits[1].rank, RankId(0));
  EXPECT_EQ(stall.facts.waits[2].rank, RankId(2));
  EXPECT_THAT(stall.views, SizeIs(1));
  EXPECT_THAT(
      stall_findings(told.machines(), told.answers()),
      ElementsAre("machine 'a' has told 3 of 6 waits of its ranks, and not told the states of up to 1 connections: "
                  "whom a stall is blamed on follows from the others"));
  const Told all(lab, truth);
  EXPECT_THAT(stall_findings(all.machines(), all.answers()), IsEmpty());
  // Machine b, on which nobody waits, is asked for its ends of both.
  const std::vector<ConnectionViews> silence(2);
  EXPECT_THAT(
      stall_findings(all.machines(), silence),
      ElementsAre(HasSubstr("machine 'b' has told 0 of 0 waits of its ranks, and not told the states of up to 2 ")));
}

}  // namespace
}  // namespace rankwire

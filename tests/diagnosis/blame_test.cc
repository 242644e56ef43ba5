#include "emulator/diagnosis/blame.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "emulator/diagnosis/slow_rank.h"
#include "tests/diagnosis/path_record.h"

namespace rankwire {
namespace {

using ::testing::IsEmpty;
using testing::PathRecord;
using ::testing::SizeIs;

const Culprit kPort{.kind = Culprit::Kind::kPort, .number = 2};

/// A run of 10 ms that took 4 ms longer than the reference, for these reasons. Milliseconds.
BlameFacts four_more(std::initializer_list<std::pair<GapCause, int64_t>> parts) {
  BlameFacts facts;
  facts.completion = microseconds(10'000), facts.gap = microseconds(4'000);
  facts.parts.emplace();
  for (const auto& [cause, ms] : parts) (*facts.parts)[static_cast<size_t>(cause)] = microseconds(1'000 * ms);
  return facts;
}

TEST(Blame, NobodyWhereHardlyAnythingIsLost) {
  BlameFacts facts = four_more({{GapCause::kUnexplained, 4}});
  facts.completion = microseconds(80'000);  // 4 ms are a twentieth
  EXPECT_THAT(blame(facts), IsEmpty());
  facts.completion = microseconds(79'999);
  EXPECT_THAT(blame(facts), SizeIs(1));
}

TEST(Blame, WhatTheRecordDoesNotSayIsUnexplained) {
  for (const GapCause cause :
       {GapCause::kUnexplained, GapCause::kAcknowledgement, GapCause::kPort, GapCause::kBetween}) {
    const auto list = blame(four_more({{cause, 4}}));
    ASSERT_THAT(list, SizeIs(1));
    EXPECT_EQ(list[0].kind, BlameKind::kUnexplained);
    EXPECT_EQ(list[0].gap, microseconds(4'000));
    EXPECT_EQ(list[0].share, 1);
    EXPECT_EQ(list[0].confidence, Confidence::kLow);
    // What the waterfall has a name for is told, though not whose doing it is.
    EXPECT_EQ(list[0].evidence.part, cause == GapCause::kUnexplained ? std::nullopt : std::optional<GapCause>(cause));
  }
  const auto list = blame(four_more({{GapCause::kUnexplained, 1}, {GapCause::kPathLatency, 3}}));
  EXPECT_EQ(list[0].evidence.part, GapCause::kPathLatency);
  EXPECT_EQ(list[0].evidence.part_time, microseconds(3'000));
}

TEST(Blame, SaysWhereExecutionsAreTooManyToKnowMore) {
  BlameFacts facts = four_more({});
  facts.parts.reset(), facts.unsearched = 9'000'000;
  const auto list = blame(facts);
  ASSERT_THAT(list, SizeIs(1));
  EXPECT_EQ(list[0].kind, BlameKind::kUnexplained);
  EXPECT_EQ(list[0].evidence.unsearched, 9'000'000u);
}

TEST(Blame, ASlowRankAmongRanksThatDifferIsNoSureCulprit) {
  BlameFacts facts = four_more({{GapCause::kCompute, 4}});
  const Culprit rank{.kind = Culprit::Kind::kRank, .number = 3};
  for (const bool stands_out : {true, false}) {
    facts.slow_rank = BlamedTime{.time = microseconds(4'000), .culprit = rank, .stands_out = stands_out};
    const auto list = blame(facts);
    ASSERT_FALSE(list.empty());
    EXPECT_EQ(list[0].kind, BlameKind::kSlowRank);
    EXPECT_EQ(list[0].confidence, stands_out ? Confidence::kHigh : Confidence::kMedium);
  }
}

TEST(Blame, LostAcknowledgementsAreOfThePlaceThatDropsThem) {
  BlameFacts facts = four_more({{GapCause::kRecovering, 4}});
  facts.packets = 1'000, facts.loss_place = kPort, facts.counted_there = true;
  EXPECT_EQ(blame(facts)[0].kind, BlameKind::kUnexplained) << "nothing was lost: answers were late";
  facts.answers_lost = 5;
  const auto list = blame(facts);
  ASSERT_THAT(list, SizeIs(1));
  EXPECT_EQ(list[0].kind, BlameKind::kLossyCable);
  EXPECT_EQ(list[0].culprit, kPort);
  EXPECT_EQ(list[0].evidence.count, 5u);
  facts.queue_drops = 5;  // of a full queue
  EXPECT_EQ(blame(facts)[0].kind, BlameKind::kUnexplained);
}

TEST(Blame, WithoutPathsTheGapIsUnexplained) {
  BlameFacts facts = four_more({});
  facts.parts.reset();
  ASSERT_THAT(blame(facts), SizeIs(1));
  EXPECT_EQ(blame(facts)[0].kind, BlameKind::kUnexplained);
}

// Whatever a late loop looks like from outside: each cause that a device could be blamed for.
TEST(Blame, LatenessOfTheGeneratorGoesBeforeEverything) {
  for (size_t cause = 0; cause < kGapCauses; ++cause) {
    if (static_cast<GapCause>(cause) == GapCause::kFaster) continue;
    BlameFacts facts = four_more({{static_cast<GapCause>(cause), 4}});
    facts.lost = 100, facts.packets = 1'000, facts.marked = 10, facts.pauses_heard = 10, facts.rnr_naks = 3;
    facts.generator = microseconds(4'000);
    const auto list = blame(facts);
    ASSERT_THAT(list, SizeIs(1)) << cause;
    EXPECT_EQ(list[0].kind, BlameKind::kLateGenerator) << cause;
    EXPECT_EQ(list[0].culprit.kind, Culprit::Kind::kGenerator);
    EXPECT_EQ(list[0].confidence, Confidence::kHigh);
  }
}

TEST(Blame, WhatLatenessCannotExplainIsLeftToOthers) {
  BlameFacts facts = four_more({{GapCause::kPaused, 3}, {GapCause::kUnexplained, 1}});
  facts.generator = microseconds(1'500);
  facts.pauses_by_rule = 7, facts.paused_by_rule = kPort;
  const auto list = blame(facts);
  ASSERT_THAT(list, SizeIs(2));
  EXPECT_EQ(list[0].kind, BlameKind::kPfcStorm);
  EXPECT_EQ(list[0].gap, microseconds(2'500));
  EXPECT_EQ(list[0].share, 0.625);
  EXPECT_EQ(list[1].kind, BlameKind::kLateGenerator);
  EXPECT_EQ(list[1].gap, microseconds(1'500));
}

TEST(Blame, TheGeneratorIsBlamedForNoMoreThanItsLatenessExplains) {
  BlameFacts facts = four_more({{GapCause::kUnexplained, 2}, {GapCause::kBetween, 1}, {GapCause::kCompute, 1}});
  facts.turn = microseconds(2);
  ASSERT_THAT(blame(facts), SizeIs(1));
  EXPECT_EQ(blame(facts)[0].kind, BlameKind::kUnexplained);
  facts.generator = microseconds(1'000);
  ASSERT_THAT(blame(facts), SizeIs(2));
  EXPECT_EQ(blame(facts)[1].kind, BlameKind::kLateGenerator);
  EXPECT_EQ(blame(facts)[1].gap, microseconds(1'000));
}

TEST(Blame, LossesAreSuspectedWhereNobodyRecordedWhatTheyTook) {
  BlameFacts facts = four_more({{GapCause::kUnexplained, 4}});
  facts.packets = 20'000, facts.lost = 2, facts.loss_place = kPort;
  EXPECT_EQ(blame(facts)[0].kind, BlameKind::kUnexplained) << "the record knows that they took no time";
  facts.knows_causes = false;
  facts.generator = microseconds(1'000);
  const auto list = blame(facts);
  ASSERT_THAT(list, SizeIs(2));
  EXPECT_EQ(list[0].kind, BlameKind::kLossyCable);
  EXPECT_EQ(list[0].culprit, kPort);
  EXPECT_EQ(list[0].gap, microseconds(3'000));
  EXPECT_EQ(list[0].confidence, Confidence::kMedium);
  EXPECT_TRUE(list[0].evidence.is_inferred);
  facts.packets = 20'001;  // fewer than one of 10,000
  EXPECT_EQ(blame(facts)[0].kind, BlameKind::kUnexplained);
  facts.timeouts = 1;
  EXPECT_EQ(blame(facts)[0].kind, BlameKind::kLossyCable);
  facts.missed = 2;  // the generator's own ports lost both
  ASSERT_THAT(blame(facts), SizeIs(1));
  EXPECT_EQ(blame(facts)[0].kind, BlameKind::kLateGenerator);
}

// The single run, of which the parts are, is 2 ms longer than the median, or 2 ms shorter.
TEST(Blame, SharesOutTheGapToTheMedianWhateverTheSingleRunTook) {
  BlameFacts facts = four_more({{GapCause::kRecovering, 8}, {GapCause::kFaster, -6}});
  facts.packets = 1'000, facts.lost = 100, facts.loss_place = kPort;
  ASSERT_THAT(blame(facts), SizeIs(1));
  EXPECT_EQ(blame(facts)[0].kind, BlameKind::kLossyCable);
  EXPECT_EQ(blame(facts)[0].gap, microseconds(4'000));
  facts.parts = four_more({{GapCause::kRecovering, 2}}).parts;
  const auto list = blame(facts);
  ASSERT_THAT(list, SizeIs(2));
  EXPECT_EQ(list[0].gap, microseconds(2'000));
  EXPECT_EQ(list[1].gap, microseconds(2'000));
}

TEST(Blame, FramesThatItsOwnPortsMissedAreTheGenerators) {
  BlameFacts facts = four_more({{GapCause::kRecovering, 4}});
  facts.packets = 1'000, facts.lost = 100, facts.missed = 75, facts.loss_place = kPort;
  const auto list = blame(facts);
  ASSERT_THAT(list, SizeIs(2));
  EXPECT_EQ(list[0].kind, BlameKind::kLateGenerator);
  EXPECT_EQ(list[0].gap, microseconds(3'000));
  EXPECT_EQ(list[1].kind, BlameKind::kLossyCable);
  EXPECT_EQ(list[1].confidence, Confidence::kLow);  // a quarter, and only what the losers share
}

TEST(Blame, LossesAreTheCablesUnlessABufferWasFull) {
  BlameFacts facts = four_more({{GapCause::kRecovering, 4}});
  facts.packets = 1'000, facts.lost = 100;
  facts.loss_place = {.kind = Culprit::Kind::kCable, .name = "leaf0 - p2"}, facts.counted_there = true;
  EXPECT_EQ(blame(facts)[0].kind, BlameKind::kLossyCable);
  EXPECT_EQ(blame(facts)[0].confidence, Confidence::kHigh);
  EXPECT_EQ(blame(facts)[0].evidence.count, 100u);
  facts.queue_drops = 50;
  EXPECT_EQ(blame(facts)[0].kind, BlameKind::kUnexplained);
  facts.pauses_by_rule = 1, facts.paused_by_rule = kPort;  // the queue was full because of that
  EXPECT_EQ(blame(facts)[0].kind, BlameKind::kPfcStorm);
  EXPECT_EQ(blame(facts)[0].culprit, kPort);
  facts.queue_drops = 0, facts.buffer_drops = 50;
  EXPECT_EQ(blame(facts)[0].kind, BlameKind::kSlowNic);
}

TEST(Blame, PacketsSentAgainAlthoughNoneWasLostAreNoCables) {
  EXPECT_EQ(blame(four_more({{GapCause::kRecovering, 4}}))[0].kind, BlameKind::kUnexplained);
}

// 4 ms of recovery and 3 of queues, which are those of a collision, make the run 4 ms longer, since 3 ms were faster
// than in the reference. So 1 ms of the gap is left for losses, without which a replay ends 3.5 ms earlier.
TEST(Blame, LossesAreWorthWhatAReplaySavesThoughTheRestWasFaster) {
  BlameFacts facts = four_more({{GapCause::kRecovering, 4}, {GapCause::kFaster, -3}, {GapCause::kQueueingOwnJob, 3}});
  facts.packets = 1'000, facts.lost = 10, facts.counted_there = true, facts.loss_place = kPort;
  facts.collisions = {.time = microseconds(3'900), .culprit = {}, .in_gap = true};
  for (const int64_t worth : {0, 3'500}) {
    facts.worth[static_cast<size_t>(GapCause::kRecovering)] = microseconds(worth);
    const auto list = blame(facts);
    const auto losses = std::ranges::find(list, BlameKind::kLossyCable, &Blame::kind);
    ASSERT_NE(losses, list.end());
    EXPECT_EQ(losses->gap, worth == 0 ? microseconds(1'000) : microseconds(3'500));
  }
}

TEST(Blame, PausesAreOfTheNicThatSentMostAndItsBufferSaysWhy) {
  BlameFacts facts = four_more({{GapCause::kPaused, 3}, {GapCause::kWindow, 1}});
  facts.knows_switches = true;
  EXPECT_EQ(blame(facts)[0].kind, BlameKind::kUnexplained);  // the switches paused on their own account
  facts.pauses_by_buffer = 9, facts.paused_by_buffer = kPort;
  facts.held_by_buffer = microseconds(3'500);  // so 0.5 ms of the full window waited behind the paused port
  const auto list = blame(facts);
  EXPECT_EQ(list[0].kind, BlameKind::kSlowNic);
  EXPECT_EQ(list[0].culprit, kPort);
  EXPECT_EQ(list[0].gap, microseconds(3'500));
  EXPECT_EQ(list[1].kind, BlameKind::kUnexplained);
}

TEST(Blame, MarksOnShortQueuesAreTheThresholds) {
  BlameFacts facts = four_more({{GapCause::kCongestionControl, 4}});
  EXPECT_EQ(blame(facts)[0].kind, BlameKind::kCongestionControl);
  facts.marked = 500, facts.packets = 1'000, facts.on_the_way = Bytes(35'000), facts.marked_length = Bytes(35'001);
  EXPECT_EQ(blame(facts)[0].kind, BlameKind::kCongestionControl);
  facts.marked_length = Bytes(35'000);
  EXPECT_EQ(blame(facts)[0].kind, BlameKind::kEcnThreshold);
}

TEST(Blame, PacketsThatOvertakeEachOtherAreNotLost) {
  BlameFacts facts = four_more({{GapCause::kRecovering, 4}});
  facts.packets = 1'000, facts.out_of_order = 12;
  facts.order_place = {.kind = Culprit::Kind::kPort, .number = 6};
  const auto list = blame(facts);
  ASSERT_THAT(list, SizeIs(1));
  EXPECT_EQ(list[0].kind, BlameKind::kReordering);
  EXPECT_EQ(list[0].culprit, facts.order_place);
  EXPECT_EQ(list[0].evidence.count, 12u);
  EXPECT_EQ(list[0].confidence, Confidence::kHigh);
  facts.lost = 12;
  EXPECT_EQ(blame(facts)[0].kind, BlameKind::kLossyCable);
}

// Of the four more 3 us were behind acknowledgements: more than half, and inferred.
TEST(Blame, WhatTheModelLeavesOutIsNobodysFault) {
  const auto list = blame(four_more({{GapCause::kAcknowledgementFrames, 3}, {GapCause::kUnexplained, 1}}));
  ASSERT_THAT(list, SizeIs(2));
  EXPECT_EQ(list[0].kind, BlameKind::kModel);
  EXPECT_EQ(list[0].culprit.kind, Culprit::Kind::kNobody);
  EXPECT_EQ(list[0].confidence, Confidence::kMedium);
  EXPECT_EQ(list[1].kind, BlameKind::kUnexplained);
}

TEST(Blame, ASmallWindowIsNotWhatFollowsFromSomethingElse) {
  BlameFacts facts = four_more({{GapCause::kWindow, 4}});
  EXPECT_EQ(blame(facts)[0].kind, BlameKind::kSmallWindow);
  facts.shortest_trip = microseconds(2), facts.typical_trip = microseconds(9);  // packets wait in queues
  EXPECT_EQ(blame(facts)[0].kind, BlameKind::kUnexplained);
  facts = four_more({{GapCause::kRecovering, 3}, {GapCause::kWindow, 1}});
  facts.lost = 10, facts.packets = 100;
  EXPECT_EQ(blame(facts)[1].kind, BlameKind::kUnexplained);
}

TEST(Blame, WhatTheReferenceLosesAsWellIsLostBesides) {
  BlameFacts facts = four_more({});
  facts.gap = {};
  facts.background = BlamedTime{.time = microseconds(3'000), .culprit = {.kind = Culprit::Kind::kJob, .number = 1}};
  facts.collisions = BlamedTime{.time = microseconds(1'000), .culprit = {}};
  const auto list = blame(facts);
  ASSERT_THAT(list, SizeIs(2));
  EXPECT_EQ(list[0].kind, BlameKind::kBackground);
  EXPECT_EQ(list[0].share, 0.75);
  EXPECT_EQ(list[1].kind, BlameKind::kEcmpCollision);
}

// 4 ms are the gap to a reference that knows no background, and 3 of them waiting. Without it a model that does know it
// takes 1, 3 or 8 ms less: that is the same time.
TEST(Blame, WhatTheReferenceDoesWithoutIsNotCountedTwice) {
  for (const int64_t saved : {1, 3, 8}) {
    BlameFacts facts = four_more({{GapCause::kQueueingOthers, 3}, {GapCause::kRecovering, 1}});
    facts.lost = 10, facts.packets = 1'000, facts.loss_place = kPort, facts.counted_there = true;
    facts.background = BlamedTime{
        .time = microseconds(1'000 * saved), .culprit = {.kind = Culprit::Kind::kJob, .number = 1}, .in_gap = true};
    const auto list = blame(facts);
    ASSERT_THAT(list, SizeIs(2));
    EXPECT_EQ(list[0].kind, BlameKind::kBackground);
    EXPECT_EQ(list[0].gap, microseconds(3'000)) << saved;
    EXPECT_EQ(list[1].kind, BlameKind::kLossyCable);
    EXPECT_EQ(list[1].gap, microseconds(1'000)) << saved;
  }
}

// The model takes 3 ms less without it; packets wait 2 ms more, behind packets that it knows nothing of. The other 2 ms
// of the gap are no waiting.
TEST(Blame, WhatAModelSavesIsToldApartFromWhatPacketsWaitBeside) {
  BlameFacts facts = four_more({{GapCause::kQueueingOthers, 2}, {GapCause::kCompute, 2}});
  facts.background = BlamedTime{.time = microseconds(3'000), .culprit = {.kind = Culprit::Kind::kJob, .number = 1}};
  const auto list = blame(facts);
  ASSERT_FALSE(list.empty());
  EXPECT_EQ(list[0].kind, BlameKind::kBackground);
  EXPECT_EQ(list[0].gap, microseconds(3'000 + 2'000));
  EXPECT_EQ(list[0].evidence.time, microseconds(3'000));
  EXPECT_EQ(list[0].evidence.waited, microseconds(2'000));
}

/// Three ranks compute the same and reduce; how long each computes, microseconds.
std::optional<BlamedTime> slow_rank_of(const std::vector<int64_t>& times, bool same_name = true) {
  PathRecord written;
  const int64_t longest = *std::ranges::max_element(times);
  for (uint32_t rank = 0; rank < times.size(); ++rank) {
    written.compute(rank, same_name ? "work" : "work of " + std::to_string(rank));
    written.collective(rank, "all_reduce");
    written.ran(rank, 0, {0, times[rank]}), written.ran(rank, 1, {times[rank], longest + 5});
  }
  const RunReader record = written.reader();
  const NodeMeetings meetings(record);
  const auto executions = Executions::read(record, *record.emulated(), meetings);
  return slow_rank(record, *record.emulated(), critical_path(record, *executions));
}

TEST(SlowRank, TakesLongerThanHalfOfThemForTheSame) {
  const auto slow = slow_rank_of({10, 30, 10, 12});  // the median is 10
  ASSERT_TRUE(slow);
  EXPECT_EQ(slow->culprit.number, 1u);
  EXPECT_EQ(slow->time, microseconds(20));
  EXPECT_EQ(slow->factor, 3);
  EXPECT_FALSE(slow_rank_of({10, 10, 10}));
}

// The others of {10, 30, 10, 12} are 0, 0 and 2 us off the median of 10: a deviation of sqrt(4 / 3) = 1.15 us, of which
// 20 us are 17. Of {10, 8, 13, 11, 10, 9, 7} the slowest is 3 us beyond 10, and the others are 2, 1, 1 and 3 off: a
// deviation of sqrt(15 / 6) = 1.58 us.
TEST(SlowRank, StandsOutBeyondWhatTheOthersDifferBy) {
  EXPECT_TRUE(slow_rank_of({10, 30, 10, 12})->stands_out);
  const auto jitter = slow_rank_of({10, 8, 13, 11, 10, 9, 7});
  ASSERT_TRUE(jitter);
  EXPECT_EQ(jitter->culprit.number, 2u);
  EXPECT_FALSE(jitter->stands_out);
}

/// Ranks compute and reduce after each step; by step how long each computes, microseconds.
std::optional<BlamedTime> slow_over(const std::vector<std::vector<int64_t>>& steps) {
  PathRecord written;
  int64_t start = 0;
  for (uint32_t step = 0; step < steps.size(); ++step) {
    written.sequence = step;
    const int64_t end = start + std::ranges::max(steps[step]);
    for (uint32_t rank = 0; rank < steps[step].size(); ++rank) {
      const uint32_t work = written.compute(rank, "work " + std::to_string(step));
      const uint32_t reduce = written.collective(rank, "all_reduce");
      written.ran(rank, work, {start, start + steps[step][rank]});
      written.ran(rank, reduce, {start + steps[step][rank], end + 1});
    }
    start = end + 1;
  }
  const RunReader record = written.reader();
  const NodeMeetings meetings(record);
  const auto executions = Executions::read(record, *record.emulated(), meetings);
  return slow_rank(record, *record.emulated(), critical_path(record, *executions));
}

/// Three ranks compute twelve steps; rank 1 takes so long, the others 9 and 11 us in turns.
std::optional<BlamedTime> slow_over_steps(const std::vector<int64_t>& times) {
  std::vector<std::vector<int64_t>> steps;
  for (size_t step = 0; step < times.size(); ++step)
    steps.push_back({step % 2 == 0 ? 9 : 11, times[step], step % 2 == 0 ? 11 : 9});
  return slow_over(steps);
}

// Ranks 1 and 3 are 20 and 19 us beyond the median of 10, rank 4 is 2 us beyond: the path goes through rank 1 alone.
// The others of rank 3 differ by so much that one step is too few for it to stand out (ln 2.9 = 1.06 beyond their mean,
// eight times their deviation of 0.5 would be 4).
TEST(SlowRank, NamesOthersThatStandOutBesideIt) {
  EXPECT_TRUE(slow_rank_of({10, 30, 10, 29, 12})->also.empty());
  std::vector<std::vector<int64_t>> steps;
  for (int step = 0; step < 12; ++step) {
    const int64_t a = step % 2 == 0 ? 9 : 11;
    steps.push_back({a, 30, 20 - a, 29, 12, 10, a});
  }
  const auto slow = slow_over(steps);
  ASSERT_TRUE(slow);
  EXPECT_EQ(slow->culprit.number, 1u);
  EXPECT_EQ(slow->also, std::vector{RankId(3)});
}

// 16 us in half of the steps are ln(16 / 9.95) = 0.475 beyond the others' geometric mean, 6 us in the other half 0.506
// below: a mean of -0.015. The path has the long ones alone, whose 6 * 5 us beyond the median of 11 are more than four
// times what the others deviate from it by, sqrt(6 * 2) = 3.5 us. Always 16 us are 0.475 without a spread, 14 and 18 in
// turns 0.341 and 0.593: a mean of 0.467, 12 times its error of 0.13 / sqrt(12).
TEST(SlowRank, StandsOutBeyondItsOwnSpread) {
  const auto jitter = slow_over_steps({16, 6, 16, 6, 16, 6, 16, 6, 16, 6, 16, 6});
  ASSERT_TRUE(jitter);
  EXPECT_EQ(jitter->culprit.number, 1u);
  EXPECT_FALSE(jitter->stands_out);
  for (const auto& times : {std::vector<int64_t>(12, 16), {14, 18, 14, 18, 14, 18, 14, 18, 14, 18, 14, 18}}) {
    const auto slow = slow_over_steps(times);
    ASSERT_TRUE(slow);
    EXPECT_EQ(slow->culprit.number, 1u);
    EXPECT_TRUE(slow->stands_out);
  }
}

TEST(SlowRank, IsNotToldFromRanksThatDoSomethingElse) {
  EXPECT_FALSE(slow_rank_of({10, 30, 10}, false));
  EXPECT_FALSE(slow_rank_of({10, 30}));
}

}  // namespace
}  // namespace rankwire

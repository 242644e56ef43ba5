#include "emulator/diagnosis/waterfall.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>

#include "emulator/diagnosis/slower_step.h"
#include "tests/diagnosis/path_record.h"

namespace rankwire {
namespace {

using testing::PathRecord;

Waterfall waterfall_of(PathRecord& written) {
  const RunReader record = written.reader();
  const NodeMeetings meetings(record);
  const auto emulated = Executions::read(record, *record.emulated(), meetings);
  const auto reference = Executions::read(record, *record.reference(), meetings);
  const Waterfall result =
      waterfall(record, *record.emulated(), critical_path(record, *emulated), *emulated, *reference);
  Duration sum;
  for (const Duration part : result.parts) sum += part;
  EXPECT_EQ(sum, result.gap);
  GapParts of_steps{};
  for (const GapParts& parts : result.by_step)
    for (size_t cause = 0; cause < kGapCauses; ++cause) of_steps[cause] += parts[cause];
  EXPECT_EQ(of_steps, result.parts);
  return result;
}

/// Both ranks compute and all-reduce.
PathRecord& computes_and_reduces(PathRecord& record) {
  for (const uint32_t rank : {0, 1}) {
    record.compute(rank, "first");
    record.collective(rank, "all_reduce");
  }
  return record;
}

TEST(Waterfall, ARankThatComputesLongerIsComputeAlone) {
  PathRecord record;
  computes_and_reduces(record);
  // Rank 1 takes 30 us where the reference has 10. Rank 0's all-reduce is 20 us longer, all of it waiting.
  record.ran(0, 0, {0, 10}), record.ran(1, 0, {0, 30, 0, 10});
  record.ran(0, 1, {10, 50, 10, 30}), record.ran(1, 1, {30, 50, 10, 30});
  const Waterfall result = waterfall_of(record);
  EXPECT_EQ(result.gap, microseconds(20));
  EXPECT_EQ(result[GapCause::kCompute], microseconds(20));
  EXPECT_EQ(result[GapCause::kUnexplained], Duration());
  EXPECT_EQ(result[GapCause::kOtherChain], Duration());
}

// 20 us longer in computing, of which 8 us, and then all, may be the generator's; 30 us of lateness are no more than
// the gap.
TEST(Waterfall, LatenessOfTheGeneratorIsTakenFromWhatItMayHaveLengthened) {
  for (const auto& [late, generator] : {std::pair(8, 8), std::pair(20, 20), std::pair(30, 20)}) {
    PathRecord record;
    computes_and_reduces(record);
    record.ran(0, 0, {0, 10}), record.ran(1, 0, {0, 30, 0, 10});
    record.ran(0, 1, {10, 50, 10, 30}), record.ran(1, 1, {30, 50, 10, 30});
    Waterfall result = waterfall_of(record);
    attribute_lateness(result, microseconds(late));
    EXPECT_EQ(result[GapCause::kGenerator], microseconds(generator));
    EXPECT_EQ(result[GapCause::kCompute], microseconds(20 - generator));
    EXPECT_EQ(result.by_step.front()[static_cast<size_t>(GapCause::kGenerator)], microseconds(generator));
    EXPECT_EQ(result.gap, microseconds(20));
  }
}

// A run that ended earlier than the reference was not held up.
TEST(Waterfall, AShorterRunHasNothingFromLateness) {
  PathRecord record;
  computes_and_reduces(record);
  record.ran(0, 0, {0, 10, 0, 20}), record.ran(1, 0, {0, 12, 0, 10});
  record.ran(0, 1, {10, 30, 20, 40}), record.ran(1, 1, {12, 30, 10, 40});
  Waterfall result = waterfall_of(record);
  const GapParts before = result.parts;
  attribute_lateness(result, microseconds(5));
  EXPECT_EQ(result.parts, before);
}

TEST(Waterfall, CommunicationGetsCausesAsFarAsTheyLasted) {
  PathRecord record;
  computes_and_reduces(record);
  record.ran(0, 0, {0, 10}), record.ran(1, 0, {0, 10});
  record.ran(0, 1, {10, 60, 10, 30}), record.ran(1, 1, {10, 59, 10, 29});
  // Of the connection that was held up longest 12 us of recovery and 40 us of a full window: 30 us are missing.
  TimeByCause held, less;
  held[Cause::kTransmitting] = microseconds(5), held[Cause::kRecovering] = microseconds(12);
  held[Cause::kWindow] = microseconds(40);
  less[Cause::kPaused] = microseconds(3);
  record.caused(0, 1, ConnectionId(0), held), record.caused(1, 1, ConnectionId(1), less);
  const Waterfall result = waterfall_of(record);
  EXPECT_EQ(result.gap, microseconds(30));
  EXPECT_EQ(result[GapCause::kRecovering], microseconds(12));
  EXPECT_EQ(result[GapCause::kWindow], microseconds(18));
  EXPECT_EQ(result[GapCause::kPaused], Duration());
  EXPECT_EQ(result[GapCause::kUnexplained], Duration());
}

// What it transmitted is no waiting.
TEST(Waterfall, AStepNamesTheConnectionThatWasHeldUpLongest) {
  PathRecord record;
  computes_and_reduces(record);
  record.ran(0, 0, {0, 10}), record.ran(1, 0, {0, 10});
  record.ran(0, 1, {10, 60}), record.ran(1, 1, {10, 59});
  TimeByCause held, less;
  held[Cause::kWindow] = microseconds(40), less[Cause::kWindow] = microseconds(39);
  less[Cause::kTransmitting] = microseconds(9);
  record.caused(0, 1, ConnectionId(0), less), record.caused(1, 1, ConnectionId(1), held);
  const RunReader reader = record.reader();
  const NodeMeetings meetings(reader);
  const auto executions = Executions::read(reader, *reader.emulated(), meetings);
  CriticalPath path = critical_path(reader, *executions);
  find_connections(reader, *reader.emulated(), *executions, path);
  ASSERT_EQ(path.steps.size(), 2u);
  EXPECT_FALSE(path.steps[0].connection) << "it computes";
  ASSERT_TRUE(path.steps[1].connection);
  EXPECT_EQ(path.steps[1].connection->id, ConnectionId(1));
}

TEST(Waterfall, WhatTheRecordDoesNotSayRemains) {
  PathRecord record;
  computes_and_reduces(record);
  record.ran(0, 0, {2, 12, 0, 10}), record.ran(1, 0, {0, 10});
  record.ran(0, 1, {12, 60, 10, 30}), record.ran(1, 1, {10, 60, 10, 30});
  const Waterfall result = waterfall_of(record);
  EXPECT_EQ(result.gap, microseconds(30));
  EXPECT_EQ(result[GapCause::kBetween], microseconds(2)) << "rank 0 began late";
  EXPECT_EQ(result[GapCause::kUnexplained], microseconds(28));
}

// Rank 0 lost a packet while it waited for rank 1: 20 us of recovery within the 30 us before the step.
TEST(Waterfall, WhatPassedBeforeTheStepIsNotCharged) {
  PathRecord record;
  computes_and_reduces(record);
  record.ran(0, 0, {0, 10}), record.ran(1, 0, {0, 40});
  record.ran(0, 1, {10, 60, 10, 50}), record.ran(1, 1, {40, 60, 40, 50});
  TimeByCause early, late;
  early[Cause::kRecovering] = microseconds(20);
  late[Cause::kWindow] = microseconds(15);
  record.caused(0, 1, ConnectionId(0), early), record.caused(1, 1, ConnectionId(1), late);
  const Waterfall result = waterfall_of(record);
  EXPECT_EQ(result.gap, microseconds(10));
  EXPECT_EQ(result[GapCause::kRecovering], Duration());
  EXPECT_EQ(result[GapCause::kWindow], microseconds(10));
}

TEST(Waterfall, AReceiveHasTheCausesOfItsSend) {
  PathRecord record;
  record.send(0, 1), record.receive(1, 0);
  record.ran(0, 0, {0, 29, 0, 9}), record.ran(1, 0, {0, 30, 0, 10});
  TimeByCause causes;
  causes[Cause::kPaused] = microseconds(18);
  record.caused(0, 0, ConnectionId(0), causes);
  const Waterfall result = waterfall_of(record);
  EXPECT_EQ(result[GapCause::kPaused], microseconds(18));
  EXPECT_EQ(result[GapCause::kUnexplained], microseconds(2));
}

// Both SENDs begin at 0 and go one after the other: what is accounted to the second has all passed from 20 us on, when
// the first ended. Its receiver asks for it at 25 us only. Of the second step, 25 us .. 41 us instead of 1 us, all 15
// us would not have been without the window, 5 us of which passed before.
TEST(Waterfall, ASendThatBeganEarlyWasHeldUpBeforeTheStepAsWell) {
  PathRecord record;
  for (const uint32_t node : {0, 1}) {
    record.sequence = node;
    record.send(0, 1), record.receive(1, 0), record.ran(0, node, {0, 20 + 20 * node, 0, 20});
  }
  record.ran(1, 0, {0, 25, 0, 20}), record.ran(1, 1, {25, 41, 20, 21});
  TimeByCause causes;
  causes[Cause::kWindow] = microseconds(19), causes[Cause::kTransmitting] = microseconds(1);
  for (const uint32_t node : {0, 1}) record.caused(0, node, ConnectionId(0), causes);
  const Waterfall result = waterfall_of(record);
  EXPECT_EQ(result[GapCause::kWindow], microseconds(5 + 15));
  EXPECT_EQ(result[GapCause::kUnexplained], Duration());
}

/// Rank 0 sends twice to rank 1 from 0 on, 10 us of line time each. The first message is repaired for 40 us, and ends
/// at 50; the second ends at 60 instead of 20. In between rank 0 sends to rank 2, too, and is paused for 30 us.
PathRecord& waits_behind_a_repair(PathRecord& record, const PathRecord::Ran& second) {
  for (record.sequence = 0; record.sequence < 2; ++record.sequence) record.send(0, 1), record.receive(1, 0);
  record.send(0, 2), record.receive(2, 0);
  record.ran(0, 0, {0, 50, 0, 10}), record.ran(0, 1, {0, 60, 0, 20}), record.ran(0, 2, {0, 55, 0, 10});
  record.ran(1, 0, {0, 50, 0, 10}), record.ran(1, 1, second), record.ran(2, 0, {0, 55, 0, 10});
  TimeByCause repaired, sent, paused;
  sent[Cause::kTransmitting] = repaired[Cause::kTransmitting] = microseconds(10);
  repaired[Cause::kRecovering] = microseconds(40);
  paused[Cause::kPaused] = microseconds(30);
  record.caused(0, 0, ConnectionId(0), repaired), record.caused(0, 1, ConnectionId(0), sent);
  record.caused(0, 2, record.connection(0, 2), paused);
  return record;
}

// Both are received from 0 on: the path is the second RECV alone.
TEST(Waterfall, AMessageWaitsBehindTheRepairOfAnEarlierOne) {
  PathRecord record;
  const Waterfall result = waterfall_of(waits_behind_a_repair(record, {0, 61, 0, 20}));
  EXPECT_EQ(result.gap, microseconds(41));
  EXPECT_EQ(result[GapCause::kRecovering], microseconds(40));
  EXPECT_EQ(result[GapCause::kPaused], Duration()) << "another connection";
  EXPECT_EQ(result[GapCause::kOtherChain], microseconds(1)) << "both were on the line for 20 us";
  EXPECT_EQ(result[GapCause::kUnexplained], Duration());
}

// The second is received from 50 us on, when the repair has ended, which is the first step's alone, and takes 11 us
// instead of the 10 from 10 us on.
TEST(Waterfall, ARepairThatEndedBeforeTheStepIsNotCharged) {
  PathRecord record;
  const Waterfall result = waterfall_of(waits_behind_a_repair(record, {50, 61, 10, 20}));
  EXPECT_EQ(result.gap, microseconds(41));
  EXPECT_EQ(result[GapCause::kRecovering], microseconds(40));
  EXPECT_EQ(result[GapCause::kOtherChain], microseconds(1));
}

// Rank 1 receives from 20 us on what rank 0 has sent by 10 us in the reference, and in the run from 15 to 25 us.
TEST(Waterfall, WhatTheReferenceHadOnTheLineBeforeIsAnotherChain) {
  for (const bool is_known : {true, false}) {
    PathRecord record;
    record.compute(1, "x"), record.ran(1, 0, {0, 20});
    record.send(0, 1), record.ran(0, 0, {15, 25, 0, 10});
    record.receive(1, 0), record.ran(1, 1, {20, 26, 20, 20});
    TimeByCause sent;
    sent[Cause::kTransmitting] = microseconds(10);
    if (is_known) record.caused(0, 0, ConnectionId(0), sent);
    const Waterfall result = waterfall_of(record);
    EXPECT_EQ(result.gap, microseconds(6));
    EXPECT_EQ(result[is_known ? GapCause::kOtherChain : GapCause::kUnexplained], microseconds(6));
  }
}

// One connection is held up for 15 us; it was idle for the rest, of which the other was for 9 us.
TEST(Waterfall, AConnectionOfACollectiveWaitsForTheOthers) {
  PathRecord record;
  computes_and_reduces(record);
  record.ran(0, 0, {0, 10}), record.ran(1, 0, {0, 10});
  record.ran(0, 1, {10, 60, 10, 30}), record.ran(1, 1, {10, 59, 10, 29});
  TimeByCause longest, next;
  longest[Cause::kRecovering] = microseconds(12), longest[Cause::kWindow] = microseconds(3);
  next[Cause::kRecovering] = microseconds(9);
  record.caused(0, 1, ConnectionId(0), next), record.caused(1, 1, ConnectionId(1), longest);
  const Waterfall result = waterfall_of(record);
  EXPECT_EQ(result.gap, microseconds(30));
  EXPECT_EQ(result[GapCause::kRecovering], microseconds(12 + 9));
  EXPECT_EQ(result[GapCause::kWindow], microseconds(3));
  EXPECT_EQ(result[GapCause::kUnexplained], microseconds(6));
}

TEST(Waterfall, ABroadcastIsAChainOfConnections) {
  PathRecord record;
  for (const uint32_t rank : {0, 1}) record.collective(rank, "broadcast", RankId(0));
  record.ran(0, 0, {0, 20, 0, 5}), record.ran(1, 0, {0, 40, 0, 10});
  TimeByCause causes;
  causes[Cause::kWindow] = microseconds(14);
  record.caused(0, 0, ConnectionId(0), causes), record.caused(1, 0, ConnectionId(1), causes);
  EXPECT_EQ(waterfall_of(record)[GapCause::kWindow], microseconds(28)) << "of 30";
}

// Both wait until 15 us for the start of job b; the run begins it 1 us late.
TEST(Waterfall, WhatBothWaitedForIsNoCause) {
  PathRecord record;
  record.compute(0, "x");
  record.ran(0, 0, {16, 20, 15, 19});
  const Waterfall result = waterfall_of(record);
  EXPECT_EQ(result.gap, microseconds(1));
  EXPECT_EQ(result[GapCause::kBetween], microseconds(1));
  EXPECT_EQ(result[GapCause::kOtherChain], Duration());
}

TEST(Waterfall, WhatWasFasterStandsApart) {
  PathRecord record;
  computes_and_reduces(record);
  record.ran(0, 0, {0, 10}), record.ran(1, 0, {0, 10});
  record.ran(0, 1, {10, 20, 10, 30}), record.ran(1, 1, {10, 20, 10, 30});
  const Waterfall result = waterfall_of(record);
  EXPECT_EQ(result.gap, microseconds(-10));
  EXPECT_EQ(result[GapCause::kFaster], microseconds(-10));
  EXPECT_EQ(result[GapCause::kUnexplained], Duration());
}

TEST(Waterfall, AnotherChainOfTheReferenceIsNamed) {
  PathRecord record;
  record.compute(0, "x"), record.compute(1, "y");
  // The reference waits for rank 0 until 40 us, the run for rank 1, which the reference has done in 10.
  record.ran(0, 0, {0, 5, 0, 40}), record.ran(1, 0, {0, 50, 0, 10});
  const Waterfall result = waterfall_of(record);
  EXPECT_EQ(result.gap, microseconds(10));
  EXPECT_EQ(result[GapCause::kCompute], microseconds(40));
  EXPECT_EQ(result[GapCause::kOtherChain], microseconds(-30));
}

/// Rank 0 sends to rank 1 from 0 to 100 us, 90 us longer than in the reference: 40 us with a full window, 50 us for the
/// last acknowledgements.
PathRecord& waits_for_acknowledgements(PathRecord& record) {
  record.send(0, 1), record.receive(1, 0);
  record.ran(0, 0, {0, 100, 0, 10}), record.ran(1, 0, {0, 100, 0, 10});
  TimeByCause causes;
  causes[Cause::kWindow] = microseconds(40), causes[Cause::kAcknowledgement] = microseconds(50);
  record.caused(0, 0, ConnectionId(0), causes);
  return record;
}

// Of a round trip of 10 us 2 us are the model's, 6 us more the least that any takes, 2 us waiting: of 90 us they are 54
// and 18. Nobody else sends to rank 1, so nobody is waited for.
TEST(Waterfall, AWayLongerThanTheModelsIsTold) {
  PathRecord record;
  waits_for_acknowledgements(record).round_trips(8, 10);
  record.models_path(1);
  const Waterfall result = waterfall_of(record);
  EXPECT_EQ(result[GapCause::kPathLatency], microseconds(54));
  EXPECT_EQ(result[GapCause::kQueueingOwnJob], Duration());
  EXPECT_EQ(result[GapCause::kQueueingOthers], Duration());
  EXPECT_EQ(result[GapCause::kAcknowledgement], Duration());
  EXPECT_EQ(result[GapCause::kWindow], microseconds(90 - 54));
}

// As above, from port 0; from port 1 the way is short. The background has 40 us of line time to rank 1, more than
// the 18.
TEST(Waterfall, AWayLongerThanThatOfOtherPortsIsNoQueueing) {
  PathRecord record;
  waits_for_acknowledgements(record).round_trips(8, 10, PortId(0));
  record.round_trips(2, 10, PortId(1));
  record.models_path(1);
  record.background.push_back({.job = JobId(1), .name = "noise", .pattern = "incast", .start = Time(), .stop = {}});
  record.connection(3, 1, JobId(1), microseconds(40));
  const Waterfall result = waterfall_of(record);
  EXPECT_EQ(result[GapCause::kPathLatency], microseconds(54));
  EXPECT_NEAR(static_cast<double>(result[GapCause::kQueueingOthers].ps), 18e6, 2);
}

TEST(Waterfall, WithoutMessagesOfTheModelItsWayIsNotKnown) {
  PathRecord record;
  waits_for_acknowledgements(record).round_trips(8, 10);
  EXPECT_EQ(waterfall_of(record)[GapCause::kPathLatency], Duration());
}

// Of 10 us 8 are waiting, 72 of 90 us. A SEND of rank 2 to rank 1 has 10 us of line time from 0 to 100 us, the
// background 40 us in the whole run, which are the same 100 us: together 50 us, a fifth and four fifths.
TEST(Waterfall, QueueingIsSharedByWhatOthersSendToTheSamePort) {
  PathRecord record;
  waits_for_acknowledgements(record).round_trips(2, 10);
  record.models_path(1);
  record.send(2, 1);
  record.ran(2, 0, {0, 100, 0, 100});
  TimeByCause causes;
  causes[Cause::kTransmitting] = microseconds(10);
  record.caused(2, 0, record.connection(2, 1), causes);
  record.background.push_back({.job = JobId(1), .name = "noise", .pattern = "incast", .start = Time(), .stop = {}});
  record.connection(3, 1, JobId(1), microseconds(40));
  record.connection(3, 2, JobId(1), microseconds(500));  // to another port
  const Waterfall result = waterfall_of(record);
  EXPECT_EQ(result[GapCause::kPathLatency], Duration());
  EXPECT_NEAR(static_cast<double>(result[GapCause::kQueueingOwnJob].ps), 10e6, 2);
  EXPECT_NEAR(static_cast<double>(result[GapCause::kQueueingOthers].ps), 40e6, 2);
  EXPECT_EQ(result[GapCause::kAcknowledgement], Duration());
}

// Ports 0 and 2 are at leaf 0, ports 1 and 3 at leaf 1, with two cables to the spine each. The background from rank 2
// to rank 3 has 40 us of line time, all in the way of who takes the same cable out, or in: 40 of the 72 us that wait.
// Of who takes others nobody is in the way, unless it is not known who takes which.
TEST(Waterfall, ParallelCablesAreToldApart) {
  const auto others_with = [](std::optional<ConnectionCables> background) {
    PathRecord record;
    waits_for_acknowledgements(record).round_trips(2, 10);
    record.models_path(1);
    record.background.push_back({.job = JobId(1), .name = "noise", .pattern = "incast", .start = Time(), .stop = {}});
    const ConnectionId noise = record.connection(2, 3, JobId(1), microseconds(40));
    for (uint32_t port = 0; port < 4; ++port) {
      record.ports.push_back({.port = PortId(port), .name = fmt::format("p{}", port)});
      record.ports.push_back({.port = PortId(port), .name = fmt::format("leaf{}.p{}", port % 2, port)});
    }
    if (background) {
      background->connection = noise;
      record.cables = {{ConnectionId(0), "leaf0.spine#0", "spine.leaf1#0", "leaf1.spine#0", "spine.leaf0#0"},
                       *background};
    }
    return waterfall_of(record)[GapCause::kQueueingOthers];
  };
  const auto takes = [](const std::string& out, const std::string& into) {
    return ConnectionCables{{}, "leaf0.spine#" + out, "spine.leaf1#" + into, "leaf1.spine#1", "spine.leaf0#1"};
  };
  constexpr double kAll = 40e6;
  EXPECT_NEAR(static_cast<double>(others_with(takes("0", "1")).ps), kAll, 2);
  EXPECT_NEAR(static_cast<double>(others_with(takes("1", "0")).ps), kAll, 2);
  EXPECT_EQ(others_with(takes("1", "1")), Duration());
  EXPECT_NEAR(static_cast<double>(others_with(std::nullopt).ps), kAll, 2);
}

}  // namespace
}  // namespace rankwire

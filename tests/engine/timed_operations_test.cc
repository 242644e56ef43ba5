// Operations whose durations are known beforehand.
#include "emulator/engine/timed_operations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "emulator/engine/communication_times.h"
#include "tests/engine/bench.h"
#include "tests/engine/workload_builder.h"

namespace rankwire {
namespace {

using testing::at_us;
using ::testing::HasSubstr;
using testing::RowsOfARun;
using testing::WorkloadBuilder;

/// A workload of which no message is sent.
struct TimedRun {
  TimedRun(const Workload& workload, const CommunicationTimes& times, EngineOptions options = {}) {
    options.times = &times;
    Plan nothing;
    Engine engine(workload, nothing, options, rows);
    NetworkModel model(Network{});
    model.connect(model.prepare(nothing.transport));
    VirtualClock clock;
    result = rankwire::run(engine, model, {}, clock, {}, testing::kGoOn);
    ranks = engine.rank_times();
  }

  RowsOfARun rows;
  RunResult result;
  std::vector<Duration> ranks;
};

void record(Workload& workload, uint32_t rank, uint32_t node, int64_t us) {
  workload.ranks[rank].nodes[node].recorded = microseconds(us);
}

TEST(TimedOperations, ACollectiveEndsItsTimeAfterTheLastHasBegun) {
  WorkloadBuilder builder(3);
  const GroupId world = builder.group("world", {0, 1, 2});
  for (uint32_t r = 0; r < 3; ++r) {
    const uint32_t work = builder.compute(r, microseconds(10 * r));
    builder.collective(r, CollectiveKind::kAllReduce, world, 8, {work});
  }
  const Workload workload = builder.build();
  CommunicationTimes times = number_operations(workload);
  times.collectives[world.value][0] = microseconds(7);
  const TimedRun run(workload, times);
  ASSERT_EQ(run.result.verdict, Verdict::kOk) << run.result.reason;
  // The last begins at 20 us.
  EXPECT_EQ(run.ranks, std::vector<Duration>(3, microseconds(27)));
  EXPECT_EQ(run.rows.of(1, 1).start, at_us(10));
}

TEST(TimedOperations, CollectivesOfAGroupFollowEachOther) {
  WorkloadBuilder builder(2);
  const GroupId world = builder.group("world", {0, 1});
  for (uint32_t r = 0; r < 2; ++r) {
    for (int i = 0; i < 3; ++i) builder.collective(r, CollectiveKind::kAllGather, world, 8);
  }
  const Workload workload = builder.build();
  CommunicationTimes times = number_operations(workload);
  times.collectives[world.value] = {microseconds(1), microseconds(2), microseconds(4)};
  const TimedRun run(workload, times, {.iterations = 2});
  ASSERT_EQ(run.result.verdict, Verdict::kOk) << run.result.reason;
  EXPECT_EQ(run.rows.of(0, 1).start, at_us(1));
  EXPECT_EQ(run.rows.of(1, 2).end, at_us(7));
  EXPECT_EQ(run.ranks[1], microseconds(14));
}

TEST(TimedOperations, AMessageIsOnItsWayWhenTheSendBegins) {
  // The receiver begins before, while and after the message is on its way; delivered after 5 us, sent after 6.
  for (const auto& [receiver_us, ends_us] : {std::pair{0, 15}, {12, 15}, {15, 15}, {40, 40}}) {
    WorkloadBuilder builder(2);
    const uint32_t first = builder.compute(0, microseconds(10)), other = builder.compute(1, microseconds(receiver_us));
    const uint32_t send = builder.send(0, 1, 0, 8, {first}), receive = builder.receive(1, 0, 0, 8, {other});
    const Workload workload = builder.build();
    CommunicationTimes times = number_operations(workload);
    ASSERT_EQ(times.transfers.size(), 1u);
    times.transfers[0] = {false, microseconds(5), microseconds(6)};
    const TimedRun run(workload, times);
    ASSERT_EQ(run.result.verdict, Verdict::kOk) << run.result.reason;
    EXPECT_EQ(run.rows.of(0, send).end, at_us(16));
    EXPECT_EQ(run.rows.of(1, receive).end, at_us(ends_us)) << receiver_us;
  }
}

TEST(TimedOperations, ARendezvousBeginsWhenBothHave) {
  for (const auto& [sender_us, receiver_us] : {std::pair{10, 30}, {30, 10}}) {
    WorkloadBuilder builder(2);
    const uint32_t first = builder.compute(0, microseconds(sender_us));
    const uint32_t other = builder.compute(1, microseconds(receiver_us));
    const uint32_t send = builder.send(0, 1, 0, 8, {first}), receive = builder.receive(1, 0, 0, 8, {other});
    const Workload workload = builder.build();
    CommunicationTimes times = number_operations(workload);
    times.transfers[0] = {true, microseconds(5), microseconds(5)};
    const TimedRun run(workload, times, {.iterations = 3});
    ASSERT_EQ(run.result.verdict, Verdict::kOk) << run.result.reason;
    EXPECT_EQ(run.rows.of(0, send).end, at_us(35));
    EXPECT_EQ(run.rows.of(1, receive).end, at_us(35));
    EXPECT_EQ(run.ranks[0], microseconds(105));
  }
}

TEST(TimedOperations, MessagesOfOneTagStayInOrder) {
  WorkloadBuilder builder(2);
  for (int i = 0; i < 2; ++i) builder.send(0, 1, 9, 8);
  for (int i = 0; i < 2; ++i) builder.receive(1, 0, 9, 8);
  const Workload workload = builder.build();
  CommunicationTimes times = number_operations(workload);
  ASSERT_EQ(times.transfers.size(), 2u);
  times.transfers = {{false, microseconds(3), microseconds(3)}, {false, microseconds(8), microseconds(8)}};
  const TimedRun run(workload, times);
  EXPECT_EQ(run.rows.of(1, 0).end, at_us(3));
  EXPECT_EQ(run.rows.of(1, 1).end, at_us(8));
}

TEST(TimedOperations, WhoWaitsForWhom) {
  WorkloadBuilder builder(3);
  const GroupId world = builder.group("world", {0, 1, 2});
  for (uint32_t r = 0; r < 3; ++r) {
    const uint32_t work = builder.compute(r, r == 1 ? seconds(100) : microseconds(1));
    builder.collective(r, CollectiveKind::kAllReduce, world, 8, {work});
  }
  builder.receive(0, 1, 0, 8);
  builder.send(1, 0, 0, 8, {0});
  const Workload workload = builder.build();
  const CommunicationTimes times = number_operations(workload);
  TimerQueue timers;
  TimedOperations operations(workload, times, timers);
  operations.start(RankId(0), 1, 0, Time());
  operations.start(RankId(2), 1, 0, Time());
  operations.start(RankId(0), 2, 0, Time());
  const std::vector<std::string> lines = operations.waiting(10);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_THAT(lines[0], HasSubstr("rank 0 in 'collective' of group 'world' waits for 1 of its 3 members"));
  EXPECT_THAT(lines[0], HasSubstr("rank 1"));
  EXPECT_THAT(lines[1], HasSubstr("rank 0 in 'receive' waits for rank 1"));
  EXPECT_EQ(operations.waiting(1).size(), 1u);
}

TEST(RecordedTimes, TheShortestOfAnOperationIsTheNetworks) {
  WorkloadBuilder builder(2);
  const GroupId world = builder.group("world", {0, 1});
  for (uint32_t r = 0; r < 2; ++r) builder.collective(r, CollectiveKind::kAllReduce, world, 8);
  builder.send(0, 1, 4, 8);
  builder.receive(1, 0, 4, 8);
  Workload workload = builder.build();
  record(workload, 0, 0, 90);
  record(workload, 1, 0, 20);
  record(workload, 0, 1, 5);
  record(workload, 1, 1, 6);
  const CommunicationTimes times = recorded_times(workload);
  EXPECT_EQ(times.collectives[world.value][0], microseconds(20));
  EXPECT_TRUE(times.transfers.at(0).rendezvous);
  EXPECT_EQ(times.transfers.at(0).delivered, microseconds(5));
  EXPECT_EQ(times.transfers.at(0).sent, microseconds(5));
}

TEST(RecordedTimes, WhatWasNotRecordedIsAnError) {
  WorkloadBuilder builder(1);
  const GroupId alone = builder.group("alone", {0});
  builder.collective(0, CollectiveKind::kAllReduce, alone, 8);
  const Workload workload = builder.build();
  try {
    recorded_times(workload);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInput);
    EXPECT_THAT(error.what(), HasSubstr("node 1 of rank 0"));
  }
}

}  // namespace
}  // namespace rankwire

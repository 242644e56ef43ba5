#include "emulator/engine/running_operations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "tests/engine/bench.h"
#include "tests/engine/hand_made_plan.h"

namespace rankwire {
namespace {

using testing::HandMadePlan;
using ::testing::IsEmpty;
using testing::receive;
using testing::reduce;
using testing::send;

constexpr RankId kRank(0);

constexpr Time at(int64_t ns) {
  return Time() + nanoseconds(ns);
}

/// The operation of rank 0 alone: what comes from the others is what a test says.
struct OneOperation {
  explicit OneOperation(Plan made, ReduceTimes reduces = {})
      : plan(std::move(made)), operations(workload, plan, reduces, timers, arrivals, ties) {}

  void start(Time now, uint32_t iteration = 0) { operations.start(kRank, 0, iteration, now); }
  /// The first message of the connection in iteration 0 arrives, and completes `step` if that has waited for it.
  void arrive(ConnectionId connection, uint32_t step, Time now) {
    if (arrivals.arrive(connection, 0, 0) == MessageArrivals::Arrival::kAwaited) operations.complete(0, step, now);
  }

  Workload workload = testing::all_reduce_of_three(3'000);
  Plan plan;
  TimerQueue timers;
  MessageArrivals arrivals{plan};
  TieWatch ties;
  RunningOperations operations;
};

/// Steps 0 and 1 receive from ranks 1 and 2; then step 2 sends to rank 1.
Plan gathers_two() {
  HandMadePlan made;
  const ConnectionId from_1 = made.connect(1, 0, 1), from_2 = made.connect(2, 0, 1), to_1 = made.connect(0, 1, 1);
  made.add_rank({receive(1, 0, 1'000), receive(2, 0, 1'000), send(1, 1, 2'000)}, {{0, 2}, {1, 2}},
                {from_1, from_2, to_1});
  made.add_rank({send(0, 0, 1'000), receive(0, 1, 2'000)}, {}, {from_1, to_1});
  made.add_rank({send(0, 0, 1'000)}, {}, {from_2});
  return made.build();
}

TEST(RunningOperations, AStepStartsWithTheLastThatItWaitsFor) {
  OneOperation operation(gathers_two());
  operation.start(at(0));
  operation.arrive(ConnectionId(0), 0, at(10));
  EXPECT_THAT(operation.operations.outgoing(), IsEmpty()) << "step 1 is not complete";
  operation.arrive(ConnectionId(1), 1, at(20));
  ASSERT_EQ(operation.operations.outgoing().size(), 1u);
  const Message& sent = operation.operations.outgoing().front();
  EXPECT_EQ(sent.connection, ConnectionId(2));
  EXPECT_EQ(sent.bytes, Bytes(2'000));
  EXPECT_EQ(sent.index, 0u);
  EXPECT_EQ(to_string(sent.id), "job 0 group 0 #0 iteration 0 rank 0 -> 1 step 1 channel 0 slice 0");
  EXPECT_THAT(operation.operations.finished(), IsEmpty()) << "its message is not acknowledged";
  operation.operations.posted(1);
  EXPECT_THAT(operation.operations.outgoing(), IsEmpty());

  operation.operations.complete(0, 2, at(35));
  ASSERT_EQ(operation.operations.finished().size(), 1u);
  const FinishedOperation& finished = operation.operations.finished().front();
  EXPECT_EQ(finished.rank, kRank);
  EXPECT_EQ(finished.node, 0u);
  EXPECT_EQ(finished.start, at(0));
  EXPECT_EQ(finished.end, at(35));
}

TEST(RunningOperations, WhatHasArrivedBeforeIsNotWaitedFor) {
  OneOperation operation(gathers_two());
  for (const uint32_t connection : {0u, 1u}) operation.arrive(ConnectionId(connection), connection, at(5));
  operation.start(at(10));
  EXPECT_EQ(operation.operations.outgoing().size(), 1u);
}

// Each iteration has one message on the connection: the second iteration's has the index 1.
TEST(RunningOperations, MessagesOfIterationsAreNumberedOn) {
  OneOperation operation(gathers_two());
  for (const uint32_t connection : {0u, 1u}) operation.arrivals.arrive(ConnectionId(connection), 0, 1);
  operation.start(at(0), 1);
  ASSERT_EQ(operation.operations.outgoing().size(), 1u);
  EXPECT_EQ(operation.operations.outgoing().front().index, 1u);
  EXPECT_EQ(operation.operations.outgoing().front().id.iteration, 1u);
}

TEST(RunningOperations, SaysWhatTheNetworkOwesThem) {
  OneOperation operation(gathers_two());
  EXPECT_THAT(operation.operations.waiting(64), IsEmpty());
  operation.start(at(0));
  operation.arrive(ConnectionId(0), 0, at(10));
  ASSERT_EQ(operation.operations.waiting(64).size(), 1u);
  const Waiting receives = operation.operations.waiting(64).front();
  EXPECT_EQ(receives.kind, StepKind::kReceive);
  EXPECT_EQ(receives.connection, ConnectionId(1));
  EXPECT_EQ(receives.message.source, 2u);
  EXPECT_THAT(operation.operations.waiting(0), IsEmpty());

  operation.arrive(ConnectionId(1), 1, at(20));
  ASSERT_EQ(operation.operations.waiting(64).size(), 1u);
  const Waiting sends = operation.operations.waiting(64).front();
  EXPECT_EQ(sends.kind, StepKind::kSend);
  EXPECT_EQ(sends.connection, ConnectionId(2));
  EXPECT_EQ(sends.rank, kRank);
  operation.operations.complete(0, 2, at(35));
  EXPECT_THAT(operation.operations.waiting(64), IsEmpty());
}

/// Two receives, and a reduce after each; `second` is the channel of the second reduce.
Plan reduces_two(uint8_t second) {
  HandMadePlan made;
  const ConnectionId from_1 = made.connect(1, 0, 1), from_2 = made.connect(2, 0, 1);
  Step other = reduce(2, 0, 3'000);
  other.channel = second;
  made.add_rank({receive(1, 0, 1'000), receive(2, 0, 3'000), reduce(1, 0, 1'000), other}, {{0, 2}, {1, 3}},
                {from_1, from_2});
  made.add_rank({send(0, 0, 1'000)}, {}, {from_1});
  made.add_rank({send(0, 0, 3'000)}, {}, {from_2});
  return made.build();
}

// At one byte a nanosecond + 50 ns they take 1050 and 3050 ns; the first has begun at 10, the second is ready at 20.
TEST(RunningOperations, AChannelReducesOneAfterTheOther) {
  OneOperation operation(reduces_two(0), {.bandwidth = Bandwidth(8'000'000'000), .latency = nanoseconds(50)});
  operation.start(at(0));
  operation.arrive(ConnectionId(0), 0, at(10));
  operation.arrive(ConnectionId(1), 1, at(20));
  const TimerQueue::Timer first = operation.timers.pop(), second = operation.timers.pop();
  EXPECT_EQ(first.kind, TimerQueue::Kind::kReduce);
  EXPECT_EQ(first.at, at(10 + 1'050));
  EXPECT_EQ(first.item, 2u);
  EXPECT_EQ(second.at, at(10 + 1'050 + 3'050));
  EXPECT_EQ(second.item, 3u);
  operation.operations.complete(first.owner, first.item, first.at);
  EXPECT_THAT(operation.operations.finished(), IsEmpty());
  operation.operations.complete(second.owner, second.item, second.at);
  ASSERT_EQ(operation.operations.finished().size(), 1u);
  EXPECT_EQ(operation.operations.finished().front().end, second.at);
}

TEST(RunningOperations, ChannelsReduceSideBySide) {
  const Plan plan = reduces_two(1);
  EXPECT_EQ(RunningOperations::channels(plan), 2u + 1 + 1) << "and one each of ranks 1 and 2, which do not reduce";
  OneOperation operation(plan, {.latency = nanoseconds(50)});
  operation.start(at(0));
  operation.arrive(ConnectionId(0), 0, at(10));
  operation.arrive(ConnectionId(1), 1, at(20));
  EXPECT_EQ(operation.timers.pop().at, at(60));
  EXPECT_EQ(operation.timers.pop().at, at(70));
}

TEST(RunningOperations, ReducingForNothingTakesNoTimer) {
  OneOperation operation(reduces_two(0));
  operation.start(at(0));
  operation.arrive(ConnectionId(0), 0, at(10));
  operation.arrive(ConnectionId(1), 1, at(20));
  EXPECT_EQ(operation.timers.next(), Time::never());
  ASSERT_EQ(operation.operations.finished().size(), 1u);
  EXPECT_EQ(operation.operations.finished().front().end, at(20));
}

}  // namespace
}  // namespace rankwire

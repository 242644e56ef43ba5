#include "emulator/engine/engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "emulator/engine/run.h"
#include "emulator/engine/split_transport.h"
#include "emulator/simulator/network_model.h"
#include "fabric/network.h"
#include "tests/engine/bench.h"
#include "tests/engine/workload_builder.h"

namespace rankwire {
namespace {

using testing::all_reduce_of_three;
using testing::Bench;
using ::testing::HasSubstr;
using testing::WorkloadBuilder;

TEST(Engine, ComputeChainTakesTheSumOfItsDurations) {
  WorkloadBuilder builder(1);
  const uint32_t a = builder.compute(0, microseconds(3));
  const uint32_t b = builder.compute(0, microseconds(4), {a});
  builder.compute(0, microseconds(5), {a, b});
  Bench bench(builder.build());
  EXPECT_EQ(bench.run().verdict, Verdict::kOk);
  EXPECT_EQ(bench.engine.rank_times().front(), microseconds(12));
  EXPECT_EQ(bench.rows.of(0, 1).start, Time() + microseconds(3));
  EXPECT_EQ(bench.rows.of(0, 1).end, Time() + microseconds(7));
}

TEST(Engine, LatenessOfTheLoopDoesNotAddUpAlongAChain) {
  WorkloadBuilder builder(1);
  const uint32_t a = builder.compute(0, microseconds(3));
  builder.compute(0, microseconds(4), {a});
  Bench bench(builder.build());
  bench.engine.advance(Time());
  // Nobody looks until 100 us: both ended long ago.
  bench.engine.advance(Time() + microseconds(100));
  EXPECT_TRUE(bench.engine.finished());
  EXPECT_EQ(bench.rows.of(0, 1).start, Time() + microseconds(3));
  EXPECT_EQ(bench.rows.of(0, 1).end, Time() + microseconds(7));
}

TEST(Engine, IndependentComputesShareTheConfiguredPlacesLowestIdFirst) {
  const auto workload = [] {
    WorkloadBuilder builder(1);
    for (int i = 0; i < 4; ++i) builder.compute(0, microseconds(10));
    Workload made = builder.build();
    std::swap(made.ranks[0].nodes[0].id, made.ranks[0].nodes[3].id);  // ids 4 2 3 1
    return made;
  };
  Bench one(workload()), two(workload(), {.compute = 2});
  one.run();
  two.run();
  EXPECT_EQ(one.engine.rank_times().front(), microseconds(40));
  EXPECT_EQ(two.engine.rank_times().front(), microseconds(20));
  EXPECT_EQ(one.rows.of(0, 3).start, Time());                     // id 1
  EXPECT_EQ(one.rows.of(0, 0).start, Time() + microseconds(30));  // id 4
}

TEST(Engine, RingAllReduceTakesItsCriticalPath) {
  // 4 ranks, 4000 bytes: 2(n-1) = 6 steps of 1000 bytes; each step 1000 ns at one byte a nanosecond. The last step ends
  // when its message is delivered; the acknowledgement takes no longer.
  WorkloadBuilder builder(4);
  const GroupId world = builder.group("world", {0, 1, 2, 3});
  for (uint32_t r = 0; r < 4; ++r) builder.collective(r, CollectiveKind::kAllReduce, world, 4'000);
  Bench bench(builder.build());
  EXPECT_EQ(bench.run().verdict, Verdict::kOk);
  EXPECT_EQ(bench.engine.rank_times(), std::vector<Duration>(4, nanoseconds(6'000)));
  EXPECT_EQ(bench.engine.communication().counters().delivered, 4u * 6);
}

TEST(Engine, ReducingTakesTimeOnTheOperationsChannel) {
  // As above; each of the three reduce-scatter steps reduces 1000 bytes at 2 bytes a nanosecond + 100 ns = 600 ns.
  WorkloadBuilder builder(4);
  const GroupId world = builder.group("world", {0, 1, 2, 3});
  for (uint32_t r = 0; r < 4; ++r) builder.collective(r, CollectiveKind::kAllReduce, world, 4'000);
  Bench bench(builder.build(),
              {.messages = {.reduce_bandwidth = Bandwidth(16'000'000'000), .reduce_latency = nanoseconds(100)}});
  bench.run();
  EXPECT_EQ(bench.engine.rank_times().front(), nanoseconds(6'000 + 3 * 600));
}

TEST(Engine, CollectivesOfAGroupRunOneAtATimeInRunOrder) {
  WorkloadBuilder builder(2);
  const GroupId pair = builder.group("pair", {0, 1});
  for (uint32_t r = 0; r < 2; ++r) {
    builder.collective(r, CollectiveKind::kAllReduce, pair, 2'000);
    builder.collective(r, CollectiveKind::kAllReduce, pair, 4'000);
  }
  Workload workload = builder.build();
  for (RankTrace& trace : workload.ranks) std::swap(trace.nodes[0].run_order, trace.nodes[1].run_order);
  Bench bench(std::move(workload));
  EXPECT_EQ(bench.run().verdict, Verdict::kOk);
  // The second runs first: 2 steps of 2000 bytes, then 2 steps of 1000.
  EXPECT_EQ(bench.rows.of(0, 1).end, Time() + nanoseconds(4'000));
  EXPECT_EQ(bench.rows.of(0, 0).start, Time() + nanoseconds(4'000));
  EXPECT_EQ(bench.rows.of(0, 0).end, Time() + nanoseconds(6'000));
}

TEST(Engine, GroupsOverlapUnlessCommunicationIsLimited) {
  const auto workload = [] {
    WorkloadBuilder builder(3);
    const GroupId a = builder.group("a", {0, 1}), b = builder.group("b", {0, 2});
    for (uint32_t r : {0u, 1u}) builder.collective(r, CollectiveKind::kBroadcast, a, 1'000);
    for (uint32_t r : {0u, 2u}) builder.collective(r, CollectiveKind::kBroadcast, b, 1'000);
    return builder.build();
  };
  Bench free(workload()), limited(workload(), {.communication = 1});
  free.run();
  limited.run();
  // Both from rank 0: side by side each has half the port, 2000 ns; one after the other 1000 ns each.
  EXPECT_EQ(free.rows.of(1, 0).end, Time() + nanoseconds(2'000));
  EXPECT_EQ(limited.rows.of(1, 0).end, Time() + nanoseconds(1'000));
  EXPECT_EQ(limited.rows.of(2, 0).end, Time() + nanoseconds(2'000));
}

TEST(Engine, MessagesThatArriveBeforeTheirReceiveAreKept) {
  WorkloadBuilder builder(2);
  builder.send(0, 1, 1, 500);
  builder.send(0, 1, 0, 500);
  const uint32_t busy = builder.compute(1, microseconds(50));
  builder.receive(1, 0, 0, 500, {busy});
  builder.receive(1, 0, 1, 500, {busy});
  Bench bench(builder.build());
  EXPECT_EQ(bench.run().verdict, Verdict::kOk);
  EXPECT_EQ(bench.rows.of(1, 1).end, Time() + microseconds(50));
  EXPECT_EQ(bench.rows.of(1, 2).end, Time() + microseconds(50));
}

TEST(Engine, IterationsFollowEachOtherRankByRank) {
  WorkloadBuilder builder(2);
  const GroupId pair = builder.group("pair", {0, 1});
  for (uint32_t r = 0; r < 2; ++r) {
    const uint32_t c = builder.compute(r, microseconds(1 + r));
    builder.collective(r, CollectiveKind::kAllReduce, pair, 2'000, {c});
  }
  Bench bench(builder.build(), {.iterations = 5});
  EXPECT_EQ(bench.run().verdict, Verdict::kOk);
  // The slower rank computes 2 us, then 2 steps of 1000 bytes: 4 us an iteration.
  EXPECT_EQ(bench.engine.rank_times().back(), microseconds(5 * 4));
  EXPECT_EQ(bench.rows.operations_.size(), 2u * 2 * 5);
  EXPECT_EQ(bench.rows.of(1, 1, 4).start, Time() + microseconds(4 * 4 + 2));
}

TEST(Engine, NothingToSendTakesNoTime) {
  WorkloadBuilder builder(2);
  const GroupId alone = builder.group("alone", {0}), pair = builder.group("pair", {0, 1});
  builder.collective(0, CollectiveKind::kAllReduce, alone, 1'000'000);
  for (uint32_t r = 0; r < 2; ++r) builder.collective(r, CollectiveKind::kAllReduce, pair, 0);
  Bench bench(builder.build());
  EXPECT_EQ(bench.run().verdict, Verdict::kOk);
  EXPECT_EQ(bench.engine.rank_times().front(), Duration(0));
}

TEST(Engine, TheSameRunTwiceIsTheSameRecord) {
  const auto record = [] {
    WorkloadBuilder builder(8);
    const GroupId world = builder.group("world", {0, 1, 2, 3, 4, 5, 6, 7});
    for (uint32_t r = 0; r < 8; ++r) {
      const uint32_t c = builder.compute(r, nanoseconds(100 * (r % 3)));
      builder.collective(r, CollectiveKind::kAllToAll, world, 80'000, {c});
      builder.collective(r, CollectiveKind::kAllReduce, world, 8'001);
    }
    Bench bench(builder.build(), {}, {.channels = 2, .chunk = Bytes(1'000)});
    bench.run();
    return std::make_pair(bench.rows.operations_, bench.rows.messages_);
  };
  const auto first = record(), second = record();
  ASSERT_EQ(first.first.size(), second.first.size());
  ASSERT_EQ(first.second.size(), second.second.size());
  EXPECT_EQ(std::memcmp(first.first.data(), second.first.data(), first.first.size() * sizeof(OperationRecord)), 0);
  for (size_t i = 0; i < first.second.size(); ++i) {
    EXPECT_EQ(first.second[i].id, second.second[i].id);
    EXPECT_EQ(first.second[i].last, second.second[i].last);
  }
}

TEST(Run, TheDeadlineEndsTheRun) {
  WorkloadBuilder builder(1);
  builder.compute(0, seconds(10), {builder.compute(0, seconds(10))});
  Bench bench(builder.build());
  NetworkModel model(bench.network());
  const RunResult result = bench.run_over(model, {.deadline = seconds(5)});
  EXPECT_EQ(result.verdict, Verdict::kFailed);
  EXPECT_THAT(result.reason, HasSubstr("deadline of 5 s"));
}

TEST(Run, ASignalEndsTheRun) {
  Bench bench(all_reduce_of_three(3'000));
  NetworkModel model(bench.network());
  const std::atomic<bool> interrupted{true};
  EXPECT_EQ(bench.run_over(model, {}, interrupted).verdict, Verdict::kInterrupted);
  EXPECT_EQ(bench.engine.communication().counters().posted, 0u) << "its connections may not have been made";
}

TEST(SplitTransport, SendsLocalTrafficToTheLocalTransport) {
  WorkloadBuilder builder(4);
  const GroupId world = builder.group("world", {0, 1, 2, 3});
  for (uint32_t r = 0; r < 4; ++r) builder.collective(r, CollectiveKind::kAllToAll, world, 4'000);
  Bench bench(builder.build());
  bench.placement =
      place_ranks(4, {.hosts = 2, .npus = 2, .nics = 2, .ports = 4, .addresses = {.first = Ipv4Address{1}}});
  bench.plan = make_plan(bench.workload, bench.placement, {}, 1);
  auto wire = std::make_unique<NetworkModel>(bench.network()), local = std::make_unique<NetworkModel>(bench.network());
  const NetworkModel &on_wire = *wire, &inside = *local;
  SplitTransport split(std::move(wire), std::move(local));
  EXPECT_EQ(bench.run_over(split).verdict, Verdict::kOk);
  EXPECT_EQ(on_wire.counters().messages_delivered, 8u);
  EXPECT_EQ(inside.counters().messages_delivered, 4u);
  uint64_t bytes = 0;
  for (const FlowCounters& flow : split.flows()) bytes += flow.bytes;
  EXPECT_EQ(bytes, 12u * 1'000);
}

}  // namespace
}  // namespace rankwire

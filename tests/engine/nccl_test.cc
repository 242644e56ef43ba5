// NCCL's clear-to-send through planner, engine and reference model.
#include <gtest/gtest.h>

#include <map>

#include "emulator/collective/clear_to_send.h"
#include "emulator/engine/engine.h"
#include "emulator/engine/run.h"
#include "emulator/simulator/network_model.h"
#include "fabric/network.h"
#include "tests/engine/bench.h"
#include "tests/engine/workload_builder.h"

namespace rankwire {
namespace {

using testing::one_send;
using testing::WorkloadBuilder;

constexpr Duration kHop = microseconds(1);  // rank to switch and switch to rank, each
constexpr Duration kOneWay = microseconds(2);
constexpr int64_t kSlice = 128 << 10;  // of point-to-point from 1 MiB on

/// Without framing and store-and-forward, a message of n bytes alone on its way takes n nanoseconds and kOneWay.
struct NcclBench : testing::Bench {
  NcclBench(Workload w, const NcclProfile& profile, EngineOptions options = {})
      : Bench(std::move(w), std::move(options), {.nccl = profile}) {}

  RunResult run() {
    NetworkModel model(star_network({.port_bandwidth = std::vector<Bandwidth>(ranks(), testing::kRate),
                                     .port_latency = kHop,
                                     .local_bandwidth = testing::kRate},
                                    plan.transport));
    return run_over(model);
  }
};

Workload one_collective(CollectiveKind kind, uint32_t ranks, int64_t bytes) {
  WorkloadBuilder builder(ranks);
  std::vector<uint32_t> all(ranks);
  for (uint32_t r = 0; r < ranks; ++r) all[r] = r;
  const GroupId world = builder.group("world", all);
  for (uint32_t r = 0; r < ranks; ++r) builder.collective(r, kind, world, bytes);
  return builder.build();
}

// The first clear-to-send takes 64 ns and its way; then 16 slices follow each other without a gap, because the one that
// grants slice k + 8 comes back long before the 8 slices are sent. The sender ends with the last acknowledgement.
TEST(NcclRun, EightSlicesInFlightFillTheLine) {
  NcclBench bench(one_send(16 * kSlice), {.channels = 1, .p2p_channels = 1});
  ASSERT_EQ(bench.run().verdict, Verdict::kOk);
  const Duration received = nanoseconds(64) + kOneWay + nanoseconds(16 * kSlice) + kOneWay;
  EXPECT_EQ(bench.engine.rank_times()[1], received);
  EXPECT_EQ(bench.engine.rank_times()[0], received + kOneWay);
}

// Each slice waits for a clear-to-send that leaves when the slice before has arrived.
TEST(NcclRun, OneStepInFlightCostsARoundTripASlice) {
  NcclBench bench(one_send(16 * kSlice), {.channels = 1, .p2p_channels = 1, .steps_in_flight = 1});
  ASSERT_EQ(bench.run().verdict, Verdict::kOk);
  EXPECT_EQ(bench.engine.rank_times()[1], (nanoseconds(64 + kSlice) + kOneWay * 2) * 16);
}

TEST(NcclRun, WithoutClearToSendOnlyTheDataTakesTime) {
  NcclBench bench(one_send(16 * kSlice), {.channels = 1, .p2p_channels = 1, .clear_to_send = false});
  ASSERT_EQ(bench.run().verdict, Verdict::kOk);
  EXPECT_EQ(bench.engine.rank_times()[1], nanoseconds(16 * kSlice) + kOneWay);
}

// A receiver that is not there does not grant: the sender's line stays empty until it comes.
TEST(NcclRun, NothingIsSentBeforeTheReceiverIsReady) {
  WorkloadBuilder builder(2);
  builder.send(0, 1, 0, kSlice);
  const uint32_t busy = builder.compute(1, microseconds(50));
  builder.receive(1, 0, 0, kSlice, {busy});
  NcclBench bench(builder.build(), {.channels = 1, .p2p_channels = 1});
  ASSERT_EQ(bench.run().verdict, Verdict::kOk);
  EXPECT_EQ(bench.engine.rank_times()[1], microseconds(50) + nanoseconds(64 + kSlice) + kOneWay * 2);
}

// Ring all-reduce of 4 in one channel, protocol Simple, 2 passes of 6 steps of 2 slices of s = 1 MiB. A slice has
// arrived s + 2 us after its start, before the next one has been sent, so that the line is idle only between the
// passes: 2 us until the last slice of the first has arrived. The 20 grants that follow the first four each take 64 ns
// of a line that sends data, unless it happens to be idle.
TEST(NcclRun, RingAllReduceTakesItsCriticalPath) {
  constexpr int64_t kHalfChunk = 1 << 20;
  NcclBench bench(one_collective(CollectiveKind::kAllReduce, 4, 2 * 4 * 2 * kHalfChunk),
                  {.channels = 1, .protocol = NcclProtocol::kSimple});
  ASSERT_EQ(bench.run().verdict, Verdict::kOk);
  const Duration granted = nanoseconds(64) + kOneWay;
  const Duration least = granted + nanoseconds(2 * 6 * 2 * kHalfChunk) + kOneWay * 2;
  for (const Duration time : bench.engine.rank_times()) {
    // A rank ends with the acknowledgement of what it has sent.
    EXPECT_GE(time, least + kOneWay);
    EXPECT_LE(time, least + kOneWay + nanoseconds(20 * 64));
  }
}

// 64 MiB among 4 in 2 channels: 96 slices of 1 MiB from each rank, 256 packets of 4096 bytes and one clear-to-send for
// each. The summary's bytes are the data's: 2 x 3/4 of the input.
TEST(NcclPlan, OneGrantFor256Packets) {
  const NcclBench bench(one_collective(CollectiveKind::kAllReduce, 4, 64 << 20), {.channels = 2});
  uint64_t packets = 0, grants = 0;
  for (const Connection& c : bench.plan.transport.connections) {
    if (c.control) grants += c.messages_per_iteration;
    if (!c.control) packets += c.messages_per_iteration * uint64_t((c.largest_message.count + 4095) / 4096);
  }
  EXPECT_EQ(packets, 4u * 96 * 256);
  EXPECT_EQ(grants, 4u * 96);
  EXPECT_EQ(bench.plan.control_messages, 4u * 96);
  EXPECT_EQ(bench.plan.control_bytes, Bytes(4 * 96 * 64));
  EXPECT_EQ(bench.plan.bytes_wire, Bytes(4 * (64LL << 20) * 3 / 2));
  EXPECT_EQ(bench.plan.messages_per_iteration, 2u * 4 * 96);
}

TEST(NcclPlan, GrantsTravelOnTheQueuePairsOfTheirData) {
  const NcclBench bench(one_collective(CollectiveKind::kAllToAll, 4, 4 << 20), {.channels = 2, .p2p_channels = 2});
  const auto& connections = bench.plan.transport.connections;
  // 4 x 3 pairs, two channels, data and grants.
  EXPECT_EQ(connections.size(), 4u * 3 * 2 * 2);
  for (const Connection& c : connections) {
    ASSERT_EQ(c.control, c.reverse_of.valid());
    if (!c.control) continue;
    EXPECT_EQ(c.largest_message, kClearToSendBytes);
    const Connection& data = connections[c.reverse_of.value];
    EXPECT_FALSE(data.control);
    EXPECT_EQ(data.source, c.destination);
    EXPECT_EQ(data.destination, c.source);
    EXPECT_EQ(data.source_nic, c.destination_nic);
    EXPECT_EQ(data.group, c.group);
    EXPECT_EQ(data.channel, c.channel);
    EXPECT_EQ(data.messages_per_iteration, c.messages_per_iteration);
  }
}

// Both ends of a clear-to-send compute the same id, which is that of its data with the direction reversed.
TEST(NcclPlan, AGrantIsNamedLikeItsData) {
  const NcclBench bench(one_collective(CollectiveKind::kReduceScatter, 3, 3 << 20), {.channels = 1});
  for (const Connection& c : bench.plan.transport.connections) {
    if (!c.control) continue;
    for (uint32_t i = 0; i < c.messages_per_iteration; ++i) {
      const auto id_at = [&](RankId rank, uint32_t node, uint32_t step) {
        const NodePlan& planned = bench.plan.nodes[rank.value][node];
        return message_id(bench.workload, rank, node, bench.plan.step(planned, step), 0);
      };
      const MessageEnds ends = bench.plan.ends(c.id, i);
      MessageId grant = id_at(c.source, ends.source_node, ends.source_step);
      EXPECT_EQ(grant, id_at(c.destination, ends.destination_node, ends.destination_step));
      EXPECT_EQ(grant.control, 1u);
      const MessageEnds granted = bench.plan.ends(c.reverse_of, i);
      const MessageId data = id_at(c.destination, granted.source_node, granted.source_step);
      const uint64_t source = grant.source;
      grant.control = 0, grant.source = grant.destination, grant.destination = source;
      EXPECT_EQ(grant, data);
    }
  }
}

TEST(NcclPlan, LocalPairsHaveNoGrants) {
  const Workload workload = one_collective(CollectiveKind::kAllGather, 4, 1 << 20);
  // Ranks 0, 1 on one host and 2, 3 on another: of the ring's four edges two are local.
  const Placement placement = place_ranks(4, {.policy = PlacementPolicy::kBlock,
                                              .hosts = 2,
                                              .npus = 2,
                                              .nics = 2,
                                              .ports = 4,
                                              .addresses = {.first = Ipv4Address{0xC6120001}}});
  const Plan plan = make_plan(workload, placement, {.nccl = NcclProfile{.channels = 1}}, 1);
  std::map<std::pair<Path, bool>, uint32_t> connections;
  for (const Connection& c : plan.transport.connections) ++connections[{c.path, c.control}];
  EXPECT_EQ((connections[{Path::kWire, false}]), 2u);
  EXPECT_EQ((connections[{Path::kWire, true}]), 2u);
  EXPECT_EQ((connections[{Path::kLocal, false}]), 2u);
  EXPECT_EQ((connections[{Path::kLocal, true}]), 0u);
}

class EveryNcclRun : public ::testing::TestWithParam<std::tuple<CollectiveKind, uint32_t>> {};

TEST_P(EveryNcclRun, EndsOverTheModel) {
  const auto [kind, members] = GetParam();
  for (const uint32_t steps_in_flight : {1u, 8u}) {
    for (const int64_t bytes : {64LL, 300'000LL}) {
      NcclBench bench(one_collective(kind, members, bytes * members),
                      {.channels = 2,
                       .p2p_channels = 2,
                       .steps_in_flight = steps_in_flight,
                       .buffer = Bytes(64 << 10),
                       .p2p_chunk = Bytes(4 << 10)},
                      {.iterations = 3, .messages = {.reduce_latency = microseconds(1)}});
      EXPECT_EQ(bench.run().verdict, Verdict::kOk);
      EXPECT_EQ(bench.engine.communication().counters().delivered, 3 * bench.plan.messages_per_iteration);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Collectives, EveryNcclRun,
    ::testing::Combine(::testing::Values(CollectiveKind::kAllReduce, CollectiveKind::kReduceScatter,
                                         CollectiveKind::kAllGather, CollectiveKind::kBroadcast,
                                         CollectiveKind::kReduce, CollectiveKind::kAllToAll, CollectiveKind::kGather,
                                         CollectiveKind::kScatter, CollectiveKind::kBarrier),
                       ::testing::Range(2u, 10u)));

}  // namespace
}  // namespace rankwire

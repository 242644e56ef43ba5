// NCCL's profile: message sizes derived by hand from NCCL's rules, and operations that neither lose data nor deadlock.
#include <gtest/gtest.h>

#include <map>

#include "base/error.h"
#include "emulator/collective/clear_to_send.h"
#include "emulator/collective/edges.h"
#include "emulator/collective/nccl_tuning.h"
#include "tests/collective/definitions.h"

namespace rankwire {
namespace {

constexpr int64_t kKi = 1 << 10, kMi = 1 << 20;

/// Message sizes in bytes and how often one member sends them.
using Sizes = std::map<int64_t, uint32_t>;

Sizes sizes_sent(const ScheduleRequest& request, const NcclProfile& profile) {
  Sizes sizes;
  for (const Step& step : make_schedule(request, {.nccl = profile}).steps)
    if (step.kind == StepKind::kSend) ++sizes[step.message.count];
  return sizes;
}

Sizes data_sent(const ScheduleRequest& request, NcclProfile profile) {
  profile.clear_to_send = false;
  return sizes_sent(request, profile);
}

// Two channels of 32 MiB; a pass carries a chunk of 2 MiB for each of 4 members: 4 passes of 6 steps of 2 slices of 1
// MiB = 48 messages a channel. The member grants as many as it receives.
TEST(Nccl, RingAllReduceSendsSlicesOfTwoSteps) {
  const ScheduleRequest request{.operation = Operation::kAllReduce, .members = 4, .bytes = Bytes(64 * kMi)};
  EXPECT_EQ(sizes_sent(request, {.channels = 2}), (Sizes{{1 * kMi, 96}, {64, 96}}));
}

// One channel of 33 MiB: 4 passes as above; 1 MiB is left, 256 KiB a member, in two slices.
TEST(Nccl, LastPassOfARingIsDividedAmongAllMembers) {
  const ScheduleRequest request{.operation = Operation::kAllReduce, .members = 4, .bytes = Bytes(33 * kMi)};
  EXPECT_EQ(data_sent(request, {.channels = 1, .protocol = NcclProtocol::kSimple}),
            (Sizes{{1 * kMi, 48}, {128 * kKi, 12}}));
}

// A chunk of 40 KiB: a slice is at least 1/32 of the largest, 32 KiB. On one host, so that it is a ring.
TEST(Nccl, SlicesOfASmallChunkAreNotHalves) {
  const ScheduleRequest request{.operation = Operation::kAllGather, .members = 3, .bytes = Bytes(40 * kKi), .nodes = 1};
  EXPECT_EQ(data_sent(request, {.channels = 1, .protocol = NcclProtocol::kSimple}),
            (Sizes{{32 * kKi, 2}, {8 * kKi, 2}}));
}

// All-gather of 5 MiB a member: chunks of 2, 2 and 1 MiB of every block, each passed on twice in two slices.
// Reduce-scatter of 3 blocks of 5 MiB: the same.
TEST(Nccl, GatherAndScatterOfARingGoChunkByChunk) {
  const NcclProfile profile{.channels = 1, .protocol = NcclProtocol::kSimple};
  const Sizes sizes{{1 * kMi, 8}, {512 * kKi, 4}};
  EXPECT_EQ(data_sent({.operation = Operation::kAllGather, .members = 3, .bytes = Bytes(5 * kMi)}, profile), sizes);
  EXPECT_EQ(data_sent({.operation = Operation::kReduceScatter, .members = 3, .bytes = Bytes(15 * kMi)}, profile),
            sizes);
}

// 2.25 MiB in steps of 512 KiB.
TEST(Nccl, BroadcastAndReduceSendSlicesOfOneStep) {
  const NcclProfile profile{.channels = 1, .protocol = NcclProtocol::kSimple};
  const Sizes sizes{{512 * kKi, 4}, {256 * kKi, 1}};
  EXPECT_EQ(data_sent({.operation = Operation::kBroadcast, .members = 3, .bytes = Bytes(9 * kMi / 4)}, profile), sizes);
  EXPECT_EQ(
      data_sent({.operation = Operation::kReduce, .members = 3, .position = 1, .bytes = Bytes(9 * kMi / 4)}, profile),
      sizes);
}

// 8 KiB, 2 KiB a member, 6 steps: 16 bytes for 8. 200 KiB in one channel: a pass of 4 x 32 KiB, then 18 KiB a member.
// On one host, so that it is a ring.
TEST(Nccl, LlDoublesTheData) {
  const NcclProfile profile{.channels = 1, .protocol = NcclProtocol::kLl};
  ScheduleRequest request{.operation = Operation::kAllReduce, .members = 4, .bytes = Bytes(8 * kKi), .nodes = 1};
  EXPECT_EQ(data_sent(request, profile), (Sizes{{4 * kKi, 6}}));
  request.bytes = Bytes(200 * kKi);
  EXPECT_EQ(data_sent(request, profile), (Sizes{{64 * kKi, 6}, {36 * kKi, 6}}));
  EXPECT_EQ(nccl_message_size(NcclProtocol::kLl, Bytes(1)), Bytes(16));
}

// 4 MiB: a pass of 4 x 576,000 bytes, 614,400 in the message; 1,890,304 are left, 472,576 a member, which are 247
// warps' shares of 1920 bytes (246.1, rounded up) of 2048 in the message.
TEST(Nccl, Ll128Sends128For120) {
  EXPECT_EQ(data_sent({.operation = Operation::kAllReduce, .members = 4, .bytes = Bytes(4 * kMi)},
                      {.channels = 1, .protocol = NcclProtocol::kLl128}),
            (Sizes{{614'400, 6}, {247 * 2048, 6}}));
}

// Chunks of 128 KiB; below 8 of them 64 KiB, below one 32 KiB. Two channels: parts of more than 128 KiB are divided.
TEST(Nccl, PointToPointChunksShrinkWithTheSize) {
  const auto sizes = [](int64_t bytes) {
    return data_sent({.operation = Operation::kPointToPoint, .members = 2, .bytes = Bytes(bytes)},
                     {.channels = 2, .p2p_channels = 2});
  };
  EXPECT_EQ(sizes(100 * kKi), (Sizes{{32 * kKi, 3}, {4 * kKi, 1}}));
  EXPECT_EQ(sizes(128 * kKi), (Sizes{{64 * kKi, 2}}));
  // 76 KiB a channel.
  EXPECT_EQ(sizes(152 * kKi), (Sizes{{64 * kKi, 2}, {12 * kKi, 2}}));
  EXPECT_EQ(sizes(1 * kMi), (Sizes{{128 * kKi, 8}}));
  EXPECT_EQ(sizes(0), (Sizes{{0, 1}}));
}

// 8 peers share one batch of a channel: 16 members leave one channel a peer where 8 have two.
TEST(Nccl, AllToAllOfManyMembersUsesFewerChannels) {
  const NcclProfile profile{.channels = 2, .p2p_channels = 2};
  const auto channels = [&](uint32_t members) {
    uint32_t most = 0;
    for (const Step& step :
         make_schedule({.operation = Operation::kAllToAll, .members = members, .bytes = Bytes(members * kMi)},
                       {.nccl = profile})
             .steps)
      most = std::max<uint32_t>(most, step.channel + 1);
    return most;
  };
  EXPECT_EQ(channels(8), 2u);
  EXPECT_EQ(channels(16), 1u);
}

// 32 KiB of traffic (all-reduce: twice the bytes) are worth a channel, in protocol LL 4096 bytes of data a member.
TEST(Nccl, SmallOperationsUseFewerChannels) {
  const auto channels = [](int64_t bytes, NcclProtocol protocol) {
    uint32_t most = 0;
    for (const Step& step : make_schedule({.operation = Operation::kAllReduce, .members = 2, .bytes = Bytes(bytes)},
                                          {.nccl = NcclProfile{.channels = 4, .protocol = protocol}})
                                .steps)
      most = std::max<uint32_t>(most, step.channel + 1);
    return most;
  };
  EXPECT_EQ(channels(128 * kKi, NcclProtocol::kSimple), 4u);
  EXPECT_EQ(channels(64 * kKi, NcclProtocol::kSimple), 2u);
  EXPECT_EQ(channels(16 * kKi, NcclProtocol::kLl), 1u);
  EXPECT_EQ(channels(1 * kMi, NcclProtocol::kLl), 4u);
}

TEST(Nccl, ChannelsFollowTheNic) {
  const auto gbps = [](int64_t rate) { return Bandwidth(rate * 1'000'000'000); };
  EXPECT_EQ(nccl_channels(gbps(200)), 2u);
  EXPECT_EQ(nccl_channels(gbps(400)), 4u);
  // 12, 25 and 50 GB/s at 14 GB/s a channel.
  EXPECT_EQ(nccl_p2p_channels(gbps(100)), 1u);
  EXPECT_EQ(nccl_p2p_channels(gbps(200)), 2u);
  EXPECT_EQ(nccl_p2p_channels(gbps(400)), 4u);
}

// 8 members on 8 hosts, 400 Gbit/s, 14 steps: the ring's bandwidth is 8/14 of 20.4, 46 and 50 GB/s. With one member a
// host a step takes a tree's latency of the network, hwLatencies[NET][Tree].
//   LL      6.6 + 14 x 5.0          = 76.6 us, and 1 MiB takes  89.951 us
//   LL128  14.0 + 14 x 8.5          = 133.0 us, and             39.892 us
//   Simple (8.4 + 14 x 14.0) x 1.4  = 286.16 us, and            36.700 us
TEST(Nccl, TuningModelAddsLatencyAndBandwidth) {
  const ScheduleRequest request{.operation = Operation::kAllReduce, .members = 8, .bytes = Bytes(1 * kMi)};
  const NcclProfile profile{.channels = 4};
  const auto microseconds_of = [&](NcclProtocol protocol) {
    return static_cast<double>(nccl_ring_time(request, profile, protocol).ps) / 1e6;
  };
  EXPECT_NEAR(microseconds_of(NcclProtocol::kLl), 76.6 + 89.951, 0.001);
  EXPECT_NEAR(microseconds_of(NcclProtocol::kLl128), 133.0 + 39.892, 0.001);
  EXPECT_NEAR(microseconds_of(NcclProtocol::kSimple), 286.16 + 36.700, 0.001);
}

// With the figures above LL and LL128 meet at (133 - 76.6) us / (85.784 - 38.043) us a MB = 1.181 MB, LL128 and Simple
// at (286.16 - 133) / (38.043 - 35) = 50.32 MB.
TEST(Nccl, AutoTakesTheFastestProtocol) {
  const auto chosen = [](int64_t bytes) {
    return nccl_ring_protocol({.operation = Operation::kAllReduce, .members = 8, .bytes = Bytes(bytes)},
                              {.channels = 4});
  };
  EXPECT_EQ(chosen(1'180'000), NcclProtocol::kLl);
  EXPECT_EQ(chosen(1'183'000), NcclProtocol::kLl128);
  EXPECT_EQ(chosen(50'293'000), NcclProtocol::kLl128);
  EXPECT_EQ(chosen(50'353'000), NcclProtocol::kSimple);
}

// 64 members on 8 hosts of 8, 400 Gbit/s, 4 channels. Tree: min(50 x 0.92, 4 x 36) = 46 GB/s, half of it for one way
// and back.
//   LL      6.8 + 2 (7 x 0.6  + 3 x 5.0)  = 45.2 us; 46/3.8 = 12.105 GB/s
//   LL128  14.0 + 2 (7 x 1.25 + 3 x 8.5)  = 82.5 us; 46 x 120/128 = 43.125 GB/s
//   Simple  8.4 + 2 (7 x 4.0  + 3 x 14.0) = 148.4 us
// 1 MiB is 2^14 times 64 B: 0.5, 0.6 and 0.5 of the bandwidth: 346.486, 81.049 and 91.181 us.
TEST(Nccl, TuningModelOfTrees) {
  const ScheduleRequest request{.operation = Operation::kAllReduce, .members = 64, .bytes = Bytes(1 * kMi), .nodes = 8};
  const NcclProfile profile{.channels = 4};
  const auto microseconds_of = [&](NcclProtocol protocol) {
    return static_cast<double>(nccl_tree_time(request, profile, protocol).ps) / 1e6;
  };
  EXPECT_NEAR(microseconds_of(NcclProtocol::kLl), 45.2 + 346.486, 0.001);
  EXPECT_NEAR(microseconds_of(NcclProtocol::kLl128), 82.5 + 81.049, 0.001);
  EXPECT_NEAR(microseconds_of(NcclProtocol::kSimple), 148.4 + 91.181, 0.001);
}

// The same group. A ring takes 126 steps, 14 of them between hosts, the others at least 1 us each: LL 6.6 + 112 + 37.8
// = 156.4 us, LL128 14 + 112 x 1.9 + 14 x 4 = 282.8 us, Simple (8.4 + 112 x 3.4 + 14 x 14) x 1.4 = 819.3 us. It moves
// 64/126 of 20.4, 46 and 50 GB/s (10.4, 23.4, 25.4), the tree at best 6.1, 21.6 and 23: 8 KiB take the tree of the
// least latency, 4 MiB (0.8 of 21.6 GB/s) its LL128 with 82.5 + 243.1 us before the ring's with 282.8 + 179.5, and 1
// GiB the ring in Simple.
TEST(Nccl, AutoTakesTreesForSmallAllReduces) {
  const auto chosen = [](int64_t bytes, Algorithm told = Algorithm::kAuto) {
    return nccl_choice({.operation = Operation::kAllReduce, .members = 64, .bytes = Bytes(bytes), .nodes = 8},
                       {.channels = 4}, told);
  };
  EXPECT_EQ(chosen(8 * kKi), (NcclChoice{Algorithm::kDoubleBinaryTree, NcclProtocol::kLl}));
  EXPECT_EQ(chosen(4 * kMi), (NcclChoice{Algorithm::kDoubleBinaryTree, NcclProtocol::kLl128}));
  EXPECT_EQ(chosen(1 << 30), (NcclChoice{Algorithm::kRing, NcclProtocol::kSimple}));
  EXPECT_EQ(chosen(8 * kKi, Algorithm::kRing), (NcclChoice{Algorithm::kRing, NcclProtocol::kLl}));
  EXPECT_EQ(chosen(1 << 30, Algorithm::kDoubleBinaryTree).algorithm, Algorithm::kDoubleBinaryTree);
}

// 64 members on 64 hosts, 400 Gbit/s: PAT takes 8 + 6 x 4 + 64 x 2.8 = 211.2 us and has 0.75 of 50 GB/s: of 4 MiB
// together 111.848 us. The ring's 63 steps take in LL 6.6 + 63 x 5 = 321.6 us and 202.389 us at 20.4 GB/s, in LL128
// 14 + 63 x 8.5 = 549.5 us and 89.756 us at 46 GB/s, in Simple 8.4 + 63 x 14 = 890.4 us at 50 GB/s. 64 KiB: 211.2 + 1.7
// us before 321.6 + 3.2; 1 GiB: 890.4 us + 21.1 ms before 211.2 us + 28.6 ms.
TEST(Nccl, AutoTakesPatButForLargeSizesOfOneRankAHost) {
  ScheduleRequest request{.operation = Operation::kReduceScatter, .members = 64, .bytes = Bytes(4 * kMi)};
  NcclProfile profile{.channels = 4};
  EXPECT_NEAR(static_cast<double>(nccl_pat_time(request, profile).ps) / 1e6, 211.2 + 111.848, 0.001);
  const auto chosen = [&](int64_t bytes, Algorithm told = Algorithm::kAuto) {
    request.bytes = Bytes(bytes);
    return nccl_choice(request, profile, told);
  };
  const NcclChoice pat{Algorithm::kPat, NcclProtocol::kSimple};
  EXPECT_EQ(chosen(64 * kKi), pat);
  EXPECT_EQ(chosen(4 * kMi), pat);
  EXPECT_EQ(chosen(1 << 30), (NcclChoice{Algorithm::kRing, NcclProtocol::kSimple}));
  EXPECT_EQ(chosen(64 * kKi, Algorithm::kPat), pat);
  EXPECT_EQ(chosen(4 * kMi, Algorithm::kRing).algorithm, Algorithm::kRing);
  // NCCL has it neither for several ranks a host, nor in another protocol, nor for an all-reduce.
  profile.protocol = NcclProtocol::kLl;
  EXPECT_EQ(chosen(4 * kMi, Algorithm::kPat), (NcclChoice{Algorithm::kRing, NcclProtocol::kLl}));
  profile.protocol = NcclProtocol::kSimple;
  EXPECT_EQ(chosen(4 * kMi), pat);
  request.nodes = 32;
  EXPECT_EQ(chosen(4 * kMi, Algorithm::kPat).algorithm, Algorithm::kRing);
  request.nodes = 64;
  request.operation = Operation::kAllReduce;
  EXPECT_NE(chosen(4 * kMi).algorithm, Algorithm::kPat);
}

// 4 members, 1 MiB each, one channel. All-gather: 512 KiB x 32 is more than 4 MiB together, as is 256 KiB x 32: 128
// KiB, of one block over distance 2 and two over distance 1. Reduce-scatter: 256 KiB x 16 are 4 MiB.
TEST(Nccl, PatSendsSlicesOfAStepOrLess) {
  const auto sizes = [](Operation operation, int64_t bytes) {
    ScheduleOptions options{.nccl = NcclProfile{.channels = 1, .clear_to_send = false}};
    options.algorithms[static_cast<size_t>(operation)] = Algorithm::kPat;
    Sizes result;
    for (const Step& step :
         make_schedule({.operation = operation, .members = 4, .position = 1, .bytes = Bytes(bytes)}, options).steps)
      if (step.kind == StepKind::kSend) ++result[step.message.count];
    return result;
  };
  EXPECT_EQ(sizes(Operation::kAllGather, 1 * kMi), (Sizes{{128 * kKi, 8 + 16}}));
  EXPECT_EQ(sizes(Operation::kReduceScatter, 4 * kMi), (Sizes{{256 * kKi, 8 + 4}}));
}

// 64 MiB over two channels, one a tree: slices of one step, 512 KiB. In the first tree of four members 2 stands below 0
// and above 1 and 3, in the second (3 -> 1 -> 0, 2) it is a leaf: 64 slices to two parents and two children.
TEST(Nccl, TreesSendSlicesOfOneStep) {
  ScheduleRequest request{.operation = Operation::kAllReduce, .members = 4, .position = 2, .bytes = Bytes(64 * kMi)};
  ScheduleOptions options{.nccl =
                              NcclProfile{.channels = 2, .protocol = NcclProtocol::kSimple, .clear_to_send = false}};
  options.algorithms[static_cast<size_t>(request.operation)] = Algorithm::kDoubleBinaryTree;
  const auto sizes = [&] {
    Sizes result;
    for (const Step& step : make_schedule(request, options).steps)
      if (step.kind == StepKind::kSend) ++result[step.message.count];
    return result;
  };
  EXPECT_EQ(sizes(), (Sizes{{512 * kKi, 4 * 64}}));
  // 512 KiB a channel, depth 2: 128 KiB for 16 slices, then 64 KiB for 8, which they are.
  request.bytes = Bytes(1 * kMi);
  EXPECT_EQ(sizes(), (Sizes{{64 * kKi, 4 * 8}}));
}

// The first messages_in_flight grants wait for nothing; message k is granted by what freed the place of message k -
// messages_in_flight, here (4 slices of 2 steps) the reduction of the fourth message before it.
TEST(ClearToSend, GrantsFollowTheReductions) {
  const Schedule schedule =
      make_schedule({.operation = Operation::kReduceScatter, .members = 4, .bytes = Bytes(16 * kMi)},
                    {.nccl = NcclProfile{.channels = 1, .protocol = NcclProtocol::kSimple}});
  const Edges edges = edges_of(schedule);
  uint32_t grants = 0;
  for (const Edges::Edge& edge : edges.edges) {
    if (!edge.control || edge.kind != StepKind::kSend) continue;
    for (uint32_t k = 0; k < edge.count; ++k, ++grants) {
      const uint32_t grant = edges.step_of(edge, k);
      if (k < 4) {
        EXPECT_EQ(schedule.predecessors[grant], 0) << k;
        continue;
      }
      EXPECT_GE(schedule.predecessors[grant], 1) << k;
      bool after_reduction = false;
      for (uint32_t i = 0; i < grant; ++i) {
        const Step& step = schedule.steps[i];
        for (const uint32_t next : schedule.successors_of(i))
          after_reduction |= next == grant && step.kind == StepKind::kReduce;
      }
      EXPECT_TRUE(after_reduction) << k;
    }
  }
  // Two passes of three steps of two slices.
  EXPECT_EQ(grants, 12u);
}

// A member in the middle of a chain has 8 places to receive and 8 to send. The 17th message may come when the first has
// been received, passed on and acknowledged.
TEST(ClearToSend, AFullSendBufferHoldsBackTheSource) {
  const Schedule schedule =
      make_schedule({.operation = Operation::kBroadcast, .members = 3, .position = 1, .bytes = Bytes(20 * 512 * kKi)},
                    {.nccl = NcclProfile{.channels = 1, .protocol = NcclProtocol::kSimple}});
  const Edges edges = edges_of(schedule);
  const auto edge_of = [&](bool control, StepKind kind) {
    return *std::find_if(edges.edges.begin(), edges.edges.end(),
                         [&](const Edges::Edge& e) { return e.control == control && e.kind == kind; });
  };
  const Edges::Edge grants = edge_of(true, StepKind::kSend), data = edge_of(false, StepKind::kSend);
  const auto waits_for = [&](uint32_t n, uint32_t step) {
    const auto next = schedule.successors_of(step);
    return std::find(next.begin(), next.end(), edges.step_of(grants, n)) != next.end();
  };
  ASSERT_EQ(grants.count, 20u);
  EXPECT_EQ(schedule.predecessors[edges.step_of(grants, 15)], 1);
  EXPECT_EQ(schedule.predecessors[edges.step_of(grants, 16)], 2);
  EXPECT_TRUE(waits_for(16, edges.step_of(data, 0)));
  EXPECT_TRUE(waits_for(19, edges.step_of(data, 3)));
}

TEST(ClearToSend, LocalPeersNeedNone) {
  ScheduleRequest request{.operation = Operation::kAllToAll, .members = 4, .bytes = Bytes(4 * kMi)};
  request.local = {true, true, false, false};
  uint32_t granted = 0;
  for (const Step& step : make_schedule(request, {.nccl = NcclProfile{}}).steps) {
    granted += step.control;
    EXPECT_FALSE(step.control && request.local[step.peer]);
  }
  EXPECT_GT(granted, 0u);
}

TEST(Nccl, RefusesNumbersOutOfRange) {
  const ScheduleRequest request{.members = 2, .bytes = Bytes(8), .element = Bytes(4)};
  const auto make = [&](const NcclProfile& profile) { make_schedule(request, {.nccl = profile}); };
  EXPECT_NO_THROW(make({}));
  EXPECT_THROW(make({.channels = 33}), Error);
  EXPECT_THROW(make({.p2p_channels = 3}), Error);
  EXPECT_THROW(make({.steps_in_flight = 0}), Error);
  EXPECT_THROW(make({.steps_in_flight = 9}), Error);
  EXPECT_THROW(make({.buffer = Bytes(1)}), Error);
  EXPECT_THROW(make({.p2p_chunk = Bytes(1)}), Error);
}

/// Small buffers, so that few bytes need many messages.
NcclProfile small_profile(NcclProtocol protocol, uint32_t steps_in_flight) {
  return {.channels = 2,
          .p2p_channels = 2,
          .protocol = protocol,
          .steps_in_flight = steps_in_flight,
          .buffer = Bytes(64 * kKi),
          .p2p_chunk = Bytes(4 * kKi)};
}

class EveryNcclOperation : public ::testing::TestWithParam<std::tuple<Operation, uint32_t>> {};

TEST_P(EveryNcclOperation, DeliversInAnyOrderWithoutDeadlock) {
  const auto [operation, members] = GetParam();
  for (const NcclProtocol protocol : {NcclProtocol::kLl, NcclProtocol::kLl128, NcclProtocol::kSimple})
    for (const uint32_t steps_in_flight : {1, 2, 5, 8})
      for (const int64_t bytes : {int64_t{0}, int64_t{4}, 100 * kKi + 4, 700 * kKi}) {
        SCOPED_TRACE(::testing::Message() << "protocol " << static_cast<int>(protocol) << " steps " << steps_in_flight
                                          << " bytes " << bytes);
        ScheduleRequest request{.operation = operation, .members = members, .bytes = Bytes(bytes), .element = Bytes(4)};
        request.root = members / 2;
        Executor executor(request, {.nccl = small_profile(protocol, steps_in_flight)});
        expect_matched(executor.schedules());
        expect_delivered(executor, request);
        if (HasFailure()) return;
      }
}

INSTANTIATE_TEST_SUITE_P(
    Collectives, EveryNcclOperation,
    ::testing::Combine(::testing::Values(Operation::kAllReduce, Operation::kReduceScatter, Operation::kAllGather,
                                         Operation::kBroadcast, Operation::kReduce, Operation::kAllToAll,
                                         Operation::kGather, Operation::kScatter, Operation::kBarrier),
                       ::testing::Range(2u, 10u)));
TEST(Nccl, TreesDeliverInAnyOrderWithoutDeadlock) {
  for (const uint32_t members : {2u, 3u, 5u, 8u, 9u})
    for (const uint32_t on_host : {1u, 2u, 4u})
      for (const NcclProtocol protocol : {NcclProtocol::kLl, NcclProtocol::kLl128, NcclProtocol::kSimple})
        for (const uint32_t steps_in_flight : {1u, 8u}) {
          ScheduleRequest request{
              .operation = Operation::kAllReduce, .members = members, .bytes = Bytes(300 * kKi), .element = Bytes(4)};
          for (uint32_t i = 0; i < members; ++i) request.hosts.push_back(i / on_host);
          request.nodes = (members + on_host - 1) / on_host;
          ScheduleOptions options{.nccl = small_profile(protocol, steps_in_flight)};
          options.algorithms[static_cast<size_t>(request.operation)] = Algorithm::kDoubleBinaryTree;
          Executor executor(request, options);
          expect_matched(executor.schedules());
          expect_delivered(executor, request);
          if (HasFailure()) return;
        }
}

TEST(Nccl, PatDeliversInAnyOrderWithoutDeadlock) {
  for (const Operation operation : {Operation::kAllGather, Operation::kReduceScatter})
    for (const uint32_t members : {2u, 3u, 5u, 8u, 13u})
      for (const int64_t block : {int64_t{4}, 30 * kKi, 100 * kKi})
        for (const uint32_t steps_in_flight : {1u, 8u}) {
          SCOPED_TRACE(::testing::Message() << members << " members, " << block << " bytes, " << steps_in_flight);
          const bool gathers = operation == Operation::kAllGather;
          ScheduleRequest request{.operation = operation,
                                  .members = members,
                                  .bytes = Bytes(block * (gathers ? 1 : members) + 4),
                                  .element = Bytes(4)};
          ScheduleOptions options{.nccl = small_profile(NcclProtocol::kSimple, steps_in_flight)};
          options.algorithms[static_cast<size_t>(operation)] = Algorithm::kPat;
          Executor executor(request, options);
          expect_matched(executor.schedules());
          expect_delivered(executor, request);
          if (HasFailure()) return;
        }
}

// Data for another host's member passes through its counterpart, which then has both to grant and to be granted.
TEST(Nccl, PxnDeliversInAnyOrderWithoutDeadlock) {
  for (const uint32_t members : {4u, 6u, 9u})
    for (const uint32_t steps_in_flight : {1u, 8u}) {
      ScheduleRequest request{.operation = Operation::kAllToAll,
                              .members = members,
                              .bytes = Bytes(40 * kKi * members),
                              .element = Bytes(4)};
      for (uint32_t i = 0; i < members; ++i) request.hosts.push_back(i / 2);
      ScheduleOptions options{.nccl = small_profile(NcclProtocol::kSimple, steps_in_flight)};
      options.algorithms[static_cast<size_t>(request.operation)] = Algorithm::kPxn;
      Executor executor(request, options);
      expect_matched(executor.schedules());
      expect_delivered(executor, request);
    }
}

INSTANTIATE_TEST_SUITE_P(PointToPoint, EveryNcclOperation,
                         ::testing::Combine(::testing::Values(Operation::kPointToPoint), ::testing::Values(2)));

}  // namespace
}  // namespace rankwire

// Collectives against the closed forms of ASTRA-sim's analytical backend, and against times that it has printed.
#include <gmock/gmock.h>

#include <ostream>

#include "tests/simulator/astra_program.h"

namespace rankwire {
namespace {

using NamedAstra = AstraImplementation::Algorithm;
using testing::AstraProgramBuilder;
using ::testing::Each;
using ::testing::ElementsAre;
using testing::finish_times;
using testing::one_collective;
using testing::one_dimension;
using testing::run_program;

constexpr AstraImplementation kRing{NamedAstra::kRing, false, {}};
constexpr AstraImplementation kHalvingDoubling{NamedAstra::kHalvingDoubling, false, {}};
constexpr AstraImplementation kTree{NamedAstra::kDoubleBinaryTree, false, {}};

constexpr AstraImplementation direct(std::optional<uint32_t> window = {}) {
  return {NamedAstra::kDirect, false, window};
}

struct Case {
  const char* name;
  AstraModel model;
  AstraCollective collective;
  int64_t bytes;
  int64_t ns;  ///< of every rank
};

void PrintTo(const Case& c, std::ostream* out) {
  *out << c.name;
}

class AstraClosedForm : public ::testing::TestWithParam<Case> {};

TEST_P(AstraClosedForm, IsWhatACollectiveTakes) {
  const Case& c = GetParam();
  const uint32_t npus = c.model.network.npus();
  AstraProgramBuilder builder = one_collective(npus, c.collective, Bytes(c.bytes));
  for (const bool event_by_event : {false, true}) {
    const AstraResult result = run_program(c.model, builder.build(), event_by_event);
    EXPECT_EQ(result.verdict, AstraVerdict::kOk) << result.reason;
    EXPECT_THAT(finish_times(result), Each(c.ns));
  }
}

// Bandwidths of 2^30 B/s: 50 is 53.687 B/ns, 100 is 107.374 B/ns, 400 is 429.497 B/ns. ed = 10 ns, local memory 1600
// B/ns.
INSTANTIATE_TEST_SUITE_P(
    OneDimension, AstraClosedForm,
    ::testing::Values(
        // m = 256 KiB / 4 = 65536: D = 500 + 1220.7 -> 1720, P = 3 x 40. A chunk: 10 + 6 x 1730 + 3 x 120 = 10750; 4 of
        // them. ASTRA-sim printed 43000.
        Case{"ring_all_reduce", one_dimension(AstraBlock::kRing, 4, 50, 500, kRing, 4), AstraCollective::kAllReduce,
             1 << 20, 43000},
        // Printed: 581528. m = 2 MiB: D = 39562, P = 3930: 10 + 14 x 39572 + 7 x 3930.
        Case{"ring_all_reduce_8", one_dimension(AstraBlock::kRing, 8, 50, 500), AstraCollective::kAllReduce, 16 << 20,
             581528},
        // The size is the rank's input. D = 2 x 1000 + 156250: 10 + 7 x 158260, as printed.
        Case{"ring_all_gather", one_dimension(AstraBlock::kSwitch, 8, 100, 1000), AstraCollective::kAllGather, 16 << 20,
             1107830},
        // D = 21531: 10 + 7 x (21541 + 3930), as printed.
        Case{"ring_reduce_scatter", one_dimension(AstraBlock::kSwitch, 8, 100, 1000), AstraCollective::kReduceScatter,
             16 << 20, 178307},
        // 8 x 7 / 2 messages: 10 + 28 x 21541, as printed.
        Case{"ring_all_to_all", one_dimension(AstraBlock::kSwitch, 8, 100, 1000), AstraCollective::kAllToAll, 16 << 20,
             603158},
        // 10 + D + 10 and 10 + D + 10 + P.
        Case{"direct_all_gather", one_dimension(AstraBlock::kSwitch, 8, 100, 1000, direct()),
             AstraCollective::kAllGather, 16 << 20, 158270},
        Case{"direct_reduce_scatter", one_dimension(AstraBlock::kSwitch, 8, 100, 1000, direct()),
             AstraCollective::kReduceScatter, 16 << 20, 25481},
        // 10 + 2 x (D + 10) + P with m = 512 KiB of a chunk of 4 MiB: D = 6882, P = 981: 14775 a chunk.
        Case{"direct_all_reduce", one_dimension(AstraBlock::kSwitch, 8, 100, 1000, direct(), 4),
             AstraCollective::kAllReduce, 16 << 20, 59100},
        // One at a time: 7 x 21541 + 10, and every other reduction is not counted: 4 x 3930. As printed.
        Case{"direct_window_1", one_dimension(AstraBlock::kSwitch, 8, 100, 1000, direct(1)),
             AstraCollective::kReduceScatter, 16 << 20, 166517},
        // Messages of 8, 4, 2, 2, 4, 8 MiB, D = 2000 + 78125, 39062, 19531 (rounded down); reductions of the two pieces
        // that are sent on, of 4 and 2 MiB: 7863 and 3930. 10 + 2 x (80125 + 41062 + 21531 + 3 x 10) + 11793.
        Case{"halving_doubling", one_dimension(AstraBlock::kSwitch, 8, 100, 1000, kHalvingDoubling),
             AstraCollective::kAllReduce, 16 << 20, 297299},
        // As printed.
        Case{"halving_doubling_reduce_scatter", one_dimension(AstraBlock::kSwitch, 8, 100, 1000, kHalvingDoubling),
             AstraCollective::kReduceScatter, 16 << 20, 154551},
        Case{"halving_doubling_all_gather", one_dimension(AstraBlock::kSwitch, 8, 100, 1000, kHalvingDoubling),
             AstraCollective::kAllGather, 16 << 20, 1099790},
        // Of a ring of all NPUs.
        Case{"one_ring", one_dimension(AstraBlock::kRing, 8, 50, 500, {NamedAstra::kRing, true, {}}),
             AstraCollective::kAllReduce, 16 << 20, 581528}),
    [](const auto& test) { return test.param.name; });

TEST(AstraTree, EndsLevelByLevel) {
  // Printed for 4 NPUs, 16 MiB, a switch of 100 GB/s and 1000 ns: D = 158250, P = 31455, with u = D + 10 + P = 189715.
  // The first chunk's root is the last rank: 10 + 2u. Rank 1 hears from it a level later, 10 + 3u, and its leaves
  // 0 and 2 after D + 10 more.
  AstraModel model = one_dimension(AstraBlock::kSwitch, 4, 100, 1000, kTree);
  AstraProgramBuilder builder = one_collective(4, AstraCollective::kAllReduce, Bytes(16 << 20));
  EXPECT_THAT(finish_times(run_program(model, builder.build())), ElementsAre(727415, 569155, 727415, 379440));
  // With two chunks at once the second one's root is the first rank: as far from the leaves, so all end as late, but
  // the tree is turned round: ranks 1 and 3 are leaves then, too.
  model.system.splits = 2, model.system.active_chunks = 2;
  // 8 MiB: D = 80125, P = 15726, u = 95861: 10 + 3u + D + 10 = 367728 for leaves of either tree.
  EXPECT_THAT(finish_times(run_program(model, builder.build())), ElementsAre(367728, 367728, 367728, 367728));
}

TEST(AstraChunks, RunAsManyAtOnceAsAreActive) {
  // Printed for 8 chunks of 16 MiB on a ring of 8: 631368 one by one, 315684 two at a time, 78921 all at once.
  for (const auto& [active, ns] : {std::pair{1u, 631368}, {2u, 315684}, {4u, 157842}, {8u, 78921}}) {
    AstraModel model = one_dimension(AstraBlock::kRing, 8, 50, 500, kRing, 8);
    model.system.active_chunks = active;
    AstraProgramBuilder builder = one_collective(8, AstraCollective::kAllReduce, Bytes(16 << 20));
    EXPECT_THAT(finish_times(run_program(model, builder.build())), Each(ns)) << active << " active chunks";
  }
}

TEST(AstraChunks, ShareTheQueuesOfADimension) {
  // With localBWAware an all-reduce takes the first half of the queues: 2 of 4 halve the time, 1 of 2 does not.
  for (const auto& [queues, ns] : {std::pair{1u, 631368}, {2u, 631368}, {4u, 315684}}) {
    AstraModel model = one_dimension(AstraBlock::kRing, 8, 50, 500, kRing, 8);
    model.system.local_bandwidth_aware = true;
    model.queues = queues;
    AstraProgramBuilder builder = one_collective(8, AstraCollective::kAllReduce, Bytes(16 << 20));
    EXPECT_THAT(finish_times(run_program(model, builder.build())), Each(ns)) << queues << " queues";
  }
}

TEST(AstraChunks, AreAtLeastAByteForEachNpu) {
  // 6 bytes in 4 chunks would be 1 byte among 8 NPUs: 4 chunks of 8 bytes, messages of 1. D = 500, P = 0:
  // 4 x (10 + 14 x 510).
  AstraModel model = one_dimension(AstraBlock::kRing, 8, 50, 500, kRing, 4);
  AstraProgramBuilder builder = one_collective(8, AstraCollective::kAllReduce, Bytes(6));
  EXPECT_THAT(finish_times(run_program(model, builder.build())), Each(28600));
}

/// 4 x 4 NPUs in two rings of 80 GB/s and 1000 ns.
AstraModel torus() {
  AstraModel model;
  model.network.dimensions = {{AstraBlock::kRing, 4, 80, 1000}, {AstraBlock::kRing, 4, 80, 1000}};
  model.system.implementations.fill({kRing, kRing});
  model.system.memory_bandwidth = 1600;
  return model;
}

TEST(AstraDimensions, BaselineRunsTheWholeCollectiveInEach) {
  // One chunk of 4 MiB: m = 1 MiB, D = 1000 + 12207, P = 1965: 10 + 6 x 13217 + 3 x 1965 = 85207 in each.
  AstraProgramBuilder builder = one_collective(16, AstraCollective::kAllReduce, Bytes(4 << 20));
  EXPECT_THAT(finish_times(run_program(torus(), builder.build())), Each(170414));
}

TEST(AstraDimensions, LocalBandwidthAwareScattersFirst) {
  // Reduce-scatter of 4 MiB: 10 + 3 x (13207 + 10 + 1965) = 45556. All-reduce of the 1 MiB that is left: m = 256 KiB,
  // D = 4051, P = 489: 10 + 6 x 4061 + 3 x 489 = 25843. All-gather of it: 10 + 3 x 13217 = 39661.
  AstraModel model = torus();
  model.system.local_bandwidth_aware = true;
  AstraProgramBuilder builder = one_collective(16, AstraCollective::kAllReduce, Bytes(4 << 20));
  EXPECT_THAT(finish_times(run_program(model, builder.build())), Each(45556 + 25843 + 39661));
}

TEST(AstraDimensions, OnlyThoseInvolvedTakePart) {
  AstraProgramBuilder builder(16);
  for (uint32_t r = 0; r < 16; ++r) {
    AstraNode node;
    node.work = AstraNode::Work::kCollective, node.resource = AstraResource::kCommunication;
    node.bytes = Bytes(4 << 20), node.dimensions = 0b10;
    builder.add(r, node);
  }
  EXPECT_THAT(finish_times(run_program(torus(), builder.build())), Each(85207));
}

TEST(AstraGroups, AreRingsInTheirOrder) {
  // Among 4 of 8 NPUs of a ring of 50 GB/s and 500 ns, whose neighbours in the group are 1, 3, 3 and 3 hops apart in
  // the order 0, 1, 4, 7, whatever the system says. All-gather of 1 MiB: m / bandwidth = 19531.25.
  AstraModel model = one_dimension(AstraBlock::kRing, 8, 50, 500, kHalvingDoubling);
  AstraProgramBuilder builder(8);
  const uint32_t group = builder.group({0, 1, 4, 7});
  for (const uint32_t r : {0, 1, 4, 7}) builder.collective(r, AstraCollective::kAllGather, Bytes(1 << 20), {}, group);
  for (const uint32_t r : {2, 3, 5, 6}) builder.compute(r, nanoseconds(1));
  // Hops into 0, 1, 4, 7: 1 (7 -> 0), 1, 3, 3: D = 20031, 20031, 21031, 21031. Each message waits for the one before it
  // and for the member's own: sent[n + 1] = max(sent[n], sent of the member before + D) + 10.
  std::vector<int64_t> sent(4, 10);
  const int64_t delay[] = {20031, 20031, 21031, 21031};
  for (int n = 0; n < 3; ++n) {
    std::vector<int64_t> next(4);
    for (size_t i = 0; i < 4; ++i) next[i] = std::max(sent[i], sent[(i + 3) % 4] + delay[i]) + 10;
    sent = next;
  }
  for (const bool event_by_event : {false, true}) {
    const std::vector<int64_t> times = finish_times(run_program(model, builder.build(), event_by_event));
    EXPECT_THAT(times, ElementsAre(sent[0], sent[1], 1, 1, sent[2], 1, 1, sent[3]));
  }
}

TEST(AstraCustom, TakesItsAlgorithmFromGraphs) {
  // Both of 2 members send 1 MiB (D = 10015 over a full mesh of 100 GB/s and 250 ns), compute 5 us when they have
  // received, and send again.
  AstraModel model = one_dimension(AstraBlock::kFullyConnected, 2, 100, 250, {NamedAstra::kCustom, false, {}});
  AstraProgramBuilder algorithm(2), builder = one_collective(2, AstraCollective::kAllReduce, Bytes(1 << 20));
  for (uint32_t member = 0; member < 2; ++member) {
    algorithm.send(member, 1 - member, Bytes(1 << 20));
    const uint32_t received = algorithm.receive(member, 1 - member, Bytes(1 << 20));
    const uint32_t computed = algorithm.compute(member, microseconds(5), {received});
    algorithm.send(member, 1 - member, Bytes(1 << 20), {computed});
    algorithm.receive(member, 1 - member, Bytes(1 << 20), {computed});
  }
  builder.program().custom[0] = algorithm.build().ranks;
  EXPECT_THAT(finish_times(run_program(model, builder.build())), Each(10015 + 5000 + 10015));
}

TEST(AstraMismatch, IsSaid) {
  AstraProgramBuilder builder(2);
  builder.collective(0, AstraCollective::kAllReduce, Bytes(1 << 20));
  builder.collective(1, AstraCollective::kAllGather, Bytes(1 << 20));
  const AstraResult result = run_program(one_dimension(AstraBlock::kRing, 2, 50, 500), builder.build());
  EXPECT_EQ(result.verdict, AstraVerdict::kFailed);
  EXPECT_THAT(result.reason, ::testing::HasSubstr("mismatched collectives"));
  EXPECT_THAT(result.reason, ::testing::HasSubstr("ALL_GATHER of 1048576 bytes at rank 1"));
}

TEST(AstraMismatch, OfNumbersHangsByName) {
  AstraProgramBuilder builder(2);
  builder.collective(0, AstraCollective::kAllReduce, Bytes(1 << 20));
  builder.compute(1, nanoseconds(1));
  const AstraResult result = run_program(one_dimension(AstraBlock::kRing, 2, 50, 500), builder.build());
  EXPECT_EQ(result.verdict, AstraVerdict::kStalled);
  EXPECT_THAT(result.reason, ::testing::HasSubstr("1 of 2 ranks hang"));
  EXPECT_THAT(result.waiting, ElementsAre(::testing::HasSubstr("rank 0 waits in chunk 0 of ALL_REDUCE of 1048576 bytes "
                                                               "for rank 1")));
}

TEST(AstraMessages, OfNoBytesAreRefused) {
  // A chunk of 16 bytes, of which the first dimension leaves 4, goes round all 16 NPUs.
  AstraModel model = torus();
  model.system.local_bandwidth_aware = true;
  model.system.implementations.fill({kRing, {NamedAstra::kRing, true, {}}});
  AstraProgramBuilder builder = one_collective(16, AstraCollective::kAllReduce, Bytes(16));
  for (const bool event_by_event : {false, true}) {
    const AstraResult result = run_program(model, builder.build(), event_by_event);
    EXPECT_EQ(result.verdict, AstraVerdict::kFailed);
    EXPECT_EQ(result.reason,
              "ALL_REDUCE of 4 bytes among 16 NPUs would be messages of 0 bytes: lower preferred-dataset-splits");
  }
}

}  // namespace
}  // namespace rankwire

// What ASTRA-sim's workload layer does with nodes: resources, messages, memory, iterations.
#include <gmock/gmock.h>

#include "tests/simulator/astra_program.h"

namespace rankwire {
namespace {

using testing::AstraProgramBuilder;
using ::testing::Each;
using ::testing::ElementsAre;
using testing::finish_times;
using testing::one_dimension;
using testing::run_program;

constexpr Bytes kOneMiB(1 << 20);

/// Two NPUs on a ring of 50 GB/s and 500 ns: 1 MiB takes 500 + 19531.25 -> 20031 ns, 8 KiB 500 + 152.6 -> 652 ns.
AstraModel pair_of_npus() {
  return one_dimension(AstraBlock::kRing, 2, 50, 500);
}

TEST(AstraWorkload, SendAndReceiveEndWhenTheMessageArrives) {
  AstraProgramBuilder builder(2);
  builder.send(0, 1, kOneMiB);
  builder.receive(1, 0, kOneMiB);
  EXPECT_THAT(finish_times(run_program(pair_of_npus(), builder.build())), Each(20031));
}

TEST(AstraWorkload, ALateReceiveEndsAtOnce) {
  AstraProgramBuilder builder(2);
  builder.send(0, 1, kOneMiB);
  builder.receive(1, 0, kOneMiB, {builder.compute(1, microseconds(30))});
  EXPECT_THAT(finish_times(run_program(pair_of_npus(), builder.build())), ElementsAre(20031, 30000));
}

TEST(AstraWorkload, ARendezvousAwaitsTheReceiver) {
  AstraModel model = pair_of_npus();
  model.rendezvous = true;
  AstraProgramBuilder early(2), late(2);
  // The receiver's 8 KiB arrive before the sender is ready: nothing is lost.
  early.send(0, 1, kOneMiB, {early.compute(0, microseconds(30))});
  early.receive(1, 0, kOneMiB);
  EXPECT_THAT(finish_times(run_program(model, early.build())), Each(30000 + 20031));
  late.send(0, 1, kOneMiB);
  late.receive(1, 0, kOneMiB, {late.compute(1, microseconds(30))});
  EXPECT_THAT(finish_times(run_program(model, late.build())), Each(30000 + 652 + 20031));
}

TEST(AstraWorkload, ARankSendsOneAfterTheOther) {
  // As printed for a switch of 100 GB/s and 1000 ns: D = 2000 + 9765.6.
  AstraProgramBuilder builder(8);
  for (uint32_t r = 1; r < 8; ++r) builder.send(0, r, kOneMiB), builder.receive(r, 0, kOneMiB);
  EXPECT_THAT(finish_times(run_program(one_dimension(AstraBlock::kSwitch, 8, 100, 1000), builder.build())),
              ElementsAre(82355, 11765, 23530, 35295, 47060, 58825, 70590, 82355));
}

TEST(AstraWorkload, WithCongestionMessagesShareLinks) {
  // Seven to one over a switch: all are at the switch after 1000 + 9765 and take its link to rank 0 in turn, 9765 each;
  // the last one is there at 10765 + 6 x 9765 + 10765, as printed.
  AstraModel model = one_dimension(AstraBlock::kSwitch, 8, 100, 1000);
  model.congestion_aware = true;
  AstraProgramBuilder builder(8);
  for (uint32_t r = 1; r < 8; ++r) builder.send(r, 0, kOneMiB), builder.receive(0, r, kOneMiB);
  const std::vector<int64_t> times = finish_times(run_program(model, builder.build()));
  EXPECT_EQ(times[0], 80120);
  for (uint32_t r = 1; r < 8; ++r) EXPECT_EQ(times[r], 10765 + 10765 + (r - 1) * 9765) << "rank " << r;
}

TEST(AstraWorkload, WithCongestionARingStoresAndForwards) {
  // From 0 to 3 of 8: three links of 500 + 19531.25 ns each. From 0 to 4 both ways are as long, and the clockwise one
  // is taken, so a message from 1 to 2 at the same time waits for nobody, but one from 4 to 5 at the end would.
  AstraModel model = one_dimension(AstraBlock::kRing, 8, 50, 500);
  model.congestion_aware = true;
  AstraProgramBuilder builder(8);
  builder.send(0, 3, kOneMiB), builder.receive(3, 0, kOneMiB);
  for (const uint32_t r : {1, 2, 4, 5, 6, 7}) builder.compute(r, nanoseconds(1));
  EXPECT_THAT(finish_times(run_program(model, builder.build())), ElementsAre(60093, 1, 1, 60093, 1, 1, 1, 1));
}

TEST(AstraWorkload, WithCongestionAnAllGatherPaysEveryLink) {
  // Printed: 2201580 = 10 + 7 x (2 x (1000 + 156250) + 10).
  AstraModel model = one_dimension(AstraBlock::kSwitch, 8, 100, 1000);
  model.congestion_aware = true;
  AstraProgramBuilder builder = testing::one_collective(8, AstraCollective::kAllGather, Bytes(16 << 20));
  EXPECT_THAT(finish_times(run_program(model, builder.build())), Each(2201580));
}

TEST(AstraWorkload, OneNodeOfAKindRunsAtATime) {
  // Two computes follow each other, the lower id first; a host node runs beside them.
  AstraProgramBuilder builder(2);
  for (uint32_t r = 0; r < 2; ++r) {
    builder.compute(r, microseconds(10));
    builder.compute(r, microseconds(20));
    AstraNode host;
    host.work = AstraNode::Work::kTimed, host.resource = AstraResource::kHost, host.duration = microseconds(25);
    builder.add(r, host);
  }
  EXPECT_THAT(finish_times(run_program(pair_of_npus(), builder.build())), Each(30000));
}

TEST(AstraWorkload, ReadyNodesBeginByTheirIds) {
  // Nodes 1 and 2 become ready at once; were 2 first, the send at its end would be later.
  AstraProgramBuilder builder(2);
  const uint32_t first = builder.compute(0, microseconds(1));
  const uint32_t low = builder.compute(0, microseconds(10), {first});
  builder.compute(0, microseconds(100), {first});
  builder.send(0, 1, kOneMiB, {low});
  builder.receive(1, 0, kOneMiB);
  EXPECT_THAT(finish_times(run_program(pair_of_npus(), builder.build())), ElementsAre(111000, 11000 + 20031));
}

TEST(AstraMemory, IsServedInTurnWhereItIsShared) {
  // 1000 ns and 100 GB/s: 50,000,000 bytes take 501000 ns.
  AstraProgramBuilder builder(4);
  for (uint32_t r = 0; r < 4; ++r) builder.access_memory(r, Bytes(50'000'000));
  AstraModel model = one_dimension(AstraBlock::kRing, 4, 50, 500);
  model.memory = {.kind = AstraMemory::Kind::kPerNpu, .latency = nanoseconds(1000), .bandwidth = 100};
  EXPECT_THAT(finish_times(run_program(model, builder.build())), Each(501000));
  model.memory.kind = AstraMemory::Kind::kPerNode, model.memory.nodes = 2, model.memory.npus_per_node = 2;
  EXPECT_THAT(finish_times(run_program(model, builder.build())), ElementsAre(501000, 1002000, 501000, 1002000));
  model.memory.kind = AstraMemory::Kind::kPool;
  EXPECT_THAT(finish_times(run_program(model, builder.build())), ElementsAre(501000, 1002000, 1503000, 2004000));
}

TEST(AstraWorkload, IterationsFollowEachOther) {
  AstraProgramBuilder builder(2);
  for (uint32_t r = 0; r < 2; ++r)
    builder.collective(r, AstraCollective::kAllGather, kOneMiB, {builder.compute(r, microseconds(5))});
  builder.program().iterations = 3;
  // 5000 + 10 + 20031 + 10 each.
  EXPECT_THAT(finish_times(run_program(pair_of_npus(), builder.build())), Each(3 * 25051));
}

TEST(AstraWorkload, WhoeverHangsIsNamed) {
  AstraProgramBuilder builder(2);
  builder.receive(0, 1, kOneMiB);
  builder.compute(1, nanoseconds(1));
  const AstraResult result = run_program(pair_of_npus(), builder.build());
  EXPECT_EQ(result.verdict, AstraVerdict::kStalled);
  EXPECT_THAT(result.waiting, ElementsAre("rank 0 waits for a message of 1048576 bytes with tag 0 from rank 1"));
}

}  // namespace
}  // namespace rankwire

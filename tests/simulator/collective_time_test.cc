// Collectives over the model on a star, against their critical paths.
#include <gtest/gtest.h>

#include "tests/simulator/walk.h"

namespace rankwire {
namespace {

Duration time_of(Operation operation, uint32_t members, Bytes bytes, Bytes chunk = Bytes(1 << 20)) {
  return Walk(schedules_of({.operation = operation, .members = members, .bytes = bytes}, {.chunk = chunk})).run();
}

// In a ring every port sends one message and receives one at a time: no contention. Each of the 2(n-1) steps of an
// all-reduce takes one block of S/n on the line and its way to the next member.
TEST(CollectiveTime, RingAllReduceInOneSlice) {
  for (const uint32_t n : {2u, 3u, 4u, 8u, 16u}) {
    const Bytes block(48'000);
    EXPECT_EQ(time_of(Operation::kAllReduce, n, Bytes(block.count * n)),
              (line_time(block) + tail(block)) * (2 * (n - 1)))
        << n;
  }
}

// n-1 steps of the whole input.
TEST(CollectiveTime, RingAllGatherInOneSlice) {
  for (const uint32_t n : {2u, 5u, 8u})
    EXPECT_EQ(time_of(Operation::kAllGather, n, Bytes(100'000)),
              (line_time(Bytes(100'000)) + tail(Bytes(100'000))) * (n - 1));
}

// s slices a step, each t on the line and L on its way. Slice j of step k starts when slice j of step k-1 has arrived
// and the line is free. When s t >= t + L the line is never idle: K s t + L in all. Otherwise a step of a slice takes t
// + L and the last slice follows the first by (s-1) t: K (t + L) + (s-1) t.
TEST(CollectiveTime, RingAllReducePipelinesItsSlices) {
  const uint32_t n = 4, steps = 2 * (n - 1);
  {
    const Bytes slice(65'536);  // t is 5.4 us, L 1.5 us
    const Duration t = line_time(slice), l = tail(slice);
    ASSERT_GE(t * 3, l);
    EXPECT_EQ(time_of(Operation::kAllReduce, n, Bytes(n * 4 * slice.count), slice), t * (steps * 4) + l);
  }
  {
    const Bytes slice(4096);  // t is 0.34 us, L 1.5 us
    const Duration t = line_time(slice), l = tail(slice);
    ASSERT_LT(t * 2, l);
    EXPECT_EQ(time_of(Operation::kAllReduce, n, Bytes(n * 3 * slice.count), slice), (t + l) * steps + t * 2);
  }
}

// The first slice passes n-1 hops, the others follow back to back.
TEST(CollectiveTime, RingBroadcastPipelinesItsSlices) {
  const Bytes slice(16'384);
  EXPECT_EQ(time_of(Operation::kBroadcast, 5, Bytes(10 * slice.count), slice),
            (line_time(slice) + tail(slice)) * 4 + line_time(slice) * 9);
}

// All n(n-1) messages start at once; each has 1/(n-1) of its source's and of its destination's port: 25 Gbit/s for n
// = 5.
TEST(CollectiveTime, DirectAllToAllSharesThePorts) {
  const Bytes part(10'000);
  EXPECT_EQ(time_of(Operation::kAllToAll, 5, Bytes(part.count * 5)),
            serialization_time(line_size(part, Star::framing()), Bandwidth(25'000'000'000)) + tail(part));
}

// The root's port is the bottleneck of both: n-1 messages share it.
TEST(CollectiveTime, GatherAndScatterAreBoundByTheRoot) {
  const Bytes part(10'000);
  const Duration expected =
      serialization_time(line_size(part, Star::framing()), Bandwidth(25'000'000'000)) + tail(part);
  EXPECT_EQ(time_of(Operation::kGather, 5, part), expected);
  EXPECT_EQ(time_of(Operation::kScatter, 5, Bytes(part.count * 5)), expected);
}

// ceil(log2 n) rounds of empty messages.
TEST(CollectiveTime, BarrierTakesItsRounds) {
  const Duration round = line_time(Bytes(0)) + tail(Bytes(0));
  EXPECT_EQ(time_of(Operation::kBarrier, 8, Bytes(0)), round * 3);
  EXPECT_EQ(time_of(Operation::kBarrier, 9, Bytes(0)), round * 4);
}

// In one slice, n inputs share the aggregator's line, and when all have come n copies of the sum do: each way n S at a
// member's rate, and on to the next port.
TEST(CollectiveTime, InNetworkAllReduceInOneSlice) {
  for (const uint32_t n : {2u, 4u, 8u}) {
    const Bytes input(48'000);
    ScheduleRequest request{.operation = Operation::kAllReduce, .members = n, .bytes = input};
    request.aggregation.assign(n + 1, n);
    ScheduleOptions options{.chunk = input};
    options.algorithms[static_cast<size_t>(Operation::kAllReduce)] = Algorithm::kInNetwork;
    EXPECT_EQ(Walk(schedules_of(request, options)).run(), (line_time(input) * n + tail(input)) * 2) << n;
  }
}

}  // namespace
}  // namespace rankwire

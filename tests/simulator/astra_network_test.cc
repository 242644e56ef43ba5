#include "emulator/simulator/astra_network.h"

#include <gtest/gtest.h>

namespace rankwire {
namespace {

constexpr Bytes kMiB(1 << 20);  // 9765.625 ns at 100 GB/s of 2^30 bytes

Duration delay(AstraBlock block, uint32_t npus, uint32_t from, uint32_t to) {
  return AstraDelays({{{block, npus, 100, 250.5}}}).delay(from, to, kMiB);
}

TEST(AstraDelays, AreLatencyTimesHopsRoundedDown) {
  EXPECT_EQ(delay(AstraBlock::kRing, 8, 0, 1), nanoseconds(10016));            // 250.5 + 9765.625
  EXPECT_EQ(delay(AstraBlock::kRing, 8, 0, 4), nanoseconds(10767));            // 1002 + 9765.625
  EXPECT_EQ(delay(AstraBlock::kRing, 8, 7, 2), nanoseconds(10517));            // 3 hops round
  EXPECT_EQ(delay(AstraBlock::kSwitch, 8, 0, 7), nanoseconds(10266));          // 2 hops
  EXPECT_EQ(delay(AstraBlock::kFullyConnected, 8, 0, 7), nanoseconds(10016));  // 1 hop
}

TEST(AstraDelays, AreThoseOfTheLowestDimensionThatDiffers) {
  // NPUs 0 .. 7 in 4 x 2: from 1, 2 is in the same ring, 5 opposite in the second dimension, 6 differs in both.
  const AstraDelays delays({{{AstraBlock::kRing, 4, 100, 0}, {AstraBlock::kSwitch, 2, 50, 1000}}});
  EXPECT_EQ(delays.delay(1, 2, kMiB), nanoseconds(9765));
  EXPECT_EQ(delays.delay(1, 5, kMiB), nanoseconds(21531));  // 2 x 1000 + 19531.25
  EXPECT_EQ(delays.delay(1, 6, kMiB), nanoseconds(9765));
}

TEST(AstraLinks, ServeInTheOrderOfArrival) {
  AstraLinks links({AstraBlock::kSwitch, 4, 100, 1000});
  const AstraLinks::Hop up = links.forward(0, 3, kMiB, Time());
  EXPECT_EQ(up.device, 4u);  // the switch
  EXPECT_EQ(up.arrival, Time() + nanoseconds(10765));
  // The second one waits 9765 ns for the link, not for the first one's latency.
  EXPECT_EQ(links.forward(0, 2, kMiB, Time()).arrival, Time() + nanoseconds(9765 + 10765));
  const AstraLinks::Hop down = links.forward(4, 3, kMiB, up.arrival);
  EXPECT_EQ(down.device, 3u);
  EXPECT_EQ(down.arrival, Time() + nanoseconds(2 * 10765));
}

TEST(AstraLinks, OfARingGoTheShorterWay) {
  AstraLinks links({AstraBlock::kRing, 4, 100, 0});
  EXPECT_EQ(links.forward(0, 3, kMiB, Time()).device, 3u);
  EXPECT_EQ(links.forward(0, 2, kMiB, Time()).device, 1u);  // as long both ways: clockwise
  // Directions do not share a link.
  EXPECT_EQ(links.forward(1, 0, kMiB, Time()).arrival, Time() + nanoseconds(9765));
}

}  // namespace
}  // namespace rankwire

#include "dataplane/roce/lanes.h"

#include <gtest/gtest.h>

#include <array>

#include "tests/dataplane/roce/pair.h"

namespace rankwire {
namespace {

using testing::pair_plan;

constexpr Bandwidth kQueueRate(100'000'000'000);

/// Both NICs of the plan are here: NIC 0 behind a port of two queues, NIC 1 behind one.
class LanesTest : public ::testing::Test {
 protected:
  FramePool pool_{64};
  std::pair<std::unique_ptr<FramePort>, std::unique_ptr<FramePort>> link_ = make_memory_link(pool_, 16, "link");
  const std::vector<PortBinding> bindings_{{PortId(0), link_.first.get(), kQueueRate},
                                           {PortId(0), link_.first.get(), kQueueRate},
                                           {PortId(1), link_.second.get(), kQueueRate}};
  const TransportPlan plan_ = pair_plan(2);
  const RoceOptions options_{};
};

TEST_F(LanesTest, QueuesOfAPortShareIt) {
  const QueuePairs pairs(options_, plan_, bindings_, 0);
  Lanes lanes(options_, bindings_, pairs, FarEnd::kDevice);
  ASSERT_EQ(lanes.size(), 3u);
  ASSERT_EQ(lanes.ports(), 2u);
  EXPECT_EQ(lanes.port_index(1), 0u);
  EXPECT_EQ(&lanes.port_of(0), &lanes.port_of(1));
  EXPECT_EQ(lanes.port(1).id, PortId(1));
  EXPECT_EQ(lanes.port(1).first_lane, 2u);
  EXPECT_EQ(lanes.binding(2).port, link_.second.get());
  EXPECT_EQ(lanes.port(0).station, plan_.nics[0].mac);
}

TEST_F(LanesTest, APauseOfDataIsTheLanes) {
  const QueuePairs pairs(options_, plan_, bindings_, 0);
  Lanes lanes(options_, bindings_, pairs, FarEnd::kDevice);
  // DSCP 26 is priority 3. 100 quanta of 512 bits at the 200 Gbit/s of both queues are 256 ns.
  lanes.port(0).pauses.receive(priority_pause(priority_bit(3), 100), Time());
  const Time later = Time() + microseconds(1);
  EXPECT_EQ(lanes.time_paused(0, later), nanoseconds(256));
  EXPECT_EQ(lanes.time_paused(1, later), nanoseconds(256));
  EXPECT_EQ(lanes.time_paused(2, later), Duration());
}

// 512 KiB over the bytes of a frame of every lane, halved, within 16 .. 64.
TEST(Handful, KeepsATurnOfAllLanesWithinHalfAMiB) {
  EXPECT_EQ(handful_of(1024, 1, FarEnd::kDevice), 64u);  // 256 before the limit
  EXPECT_EQ(handful_of(1024, 4, FarEnd::kDevice), 64u);
  EXPECT_EQ(handful_of(4096, 1, FarEnd::kDevice), 64u);
  EXPECT_EQ(handful_of(4096, 3, FarEnd::kDevice), 21u);  // 524288 / 12288 = 42
  EXPECT_EQ(handful_of(4096, 4, FarEnd::kDevice), 16u);
  EXPECT_EQ(handful_of(4096, 64, FarEnd::kDevice), 16u);  // 1 before the limit
  // 128 KiB with a switch in between.
  EXPECT_EQ(handful_of(1024, 1, FarEnd::kSwitch), 64u);
  EXPECT_EQ(handful_of(1024, 3, FarEnd::kSwitch), 21u);  // 131072 / 3072 = 42
  EXPECT_EQ(handful_of(1024, 4, FarEnd::kSwitch), 16u);
  EXPECT_EQ(handful_of(4096, 1, FarEnd::kSwitch), 16u);
  EXPECT_EQ(handful_of(4096, 4, FarEnd::kVirtual), 64u) << "what is due, and no more";
}

// A burst is two handfuls, whatever the schedule would allow: 1 us is 148 slots of 84 bytes at 100 Gbit/s.
TEST_F(LanesTest, ABurstIsTwoHandfuls) {
  std::array<uint8_t, 2> marks{};
  const std::span<uint8_t> all(marks);
  TransmitLane lane(PortId(0), *link_.first, Pacer(kQueueRate, milliseconds(1)), {}, 1,
                    {all.first(1), all.subspan(1), {}}, 2);
  lane.senders.push(0);
  lane.begin(Time());
  lane.finish(Time());
  const Time later = Time() + microseconds(1);
  lane.begin(later);
  for (int handful = 0; handful < 2; ++handful) {
    ASSERT_EQ(lane.next_frames(later, 60, 64).size(), 2u);
    lane.stage(2, {.header_length = 60});
  }
  EXPECT_TRUE(lane.next_frames(later, 60, 64).empty());
  lane.finish(later);
  EXPECT_EQ(link_.first->counters().tx_frames, 4u);
  lane.close();
}

// Of the pool's 64 one is sent and three are in hand. A burst of 16 takes 4 and 8 and 16 of them, and the next one,
// which is as long, begins with 16: 12 in hand, and 16 more.
TEST_F(LanesTest, TakesAsManyBuffersAtATimeAsItSends) {
  std::array<uint8_t, 2> marks{};
  const std::span<uint8_t> all(marks);
  TransmitLane lane(PortId(0), *link_.first, Pacer(kQueueRate, milliseconds(1), milliseconds(1)), {}, 1,
                    {all.first(1), all.subspan(1), {}}, 32);
  lane.senders.push(0);
  Time now;
  const auto send = [&](uint32_t frames) {
    now += microseconds(10);
    lane.begin(now);
    for (uint32_t left = frames; left > 0;) {
      const auto n = static_cast<uint32_t>(lane.next_frames(now, 60, left).size());
      ASSERT_GT(n, 0u);
      lane.stage(n, {.header_length = 60});
      left -= n;
    }
    lane.finish(now);
    // What arrives at the other end goes back into the pool.
    std::array<Frame, 16> received;
    ASSERT_EQ(link_.second->receive(now, received), frames);
    link_.second->release(std::span(received).first(frames));
  };
  const auto in_hand = [&] {
    std::array<FrameBuffer, 64> rest;
    const size_t n = link_.first->reserve(rest);
    link_.first->cancel(std::span(rest).first(n));
    return 64 - n;
  };
  send(1);
  EXPECT_EQ(in_hand(), 3u);
  send(16);
  EXPECT_EQ(in_hand(), 3u + 4 + 8 + 16 - 16);
  send(16);
  EXPECT_EQ(in_hand(), 15u + 16 - 16);
  lane.close();
  EXPECT_EQ(in_hand(), 0u);
}

}  // namespace
}  // namespace rankwire

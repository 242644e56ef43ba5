// RoceTransport behind a network that does not keep order.
#include <gtest/gtest.h>

#include <tuple>

#include "dataplane/roce/transmit_lane.h"
#include "tests/dataplane/roce/pair.h"

namespace rankwire::testing {
namespace {

constexpr uint32_t kMtu = 1024;

RoceOptions options_with(uint32_t out_of_order) {
  RoceOptions options;
  options.mtu = kMtu;
  options.profile.timeout_exponent = 6;  // 262 us
  options.payload = PayloadMode::kChecking;
  options.out_of_order = out_of_order;
  return options;
}

/// Posts messages of 1 to 40 packets on both connections and runs to the end: each arrives once, whole, in order.
void exchange(RocePair& pair, uint32_t messages) {
  const size_t frames = pair.pool().available();
  Random random(7);
  std::vector<Message> posted;
  for (uint32_t i = 0; i < messages; ++i)
    for (uint32_t connection = 0; connection < 2; ++connection) {
      posted.push_back(RocePair::message(connection, i, 1 + static_cast<int64_t>(random.below(40 * kMtu))));
      pair.post(posted.back());
    }
  pair.run_until();
  ASSERT_EQ(pair.events(EventKind::kFailed).size(), 0u);
  EXPECT_EQ(pair.events(EventKind::kSent).size(), posted.size());
  const std::vector<Event> received = pair.events(EventKind::kReceived);
  ASSERT_EQ(received.size(), posted.size());
  uint32_t next[2] = {0, 0};
  for (const Event& event : received) {
    ASSERT_EQ(event.index, next[event.connection.value]++);
    const Message& message = posted[2 * event.index + event.connection.value];
    EXPECT_EQ(event.bytes, message.bytes);
    EXPECT_EQ(event.received.payload_key, visible_key(message));
  }
  // Buffers that the lanes have in hand apart, nobody holds a frame any more.
  EXPECT_GE(pair.pool().available() + 4 * TransmitLane::kBurst, frames);
}

// Every third packet is 5 us late, as long as 60 packets of 1 KiB take at 100 Gb/s.
constexpr Impairments kUnordered{.reorder_ppm = 300'000, .reorder_delay = microseconds(5)};

TEST(RoceOutOfOrder, NothingIsAskedForAgain) {
  RocePair pair(options_with(256), kUnordered);
  pair.connect();
  exchange(pair, 30);
  for (RoceTransport* transport : {&pair.a(), &pair.b()}) {
    EXPECT_EQ(transport->counters().retransmitted, 0u);
    EXPECT_EQ(transport->counters().naks, 0u);
    EXPECT_EQ(transport->counters().out_of_sequence, 0u);
    EXPECT_GT(RocePair::detail(*transport, "placed_out_of_order"), 50u);
  }
}

TEST(RoceOutOfOrder, WithoutItEveryGapIs) {
  RocePair pair(options_with(0), kUnordered);
  pair.connect();
  exchange(pair, 30);
  EXPECT_GT(pair.a().counters().retransmitted, 100u);
  EXPECT_EQ(RocePair::detail(pair.b(), "placed_out_of_order"), 0u);
}

TEST(RoceOutOfOrder, LossesAndRepetitionsChangeNoMessage) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    Impairments impairments = kUnordered;
    impairments.loss_ppm = impairments.duplicate_ppm = impairments.corrupt_ppm = 10'000;
    impairments.seed = seed;
    RocePair pair(options_with(seed % 2 == 0 ? 16 : 256), impairments);
    pair.connect();
    exchange(pair, 10);
    if (::testing::Test::HasFailure()) return;
  }
}

// One message of 64 packets, whose first is lost. With a reach of 8 the tenth asks for it; with one of the whole window
// only a time-out finds out.
TEST(RoceOutOfOrder, ALossBeyondItsReachIsAskedForAgain) {
  for (const auto& [reach, naks, timeouts] : {std::tuple(8u, 1u, 0u), std::tuple(64u, 0u, 1u)}) {
    RocePair pair(options_with(reach), {});
    pair.connect();
    pair.port_b().lose(0);
    pair.post(RocePair::message(0, 0, 64 * kMtu));
    pair.run_until();
    EXPECT_EQ(pair.events(EventKind::kReceived).size(), 1u);
    EXPECT_EQ(pair.a().counters().naks, naks) << reach;
    EXPECT_EQ(pair.a().counters().timeouts, timeouts) << reach;
  }
}

// An application that takes nothing has room for 1024 messages. 970 of connection 1 are there when the first of
// connection 0 is repeated, behind which 59 more have been kept: those wait until it takes some.
TEST(RoceOutOfOrder, KeptPacketsWaitForTheApplication) {
  TransportPlan plan = pair_plan(2);
  plan.messages_in_flight = 2048;
  RocePair pair(options_with(64), {}, plan);
  pair.connect();
  pair.port_b().lose(0);
  for (uint32_t i = 0; i < 60; ++i) pair.post(RocePair::message(0, i, 100));
  for (uint32_t i = 0; i < 970; ++i) pair.post(RocePair::message(1, i, 100));
  const Time end = pair.now() + milliseconds(5);
  for (Time now = pair.now(); now < end;) {
    Event sent[64];
    pair.a().poll(now, sent);
    pair.b().poll(now, {});
    const Time next = std::min(pair.a().next_event(), pair.b().next_event());
    now = std::max(next, now + nanoseconds(100));
    pair.set_now(now);
  }
  EXPECT_EQ(RocePair::detail(pair.b(), "placed_out_of_order"), 59u);
  pair.run_until();
  EXPECT_EQ(pair.events(EventKind::kReceived).size(), 1030u);
}

TEST(RoceOutOfOrder, AFailedQueuePairLetsGoOfItsFrames) {
  RoceOptions options = options_with(64);
  options.profile.retry_count = 1;
  RocePair pair(options, {});
  pair.connect();
  const size_t frames = pair.pool().available();
  pair.port_b().lose(0);
  pair.port_b().lose_all_from(64);
  pair.post(RocePair::message(0, 0, 64 * kMtu));
  pair.run_until();
  EXPECT_EQ(pair.events(EventKind::kFailed).size(), 1u);
  EXPECT_EQ(RocePair::detail(pair.b(), "placed_out_of_order"), 63u);
  pair.a().close();
  pair.b().close();
  EXPECT_GE(pair.pool().available(), frames);
}

}  // namespace
}  // namespace rankwire::testing

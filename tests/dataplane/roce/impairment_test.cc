// A campaign of seeded faults: the link loses, repeats, reorders and corrupts.
#include <gtest/gtest.h>

#include <map>

#include "tests/dataplane/roce/pair.h"

namespace rankwire {
namespace {

using testing::RocePair;

// Whatever the link does, every message arrives once, in order, with its own payload, and is reported as sent once.
TEST(RoceTransport, ImpairedLinkDeliversEveryMessageOnce) {
  uint64_t retransmitted = 0, icrc_errors = 0, naks = 0, timeouts = 0, duplicates = 0;
  for (uint64_t seed = 0; seed < 150; ++seed) {
    Random random(seed);
    RoceOptions options;
    options.payload = PayloadMode::kChecking;
    options.mtu = random.chance(500'000) ? 256 : 1024;
    options.profile.window = 1 + static_cast<uint32_t>(random.below(16));
    options.profile.ack_every = 1 + static_cast<uint32_t>(random.below(8));
    options.profile.timeout_exponent = 3;  // 32.768 us
    options.seed = seed;
    testing::Impairments bad;
    bad.loss_ppm = bad.duplicate_ppm = bad.corrupt_ppm = bad.reorder_ppm = static_cast<uint32_t>(random.below(40'000));
    bad.seed = seed;
    RocePair pair(options, bad, 2);
    pair.connect();
    std::map<std::pair<uint32_t, uint32_t>, Message> expected;
    for (uint32_t i = 0; i < 40; ++i) {
      const Message message = RocePair::message(i % 4, i / 4, static_cast<int64_t>(random.below(6000)));
      expected[{i % 4, i / 4}] = message;
      pair.post(message);
    }
    pair.run_until();
    ASSERT_TRUE(pair.events(EventKind::kFailed).empty()) << "seed " << seed;
    std::map<uint32_t, uint32_t> next_index;
    const auto received = pair.events(EventKind::kReceived);
    ASSERT_EQ(received.size(), 40u) << "seed " << seed;
    for (const Event& event : received) {
      ASSERT_EQ(event.index, next_index[event.connection.value]++) << "seed " << seed;
      const Message& message = expected.at({event.connection.value, event.index});
      ASSERT_EQ(event.bytes, message.bytes) << "seed " << seed;
      // Messages below 8 bytes carry as much of their key.
      uint64_t key = payload_key(message.id);
      if (message.bytes.count < 8) key &= (uint64_t{1} << (8 * message.bytes.count)) - 1;
      ASSERT_EQ(event.received.payload_key, key) << "seed " << seed;
    }
    ASSERT_EQ(pair.events(EventKind::kSent).size(), 40u) << "seed " << seed;
    for (RoceTransport* side : {&pair.a(), &pair.b()}) {
      const TransportCounters counters = side->counters();
      ASSERT_EQ(counters.payload_errors, 0u);
      retransmitted += counters.retransmitted;
      icrc_errors += counters.icrc_errors;
      naks += counters.naks;
      timeouts += counters.timeouts;
      duplicates += counters.duplicate_packets;
    }
  }
  // The campaign met every kind of repair.
  EXPECT_GT(retransmitted, 1000u);
  EXPECT_GT(icrc_errors, 100u);
  EXPECT_GT(naks, 100u);
  EXPECT_GT(timeouts, 100u);
  EXPECT_GT(duplicates, 100u);
}

}  // namespace
}  // namespace rankwire

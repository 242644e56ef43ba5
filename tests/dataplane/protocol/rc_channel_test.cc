// Requester against responder over channels that lose, repeat and reorder.
#include "tests/dataplane/protocol/rc_channel.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace rankwire {
namespace {

/// How often, in parts of a million, what happens to a packet.
struct Impairment {
  uint32_t lost, repeated, reordered;
};

RcChannelOptions draw_options(Random& random) {
  RcChannelOptions options;
  options.requester = {.mtu = 256,
                       .window = 1 + static_cast<uint32_t>(random.below(20)),
                       .ack_every = 1 + static_cast<uint32_t>(random.below(12)),
                       .retry_count = kUnlimitedRetries,
                       .timeout = microseconds(20),
                       .max_reads = 1 + static_cast<uint32_t>(random.below(4))};
  options.responder = {.mtu = 256,
                       .not_ready_code = 1,
                       .requests_per_ack = static_cast<uint8_t>(random.below(2) == 0 ? 1 : 1 + random.below(255))};
  options.remembered_reads = 4;
  if (random.below(2) == 0) options.receives = static_cast<uint32_t>(random.below(4));
  options.grants_credits = random.below(2) == 0;
  // Often close to the wrap.
  options.first_psn =
      psn_add(0xFFFFFF, static_cast<uint32_t>(random.below(3) == 0 ? random.next() : -random.below(64)));
  return options;
}

void deliver_some(RcChannel& channel, Random& random, const Impairment& impairment) {
  const auto pick = [&](size_t size) {
    return size > 0 && random.chance(impairment.reordered) ? static_cast<size_t>(random.below(size)) : 0;
  };
  const size_t request = pick(channel.requests.size()), answer = pick(channel.answers.size());
  if (random.chance(impairment.lost)) {
    channel.drop_request(request);
  } else {
    channel.deliver_request(request, random.chance(impairment.repeated));
  }
  if (random.chance(impairment.lost)) {
    channel.drop_answer(answer);
  } else {
    channel.deliver_answer(answer, random.chance(impairment.repeated));
  }
}

/// The rule that was broken, or nullptr.
const char* run(uint64_t seed, const Impairment& impairment) {
  Random random(seed);
  const RcChannelOptions options = draw_options(random);
  RcChannel channel(options);
  for (int step = 0; step < 400 && channel.violation() == nullptr; ++step) {
    channel.now += nanoseconds(500);
    if (random.below(8) == 0) channel.post(static_cast<Verb>(random.below(5)), random.below(1 + random.below(2500)));
    if (random.below(3) != 0) channel.send(1 + static_cast<uint32_t>(random.below(8)));
    if (random.below(3) != 0) channel.answer(1 + static_cast<uint32_t>(random.below(4)));
    if (random.below(6) == 0 && channel.responder().receives() < 8) channel.post_receives(1);
    deliver_some(channel, random, impairment);
    if (channel.requester().deadline() <= channel.now) channel.expire();
  }
  channel.drain();
  if (channel.violation() == nullptr && channel.failed()) return "the queue pair does not fail";
  return channel.violation();
}

constexpr uint64_t kSeeds = 4000;

void expect_delivery(const Impairment& impairment) {
  for (uint64_t seed = 0; seed < kSeeds; ++seed) ASSERT_STREQ(run(seed, impairment), nullptr) << "seed " << seed;
}

TEST(RcChannel, Perfect) {
  expect_delivery({});
}
TEST(RcChannel, OneInAHundredLost) {
  expect_delivery({.lost = 10'000, .repeated = 0, .reordered = 0});
}
TEST(RcChannel, OneInThreeLost) {
  expect_delivery({.lost = 333'333, .repeated = 0, .reordered = 0});
}
TEST(RcChannel, Repeated) {
  expect_delivery({.lost = 0, .repeated = 300'000, .reordered = 0});
}
TEST(RcChannel, Reordered) {
  expect_delivery({.lost = 0, .repeated = 0, .reordered = 300'000});
}
TEST(RcChannel, Everything) {
  expect_delivery({.lost = 100'000, .repeated = 200'000, .reordered = 200'000});
}

}  // namespace
}  // namespace rankwire

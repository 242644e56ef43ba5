// After `prepare` the model takes no memory.
#include <gtest/gtest.h>

#include "tests/counting_new.h"
#include "tests/simulator/star.h"

namespace rankwire {
namespace {

// Every connection of 8 ranks has 4 messages of different sizes, so that flows come and go and shares change many
// times.
TEST(NetworkModel, AllocatesNothingAfterPrepare) {
  const Star star(8);
  NetworkModel model(star.network());
  model.prepare(star.plan());
  std::vector<Message> messages;
  for (uint32_t i = 0; i < 4; ++i)
    for (const Connection& c : star.plan().connections)
      messages.push_back(
          star.message(c.source.value, c.destination.value, Bytes(1000 * (1 + (c.id.value * 7 + i * 11) % 13)), i));
  std::vector<Event> events(64);
  size_t reported = 0;
  Time now;

  const uint64_t before = testing::allocations;
  ASSERT_EQ(model.post(now, messages), messages.size());
  while (now != Time::never()) {
    const size_t n = model.poll(now, events);
    reported += n;
    if (n == 0) now = model.next_event();
  }
  EXPECT_EQ(testing::allocations, before);
  EXPECT_EQ(reported, 2 * messages.size());
}

}  // namespace
}  // namespace rankwire

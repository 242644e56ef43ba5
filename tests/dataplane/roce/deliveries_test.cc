#include "dataplane/roce/deliveries.h"

#include <gtest/gtest.h>

#include <array>

#include "tests/dataplane/roce/parts.h"

namespace rankwire {
namespace {

using testing::PartsTest;

class DeliveriesTest : public PartsTest {
 protected:
  std::vector<Event> take() {
    std::array<Event, 4> events;
    const size_t n = parts_->deliveries.take(events);
    return {events.begin(), events.begin() + static_cast<std::ptrdiff_t>(n)};
  }
};

TEST_F(DeliveriesTest, TheReceiveIsPostedWhenTheMessageIsTaken) {
  options_.receive_queue = 4;
  make();
  const size_t room = parts_->deliveries.room();
  parts_->deliveries.deliver(destination(), 7, {.delivered = Time() + nanoseconds(9), .bytes = 100}, 1);
  EXPECT_TRUE(parts_->deliveries.any());
  EXPECT_EQ(parts_->deliveries.room(), room - 1);
  EXPECT_EQ(parts_->pairs.responders[destination()].receives(), 4u);
  const std::vector<Event> events = take();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].kind, EventKind::kReceived);
  EXPECT_EQ(events[0].connection, ConnectionId(0));
  EXPECT_EQ(events[0].index, 7u);
  EXPECT_EQ(events[0].received.delivered, Time() + nanoseconds(9));
  // Nothing has consumed one here, so there is one more.
  EXPECT_EQ(parts_->pairs.responders[destination()].receives(), 5u);
  EXPECT_EQ(parts_->counters.totals.messages_delivered, 1u);
  EXPECT_FALSE(parts_->deliveries.any());
}

TEST_F(DeliveriesTest, PartsAreOneMessage) {
  options_.queue_pairs = 2;
  make();
  parts_->deliveries.deliver(destination(), 0, {.delivered = Time() + nanoseconds(9), .bytes = 100}, 1);
  EXPECT_TRUE(take().empty());
  EXPECT_EQ(parts_->counters.totals.messages_delivered, 0u);
  parts_->deliveries.deliver(destination() + 1, 0, {.delivered = Time() + nanoseconds(5), .bytes = 60}, 1);
  const std::vector<Event> events = take();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].bytes, Bytes(160));
  EXPECT_EQ(events[0].received.delivered, Time() + nanoseconds(9));
}

TEST_F(DeliveriesTest, MessagesInPartsNeedMemory) {
  options_.queue_pairs = 2;
  plan_.messages_in_flight = 1;
  make();
  parts_->deliveries.deliver(destination(), 0, {}, 1);
  EXPECT_TRUE(parts_->deliveries.admits(ConnectionId(0), 0)) << "it is known";
  EXPECT_FALSE(parts_->deliveries.admits(ConnectionId(0), 1));
  parts_->deliveries.forget(ConnectionId(0));
  EXPECT_TRUE(parts_->deliveries.admits(ConnectionId(0), 1));
}

}  // namespace
}  // namespace rankwire

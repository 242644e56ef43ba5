#include "emulator/engine/message_locator.h"

#include <gtest/gtest.h>

#include "tests/engine/bench.h"

namespace rankwire {
namespace {

/// Rank 0 sends rank 1 three messages, of tag n by its node n; rank 1 receives them by its nodes 2, 1 and 0. They stand
/// on one connection by their tags.
class MessageLocatorTest : public ::testing::Test {
 protected:
  static Workload three_tags() {
    testing::WorkloadBuilder builder(2);
    for (const uint32_t tag : {0u, 1u, 2u}) builder.send(0, 1, tag, 1'000);
    for (const uint32_t tag : {2u, 1u, 0u}) builder.receive(1, 0, tag, 1'000);
    return builder.build();
  }
  static Event event_of(uint32_t index) {
    Event event;
    event.connection = ConnectionId(0);
    event.index = index;
    return event;
  }

  testing::Bench bench_{three_tags(), {.iterations = 4}};
  MessageLocator locator_{bench_.workload, bench_.plan};
};

TEST_F(MessageLocatorTest, CountsIterationsByTheMessagesOfOne) {
  for (uint32_t index = 0; index < 4 * 3; ++index) {
    const MessagePlace place = locator_.place_of(event_of(index));
    EXPECT_EQ(place.connection.id, ConnectionId(0));
    EXPECT_EQ(place.iteration, index / 3);
    EXPECT_EQ(place.index, index % 3);
  }
}

// In and out of order: what it remembers of the last one must not matter.
TEST_F(MessageLocatorTest, FindsBothEndsInAnyOrder) {
  for (const uint32_t index : {0u, 1u, 2u, 3u, 5u, 4u, 2u, 0u}) {
    const MessagePlace place = locator_.place_of(event_of(index));
    EXPECT_EQ(locator_.sender_of(place).node, index % 3) << index;
    EXPECT_EQ(locator_.receiver_of(place).node, 2 - index % 3) << index;
  }
}

TEST_F(MessageLocatorTest, NamesAMessageAsItsSenderDoes) {
  const MessagePlace place = locator_.place_of(event_of(3 + 2));
  const Step sent = bench_.plan.step(bench_.plan.nodes[0][2], 0);
  EXPECT_EQ(locator_.id_of(place), message_id(bench_.workload, RankId(0), 2, sent, 1));
  EXPECT_EQ(locator_.text(event_of(3 + 2)), to_string(locator_.id_of(place)));
  EXPECT_EQ(locator_.operation_name(event_of(3 + 2)), "send");
}

}  // namespace
}  // namespace rankwire

#include "dataplane/protocol/queue_pair_numbers.h"

#include <gtest/gtest.h>

#include <vector>

namespace rankwire {
namespace {

constexpr uint32_t kNone = QueuePairNumbers::kNone;

/// On NICs 0 and 1: to the other, within the host, the first one's reverse, and back with queue pairs of its own.
TransportPlan four_connections() {
  TransportPlan plan;
  for (uint32_t c = 0; c < 4; ++c) {
    Connection& connection = plan.connections.emplace_back();
    connection.id = ConnectionId(c);
    connection.source_nic = NicId(c < 2 ? 0 : 1);
    connection.destination_nic = NicId(c < 2 ? 1 : 0);
  }
  plan.connections[1].path = Path::kLocal;
  plan.connections[2].reverse_of = ConnectionId(0);
  return plan;
}

void expect_numbers(const std::vector<QueuePairNumbers>& numbers, const std::vector<QueuePairNumbers>& expected) {
  ASSERT_EQ(numbers.size(), expected.size());
  for (size_t c = 0; c < numbers.size(); ++c) {
    EXPECT_EQ(numbers[c].source, expected[c].source) << c;
    EXPECT_EQ(numbers[c].destination, expected[c].destination) << c;
  }
}

// From 0x10, three each: sources of connections 0 and 3, then their destinations. Connection 2 turns 0 round.
TEST(QueuePairNumbers, SourcesComeBeforeDestinations) {
  const auto all = [](NicId) { return true; };
  expect_numbers(number_queue_pairs(four_connections(), 3, all),
                 {{0x10, 0x16}, {kNone, kNone}, {0x16, 0x10}, {0x13, 0x19}});
  EXPECT_EQ(count_queue_pairs(four_connections(), 3, all), 12u);
}

// At NIC 1 alone connection 0 ends and connection 3 begins.
TEST(QueuePairNumbers, EndsThatAreElsewhereHaveNone) {
  const auto second = [](NicId nic) { return nic == NicId(1); };
  expect_numbers(number_queue_pairs(four_connections(), 3, second),
                 {{kNone, 0x13}, {kNone, kNone}, {0x13, kNone}, {0x10, kNone}});
  EXPECT_EQ(count_queue_pairs(four_connections(), 3, second), 6u);
}

}  // namespace
}  // namespace rankwire

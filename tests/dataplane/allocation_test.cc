// The hot path takes no memory.
#include <gtest/gtest.h>

#include "tests/counting_new.h"
#include "tests/dataplane/roce_pair.h"

namespace rankwire {
namespace {

TEST(Allocation, CounterCounts) {
  const uint64_t before = testing::allocations;
  delete new volatile int(1);
  EXPECT_EQ(testing::allocations, before + 1);
}

void expect_no_allocation(PayloadMode payload) {
  FramePool pool(1024);
  auto [link_a, link_b] = make_memory_link(pool, 256, "link");
  TransportPlan plan;
  plan.messages_in_flight = 64;
  plan.nics = {{.id = NicId(0),
                .port = PortId(0),
                .mac = {{2, 0, 0, 0, 0, 1}},
                .ip = Ipv4Address{0xC6120001},
                .prefix_length = 15},
               {.id = NicId(1),
                .port = PortId(1),
                .mac = {{2, 0, 0, 0, 0, 2}},
                .ip = Ipv4Address{0xC6120002},
                .prefix_length = 15}};
  Connection connection;
  connection.id = ConnectionId(0);
  connection.source_nic = NicId(0);
  connection.destination_nic = NicId(1);
  connection.largest_message = Bytes(100'000);
  plan.connections = {connection};
  // Both ends on one transport, as in a run on one host.
  RoceOptions options;
  options.payload = payload;
  const Bandwidth rate(400'000'000'000);
  RoceTransport transport(options, {{PortId(0), link_a.get(), rate}, {PortId(1), link_b.get(), rate}});
  ASSERT_TRUE(transport.connect(transport.prepare(plan)).empty());

  std::array<Event, 64> events;
  uint32_t posted = 0, reported = 0;
  Time now;
  const uint64_t before = testing::allocations;
  while (reported < 2000 && now < Time() + seconds(1)) {
    if (posted < 1000) {
      const Message message = testing::RocePair::message(0, posted, 100'000 - posted);
      posted += static_cast<uint32_t>(transport.post(now, {&message, 1}));
    }
    reported += static_cast<uint32_t>(transport.poll(now, events));
    now = std::max(now, std::min(transport.next_event(), now + microseconds(1)));
  }
  EXPECT_EQ(testing::allocations, before);
  EXPECT_EQ(reported, 2000u);
  EXPECT_EQ(transport.counters().messages_delivered, 1000u);
  EXPECT_EQ(transport.counters().payload_errors, 0u);
  transport.close();
}

TEST(Allocation, NoneBetweenConnectAndClose) {
  expect_no_allocation(PayloadMode::kChecking);
  expect_no_allocation(PayloadMode::kPattern);
}

}  // namespace
}  // namespace rankwire

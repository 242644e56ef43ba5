// The hot path takes no memory: operator new is replaced in this binary and counts while a window is open.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "tests/dataplane/roce_pair.h"

namespace {

std::atomic<bool> counting{false};
std::atomic<uint64_t> allocations{0};

void* counted(std::size_t size, std::size_t alignment) {
  if (counting.load(std::memory_order_relaxed)) ++allocations;
  const std::size_t rounded = (size + alignment - 1) / alignment * alignment;
  void* const memory = std::aligned_alloc(alignment, rounded == 0 ? alignment : rounded);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

void* operator new(std::size_t size) {
  return counted(size, alignof(std::max_align_t));
}
void* operator new(std::size_t size, std::align_val_t alignment) {
  return counted(size, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}

namespace rankwire {
namespace {

TEST(Allocation, WindowCounts) {
  counting = true;
  allocations = 0;
  delete new volatile int(1);
  counting = false;
  EXPECT_EQ(allocations, 1u);
}

TEST(Allocation, NoneBetweenConnectAndClose) {
  FramePool pool(1024);
  auto [link_a, link_b] = make_memory_link(pool, 256, "link");
  TransportPlan plan;
  plan.messages_in_flight = 64;
  plan.nics = {{NicId(0), PortId(0), {{2, 0, 0, 0, 0, 1}}, {0xC6120001}},
               {NicId(1), PortId(1), {{2, 0, 0, 0, 0, 2}}, {0xC6120002}}};
  Connection connection;
  connection.id = ConnectionId(0);
  connection.source_nic = NicId(0);
  connection.destination_nic = NicId(1);
  connection.largest_message = Bytes(100'000);
  plan.connections = {connection};
  // Both ends on one transport, as in a run on one host.
  RoceOptions options;
  options.payload = PayloadMode::kChecking;
  const Bandwidth rate(400'000'000'000);
  RoceTransport transport(options, {{PortId(0), link_a.get(), rate}, {PortId(1), link_b.get(), rate}});
  ASSERT_TRUE(transport.connect(transport.prepare(plan)).empty());

  std::array<Event, 64> events;
  uint32_t posted = 0, reported = 0;
  Time now;
  counting = true;
  allocations = 0;
  while (reported < 2000 && now < Time() + seconds(1)) {
    if (posted < 1000) {
      const Message message = testing::RocePair::message(0, posted, 100'000 - posted);
      posted += static_cast<uint32_t>(transport.post(now, {&message, 1}));
    }
    reported += static_cast<uint32_t>(transport.poll(now, events));
    now = std::max(now, std::min(transport.next_event(), now + microseconds(1)));
  }
  counting = false;
  EXPECT_EQ(reported, 2000u);
  EXPECT_EQ(allocations, 0u);
  EXPECT_EQ(transport.counters().messages_delivered, 1000u);
  EXPECT_EQ(transport.counters().payload_errors, 0u);
  transport.close();
}

}  // namespace
}  // namespace rankwire

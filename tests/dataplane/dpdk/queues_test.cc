// Devices with several queues.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string>
#include <thread>
#include <vector>

#include "tests/dataplane/dpdk/fixture.h"
#include "tests/dataplane/wire/wire_bytes.h"

namespace rankwire {
namespace {

using ::testing::AllOf;
using testing::Dpdk;
using testing::enter_namespace_with_veth_pair;
using testing::filled;
using ::testing::HasSubstr;
using testing::number_of;

DpdkPortOptions options_of(uint16_t queues) {
  DpdkPortOptions options;
  options.frames = 255;
  options.descriptors = 256;
  options.queues = queues;
  return options;
}

// The device that net_ring makes by itself has 16 rings, and what queue q transmits queue q receives.
TEST_F(Dpdk, EveryQueueOfADeviceIsAPort) {
  const auto ports = open_dpdk_queues(environment(), "net_ring0", options_of(4));
  ASSERT_EQ(ports.size(), 4u);
  for (uint32_t q = 0; q < 4; ++q) {
    const Frame frame = filled(*ports[q], 100 + q, 200);
    ASSERT_EQ(ports[q]->transmit(Time(), {&frame, 1}), 1u);
  }
  for (uint32_t q = 0; q < 4; ++q) {
    std::array<Frame, 4> received;
    ASSERT_EQ(ports[q]->receive(Time(9), received), 1u) << q;
    EXPECT_EQ(number_of(received[0]), 100 + q);
    EXPECT_EQ(received[0].arrival, Time(9)) << "the device does not stamp";
    ports[q]->release({received.data(), 1});
    EXPECT_EQ(ports[q]->counters().name, "net_ring0 queue " + std::to_string(q));
    EXPECT_EQ(ports[q]->counters().tx_frames, 1u);
    EXPECT_EQ(ports[q]->counters().rx_frames, 1u);
    EXPECT_FALSE(ports[q]->capabilities().hardware_time);
    EXPECT_FALSE(ports[q]->counters().hardware_time);
  }
}

TEST_F(Dpdk, QueuesHavePoolsOfTheirOwn) {
  const auto ports = open_dpdk_queues(environment(), "net_ring1", options_of(2));
  std::vector<Frame> frames(300), others(300);
  const size_t taken = ports[0]->allocate(frames);
  EXPECT_EQ(taken, 255u);
  const size_t left = ports[1]->allocate(others);
  EXPECT_EQ(left, 255u) << "what one queue holds the other does not miss";
  ports[0]->release(std::span(frames).first(taken));
  ports[1]->release(std::span(others).first(left));
}

TEST_F(Dpdk, TheLastPortClosesTheDevice) {
  auto ports = open_dpdk_queues(environment(), "net_null7", options_of(2));
  ports.erase(ports.begin());
  EXPECT_THAT(error_of("net_null7"), HasSubstr("twice")) << "one port is still open";
  const Frame frame = filled(*ports[0], 1, 60);
  EXPECT_EQ(ports[0]->transmit(Time(), {&frame, 1}), 1u);
  ports.clear();
  EXPECT_NO_THROW(ports = open_dpdk_queues(environment(), "net_null7", options_of(2)));
}

TEST_F(Dpdk, ADeviceWithFewerQueuesIsNamed) {
  // net_pcap has a queue for each file.
  EXPECT_THAT(error_of("net_pcap5,tx_pcap=/dev/null", options_of(4)),
              AllOf(HasSubstr("net_pcap5"), HasSubstr("not 4 of each")));
  EXPECT_THAT(error_of("net_null6", options_of(0)), AllOf(HasSubstr("net_null6"), HasSubstr("1 .. 16")));
  EXPECT_THAT(error_of("net_null6", options_of(17)), HasSubstr("1 .. 16"));
}

/// Frame `number` of 100 bytes: UDP over IPv4 from a source port of its own, so that each is a flow.
Frame udp_frame(FramePort& port, uint16_t number) {
  const auto header = testing::from_hex(
      "0200000000020200000000010800"
      "4500005600000000401100000a0000010a000002"
      "c00012b700420000");
  Frame frame = filled(port, 0, 100);
  std::copy(header.begin(), header.end(), frame.head);
  frame.head[34] = static_cast<uint8_t>(0xC0 | number >> 8);
  frame.head[35] = static_cast<uint8_t>(number);
  return frame;
}

// The kernel spreads flows over the sockets of a device by a hash of addresses and ports (PACKET_FANOUT_HASH). That
// none of 256 flows comes to one of two sockets has a probability of 2^-255.
TEST_F(Dpdk, PacketSocketsSpreadFlowsOverTheirQueues) {
  environment();
  std::string skipped;
  std::thread([&] {
    if (!enter_namespace_with_veth_pair() || std::system("ip link set rwv0 mtu 4160") != 0) {
      skipped = "needs root and iproute2 to make a veth pair in a network namespace";
      return;
    }
    auto options = options_of(1);
    options.frames = 511;
    const auto source = open_dpdk_port(environment(), "net_af_packet4,iface=rwv0", options);
    options.queues = 2;
    const auto sinks = open_dpdk_queues(environment(), "net_af_packet5,iface=rwv1", options);
    for (uint16_t i = 0; i < 256; ++i) {
      const Frame frame = udp_frame(*source, i);
      ASSERT_EQ(source->transmit(Time(), {&frame, 1}), 1u);
    }
    std::array<size_t, 2> received{};
    for (int turn = 0; turn < 5'000'000 && received[0] + received[1] < 256; ++turn) {
      const size_t q = static_cast<size_t>(turn) % 2;
      std::array<Frame, 32> frames;
      const auto found = std::span(frames).first(sinks[q]->receive(Time(), frames));
      // The kernel sends frames of its own on a new interface.
      received[q] += static_cast<size_t>(std::ranges::count(found, 100u, &Frame::length));
      sinks[q]->release(found);
    }
    EXPECT_EQ(received[0] + received[1], 256u);
    EXPECT_GT(received[0], 0u);
    EXPECT_GT(received[1], 0u);
  }).join();
  if (!skipped.empty()) GTEST_SKIP() << skipped;
}

/// Takes the right to lock memory without limit from the calling thread.
bool drop_lock_capability() {
  __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3};
  std::array<__user_cap_data_struct, 2> sets{};
  if (::syscall(SYS_capget, &header, sets.data()) != 0) return false;
  sets[0].effective &= ~(1u << CAP_IPC_LOCK);
  return ::syscall(SYS_capset, &header, sets.data()) == 0;
}

TEST_F(Dpdk, RingsThatMayNotBeLockedAreExplained) {
  environment();
  std::string skipped;
  std::thread([&] {
    if (!enter_namespace_with_veth_pair() || !drop_lock_capability()) {
      skipped = "needs root and iproute2 to make a veth pair in a network namespace";
      return;
    }
    rlimit before;
    ASSERT_EQ(::getrlimit(RLIMIT_MEMLOCK, &before), 0);
    const rlimit lowered{64 << 10, before.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_MEMLOCK, &lowered), 0);
    const std::string error = error_of("net_af_packet6,iface=rwv1", options_of(1));
    ::setrlimit(RLIMIT_MEMLOCK, &before);
    EXPECT_THAT(error, AllOf(HasSubstr("net_af_packet6"), HasSubstr("RLIMIT_MEMLOCK allows 64")));
  }).join();
  if (!skipped.empty()) GTEST_SKIP() << skipped;
}

}  // namespace
}  // namespace rankwire

#include "dataplane/dpdk/port.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "dataplane/dpdk/environment.h"
#include "dataplane/switch/star_switch.h"
#include "dataplane/wire/payload.h"
#include "tests/dataplane/dpdk/fixture.h"
#include "tests/test_data.h"

namespace rankwire {
namespace {

using ::testing::AllOf;
using testing::Dpdk;
using ::testing::ElementsAre;
using testing::enter_namespace_with_veth_pair;
using testing::filled;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::small_environment;

TEST_F(Dpdk, LeavesTheThreadsAffinityAsItWas) {
  cpu_set_t before, after;
  ASSERT_EQ(::sched_getaffinity(0, sizeof before, &before), 0);
  environment();
  ASSERT_EQ(::sched_getaffinity(0, sizeof after, &after), 0);
  EXPECT_TRUE(CPU_EQUAL(&before, &after));
}

TEST_F(Dpdk, StartsOnceInAProcess) {
  environment();
  try {
    DpdkEnvironment second(small_environment());
    FAIL() << "a second environment must not start";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kRun);
    EXPECT_THAT(error.what(), HasSubstr("only once"));
  }
}

/// As vhost-user's drivers write, to a peer that has gone.
TEST_F(Dpdk, OutlivesAPeerThatGoesAway) {
  environment();
  std::array<int, 2> ends{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()), 0);
  ::close(ends[1]);
  EXPECT_EQ(::write(ends[0], "x", 1), -1);
  EXPECT_EQ(errno, EPIPE);
  ::close(ends[0]);
}

TEST_F(Dpdk, RingLinkCarriesAFrameWithABorrowedPayload) {
  auto [a, b] = make_ring_link(environment(), "borrowed", small_link());
  EXPECT_GE(a->capabilities().frame_capacity, 4300u);
  EXPECT_FALSE(a->capabilities().payload_by_reference);
  EXPECT_EQ(a->next_event(), Time::never());

  std::vector<uint8_t> payload(4096);
  for (size_t i = 0; i < payload.size(); ++i) payload[i] = static_cast<uint8_t>(i * 7);
  Frame frame = filled(*a, 9, 54);
  frame.payload = payload.data();
  frame.payload_length = 4096;
  frame.tail_length = 4;
  std::memcpy(frame.tail, "ICRC", 4);
  ASSERT_EQ(a->transmit(Time(1), {&frame, 1}), 1u);

  std::array<Frame, 4> received;
  ASSERT_EQ(b->receive(Time(77), received), 1u);
  EXPECT_EQ(received[0].arrival, Time(1)) << "when it was sent, whenever it is taken";
  ASSERT_EQ(received[0].head_length, 54 + 4096 + 4);
  EXPECT_EQ(received[0].payload_length, 0u);
  EXPECT_EQ(std::memcmp(received[0].head + 54, payload.data(), 4096), 0);
  EXPECT_EQ(std::memcmp(received[0].head + 54 + 4096, "ICRC", 4), 0);
  b->release({received.data(), 1});

  EXPECT_EQ(a->counters().name, "borrowed.a");
  EXPECT_EQ(a->counters().tx_frames, 1u);
  EXPECT_EQ(a->counters().tx_bytes, 4154u);
  EXPECT_EQ(b->counters().rx_frames, 1u);
  EXPECT_EQ(b->counters().rx_bytes, 4154u);
}

TEST_F(Dpdk, AFrameOfAnotherThreadArrivesWhenItIsTaken) {
  RingLinkOptions options = small_link();
  options.one_thread = false;
  auto [a, b] = make_ring_link(environment(), "threads", options);
  Frame frame = filled(*a, 9, 54);
  ASSERT_EQ(a->transmit(Time(1), {&frame, 1}), 1u);
  ASSERT_EQ(b->receive(Time(77), {&frame, 1}), 1u);
  EXPECT_EQ(frame.arrival, Time(77));
  b->release({&frame, 1});
}

TEST_F(Dpdk, RingLinkRingsTheBellOfItsFarEnd) {
  Doorbells bells(2), answers(2);
  auto [a, b] = make_ring_link(environment(), "bell", small_link(), {&bells, 1}, {&answers, 0});
  const auto rung = [](Doorbells& of) {
    std::vector<uint32_t> ports;
    of.answer_all([&](uint32_t port) { ports.push_back(port); });
    return ports;
  };
  EXPECT_THAT(rung(bells), IsEmpty());
  Frame frame = filled(*a, 9, 54);
  ASSERT_EQ(a->transmit(Time(1), {&frame, 1}), 1u);
  EXPECT_THAT(rung(bells), ElementsAre(1));
  EXPECT_THAT(rung(answers), IsEmpty());
  EXPECT_EQ(b->next_event(), Time::long_ago());
  EXPECT_EQ(a->next_event(), Time::never());
  // What is received is sent back.
  ASSERT_EQ(b->receive(Time(2), {&frame, 1}), 1u);
  EXPECT_EQ(b->next_event(), Time::never());
  ASSERT_EQ(b->transmit(Time(3), {&frame, 1}), 1u);
  EXPECT_THAT(rung(answers), ElementsAre(0));
  ASSERT_EQ(a->receive(Time(4), {&frame, 1}), 1u);
  EXPECT_EQ(frame.arrival, Time(3));
  a->release({&frame, 1});
  EXPECT_THAT(rung(bells), IsEmpty());
}

TEST_F(Dpdk, PatternIsWholeWhateverItsBufferHeldBefore) {
  auto [a, b] = make_ring_link(environment(), "pattern", small_link());
  // Every buffer of the pool comes by many times, with full, shorter and no pattern, and overwritten.
  for (uint32_t i = 0; i < 4000; ++i) {
    const uint32_t length = i % 7 == 0 ? 4096 - i % 4000 : 4096;
    Frame frame;
    ASSERT_EQ(a->allocate({&frame, 1}), 1u);
    if (i % 5 == 0) {
      std::memset(frame.head, 0xEE, 4000);
      frame.head_length = 4000;
    } else {
      frame.head += kHeaderRoom - 54;
      frame.head_length = 54;
      frame.payload = payload_pattern().data();
      frame.payload_length = static_cast<uint16_t>(length);
      frame.tail_length = 4;
      std::memcpy(frame.tail, "ICRC", 4);
    }
    ASSERT_EQ(a->transmit(Time(), {&frame, 1}), 1u);
    std::array<Frame, 1> received;
    ASSERT_EQ(b->receive(Time(), received), 1u);
    if (i % 5 != 0) {
      ASSERT_EQ(received[0].head_length, 54 + length + 4);
      EXPECT_EQ(std::memcmp(received[0].head + 54, payload_pattern().data(), length), 0) << i;
      EXPECT_EQ(std::memcmp(received[0].head + 54 + length, "ICRC", 4), 0) << i;
    }
    b->release(received);
  }
}

/// Sends a frame with the whole pattern through `a`, its headers 54 bytes, and returns what `b` receives.
Frame send_pattern(FramePort& a, FramePort& b) {
  const FrameRun run{.shape = {.payload_length = kMaxMtu, .header_length = 54, .trailer_length = 4}, .count = 1};
  std::array<FrameBuffer, 1> buffers{};
  EXPECT_EQ(a.reserve(buffers), 1u);
  EXPECT_EQ(a.send_complete(Time(), buffers, {&run, 1}), 1u);
  std::array<Frame, 1> received;
  EXPECT_EQ(b.receive(Time(), received), 1u);
  return received[0];
}

// The mark breaks the rule that nobody changes payload in its place, and so tells a pattern that stayed from a new one.
TEST_F(Dpdk, PatternOfAFrameThatWasPassedOnIsNotWrittenAgain) {
  auto [a, b] = make_ring_link(environment(), "first_hop", small_link());
  auto [c, d] = make_ring_link(environment(), "next_hop", small_link());
  Frame frame = send_pattern(*a, *b);
  frame.head[54 + 100] ^= 0xFF;
  ASSERT_EQ(c->transmit(Time(), {&frame, 1}), 1u);
  std::array<Frame, 1> received;
  ASSERT_EQ(d->receive(Time(), received), 1u);
  ASSERT_EQ(received[0].head_length, 54 + kMaxMtu + 4);
  d->release(received);
  // The pool hands out first what came back last.
  const Frame again = send_pattern(*a, *b);
  ASSERT_EQ(again.handle, frame.handle);
  EXPECT_EQ(again.head[54 + 100], static_cast<uint8_t>(payload_pattern()[100] ^ 0xFF));
  b->release({&again, 1});
}

TEST_F(Dpdk, AnAllocatedFrameMayHaveTheLengthThatItsBufferHadLast) {
  auto [a, b] = make_ring_link(environment(), "same_length", small_link());
  const Frame first = send_pattern(*a, *b);
  b->release({&first, 1});
  Frame frame;
  ASSERT_EQ(a->allocate({&frame, 1}), 1u);
  ASSERT_EQ(frame.handle, first.handle);
  frame.head = first.head;
  frame.head_length = first.head_length;
  std::memset(frame.head, 0xEE, frame.head_length);
  ASSERT_EQ(a->transmit(Time(), {&frame, 1}), 1u);
  std::array<Frame, 1> received;
  ASSERT_EQ(b->receive(Time(), received), 1u);
  b->release(received);
  const Frame again = send_pattern(*a, *b);
  ASSERT_EQ(again.handle, first.handle);
  EXPECT_EQ(std::memcmp(again.head + 54, payload_pattern().data(), kMaxMtu), 0);
  b->release({&again, 1});
}

TEST_F(Dpdk, SendsAHeadThatWasMoved) {
  auto [a, b] = make_ring_link(environment(), "moved", small_link());
  Frame frame = filled(*a, 1, 100);
  frame.head += 16;
  frame.head_length = 84;
  frame.head[0] = 0xAB;
  ASSERT_EQ(a->transmit(Time(), {&frame, 1}), 1u);
  std::array<Frame, 1> received;
  ASSERT_EQ(b->receive(Time(), received), 1u);
  EXPECT_EQ(received[0].head_length, 84u);
  EXPECT_EQ(received[0].head[0], 0xAB);
  b->release(received);
}

TEST_F(Dpdk, RingLinkRefusesBeyondItsQueueAndKeepsOrder) {
  auto [a, b] = make_ring_link(environment(), "full", small_link());
  std::vector<Frame> frames;
  for (uint32_t i = 0; i < 100; ++i) frames.push_back(filled(*a, i, 60));
  ASSERT_EQ(a->transmit(Time(), frames), 64u);  // the queue's capacity
  EXPECT_EQ(a->counters().tx_refused, 36u);
  std::array<Frame, 64> received;
  uint32_t next = 0;
  while (const size_t n = b->receive(Time(), received)) {
    for (const Frame& frame : std::span(received).first(n)) {
      uint32_t number;
      std::memcpy(&number, frame.head + 20, sizeof number);
      EXPECT_EQ(number, next++);
    }
    b->release(std::span(received).first(n));
  }
  EXPECT_EQ(next, 64u);
  // What was refused still belongs to the sender and can be sent again.
  EXPECT_EQ(a->transmit(Time(), std::span(frames).subspan(64)), 36u);
}

TEST_F(Dpdk, PoolGivesAllItsFramesAndTakesThemBack) {
  auto [a, b] = make_ring_link(environment(), "pool", small_link());
  for (int round = 0; round < 3; ++round) {
    std::vector<Frame> frames(300);
    // This thread started DPDK and so has the only cache: no frame is out of its reach.
    const size_t n = a->allocate(frames);
    EXPECT_EQ(n, 255u);
    EXPECT_EQ(b->allocate(std::span(frames).subspan(n)), 0u);
    b->release(std::span(frames).first(n));
  }
}

TEST_F(Dpdk, FramesOfOneRingLinkPassThroughASwitchToAnother) {
  auto link_0 = make_ring_link(environment(), "switch0", small_link());
  auto link_1 = make_ring_link(environment(), "switch1", small_link());
  const std::array<SwitchPort, 2> ports = {SwitchPort{link_0.second.get(), Bandwidth(100'000'000'000)},
                                           SwitchPort{link_1.second.get(), Bandwidth(100'000'000'000)}};
  const std::unique_ptr<VirtualFabric> owned = make_star_switch(ports, {});
  VirtualFabric& device = *owned;
  uint32_t received = 0;
  for (uint32_t i = 0; i < 2'000; ++i) {
    Frame frame = filled(*link_0.first, i, 1000);
    std::memcpy(frame.head, "\x02\0\0\0\0\1\x02\0\0\0\0\2", 12);
    ASSERT_EQ(link_0.first->transmit(Time(i * 1'000'000), {&frame, 1}), 1u);
    // 1 us apart; a frame takes 82 ns on each line.
    device.step(Time(i * 1'000'000));
    device.step(Time(i * 1'000'000 + 200'000));
    std::array<Frame, 4> frames;
    const size_t n = link_1.first->receive(Time(), frames);
    for (const Frame& got : std::span(frames).first(n)) {
      uint32_t number;
      std::memcpy(&number, got.head + 20, sizeof number);
      EXPECT_EQ(number, received++);
    }
    link_1.first->release(std::span(frames).first(n));
  }
  EXPECT_EQ(received, 2'000u);
}

TEST_F(Dpdk, NullDeviceTakesEverything) {
  DpdkPortOptions options;
  options.frames = 255;
  const auto port = open_dpdk_port(environment(), "net_null0", options);
  for (uint32_t i = 0; i < 1'000; ++i) {
    const Frame frame = filled(*port, i, 1082);
    ASSERT_EQ(port->transmit(Time(), {&frame, 1}), 1u);
  }
  EXPECT_EQ(port->counters().tx_frames, 1'000u);
  EXPECT_EQ(port->counters().tx_bytes, 1'082'000u);
  EXPECT_EQ(port->counters().name, "net_null0");
}

TEST_F(Dpdk, AVirtualDeviceCanBeOpenedAgainOnceItIsClosed) {
  DpdkPortOptions options;
  options.frames = 255;
  auto port = open_dpdk_port(environment(), "net_null1", options);
  EXPECT_THAT(error_of("net_null1", options), AllOf(HasSubstr("net_null1"), HasSubstr("twice")));
  port.reset();
  EXPECT_NO_THROW(port = open_dpdk_port(environment(), "net_null1", options));
}

// 65535 frames of 4.4 KiB and more are 280 MiB of the environment's 512.
TEST_F(Dpdk, MemoryOfFramesIsThereForTheNextPorts) {
  const RingLinkOptions large{.queue_frames = 64, .frames = 65535};
  make_ring_link(environment(), "large", large);
  EXPECT_THROW(make_ring_link(environment(), "large", large), Error) << "the first one's is still taken";
  for (int i = 0; i < 3; ++i) {
    environment().free_frames();
    EXPECT_NO_THROW(make_ring_link(environment(), "large", large));
  }
  environment().free_frames();
}

TEST_F(Dpdk, ErrorsNameTheDeviceAndWhatIsWrong) {
  EXPECT_THAT(error_of("net_nonsense0"), HasSubstr("device net_nonsense0 cannot be created"));
  EXPECT_THAT(error_of("net_af_packet7,iface=rwabsent0"), HasSubstr("there is no network interface rwabsent0"));
  DpdkPortOptions large;
  large.mtu = 9601;
  EXPECT_THAT(error_of("net_null2", large), AllOf(HasSubstr("net_null2"), HasSubstr("9601")));
  DpdkPortOptions many;
  many.frames = 1 << 17;  // 600 MB of the environment's 512 MiB
  EXPECT_THAT(error_of("net_null3", many), HasSubstr("raise dpdk.memory"));
}

TEST_F(Dpdk, AThreadOfItsOwnMaySwitchFrames) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "DPDK's rings are not instrumented, so their ordering is invisible to ThreadSanitizer";
#endif
  auto link_0 = make_ring_link(environment(), "thread0", small_link());
  auto link_1 = make_ring_link(environment(), "thread1", small_link());
  const std::array<SwitchPort, 2> ports = {SwitchPort{link_0.second.get(), Bandwidth(100'000'000'000)},
                                           SwitchPort{link_1.second.get(), Bandwidth(100'000'000'000)}};
  const std::unique_ptr<VirtualFabric> owned = make_star_switch(ports, {});
  VirtualFabric& device = *owned;
  RealClock clock;
  std::atomic<bool> stop{false};
  std::thread thread([&] {
    const DpdkThread registered;
    while (!stop.load(std::memory_order_relaxed)) {
      if (!device.step(clock.now())) std::this_thread::yield();
    }
  });
  constexpr uint32_t kFrames = 2'000;
  uint32_t sent = 0, received = 0, misplaced = 0;
  for (int64_t turn = 0; turn < 50'000'000 && received < kFrames; ++turn) {
    if (sent < kFrames && sent - received < 48) {  // less than the queues hold, so that nothing is refused
      const Frame frame = filled(*link_0.first, sent, 200);
      std::memcpy(frame.head, "\x02\0\0\0\0\1\x02\0\0\0\0\2", 12);
      sent += static_cast<uint32_t>(link_0.first->transmit(clock.now(), {&frame, 1}));
    }
    std::array<Frame, 8> frames;
    const size_t n = link_1.first->receive(clock.now(), frames);
    for (const Frame& got : std::span(frames).first(n)) {
      uint32_t number;
      std::memcpy(&number, got.head + 20, sizeof number);
      misplaced += number != received++;
    }
    link_1.first->release(std::span(frames).first(n));
    if (n == 0) std::this_thread::yield();
  }
  stop = true;
  thread.join();
  EXPECT_EQ(received, kFrames);
  EXPECT_EQ(misplaced, 0u);
}

/// Receives until a frame of `length` bytes comes: the kernel sends frames of its own on a new interface.
Frame receive_of_length(FramePort& port, uint32_t length) {
  std::array<Frame, 1> frame;
  for (int turn = 0; turn < 5'000'000; ++turn) {
    if (port.receive(Time(5), frame) == 0) continue;
    if (frame[0].length() == length) return frame[0];
    port.release(frame);
  }
  return {};
}

TEST_F(Dpdk, AfPacketCarriesJumboFramesOverVeth) {
  environment();
  std::string skipped;
  std::thread([&] {
    if (!enter_namespace_with_veth_pair()) {
      skipped = "needs root and iproute2 to make a veth pair in a network namespace";
      return;
    }
    DpdkPortOptions options;
    options.frames = 2047;
    EXPECT_THAT(error_of("net_af_packet0,iface=rwv0", options), HasSubstr("ip link set rwv0 mtu 4160"));
    ASSERT_EQ(std::system("ip link set rwv0 mtu 4160"), 0);
    // Header 14 and 66 of the ring's own beside the packet.
    EXPECT_THAT(error_of("net_af_packet0,iface=rwv0,framesz=4096,blocksz=4096", options), HasSubstr("framesz=4240"));

    const auto a = open_dpdk_port(environment(), "net_af_packet0,iface=rwv0", options);
    const auto b = open_dpdk_port(environment(), "net_af_packet1,iface=rwv1", options);
    std::vector<uint8_t> payload(4096);
    for (size_t i = 0; i < payload.size(); ++i) payload[i] = static_cast<uint8_t>(i * 11);
    for (uint32_t i = 0; i < 2'100; ++i) {  // twice around the rings of 1024 frames
      Frame frame = filled(*a, i, 54);
      std::memcpy(frame.head, "\x02\0\0\0\0\1\x02\0\0\0\0\2\x08\0", 14);
      frame.payload = payload.data();
      frame.payload_length = 4096;
      frame.tail_length = 4;
      ASSERT_EQ(a->transmit(Time(), {&frame, 1}), 1u);
      const Frame received = receive_of_length(*b, 4154);
      ASSERT_NE(received.handle, nullptr) << i;
      uint32_t number;
      std::memcpy(&number, received.head + 20, sizeof number);
      EXPECT_EQ(number, i);
      EXPECT_EQ(std::memcmp(received.head + 54, payload.data(), 4096), 0);
      EXPECT_EQ(received.arrival, Time(5));
      b->release({&received, 1});
    }
    EXPECT_EQ(a->counters().tx_frames, 2'100u);
  }).join();
  if (!skipped.empty()) GTEST_SKIP() << skipped;
}

TEST(PciDevices, ReportsWhatKeepsDpdkFromADevice) {
  namespace fs = std::filesystem;
  const testing::TemporaryFolder root;
  const fs::path devices = root / "sys/bus/pci/devices";
  const auto add = [&](const std::string& address, const std::string& driver, const std::string& kind) {
    fs::create_directories(devices / address);
    std::ofstream(devices / address / "class") << kind << '\n';
    if (driver.empty()) return;
    fs::create_directories(root / "drivers" / driver);
    fs::create_directory_symlink(root / "drivers" / driver, devices / address / "driver");
  };
  add("0000:01:00.0", "ixgbe", "0x020000");
  fs::create_directories(devices / "0000:01:00.0/net/eth7");
  add("0000:02:00.0", "mlx5_core", "0x020700");
  add("0000:03:00.0", "vfio-pci", "0x020000");
  fs::create_directory_symlink(root / "groups/42", devices / "0000:03:00.0/iommu_group");
  add("0000:04:00.0", "", "0x020000");
  add("0000:05:00.0", "nvme", "0x010802");

  const auto found = pci_network_devices(root / "sys", root / "dev");
  ASSERT_EQ(found.size(), 4u);  // not the disk
  EXPECT_EQ(found[0].interface, "eth7");
  EXPECT_THAT(found[0].obstacle, AllOf(HasSubstr("ixgbe"), HasSubstr("dpdk-devbind.py -b vfio-pci 0000:01:00.0")));
  EXPECT_EQ(found[1].driver, "mlx5_core");
  EXPECT_THAT(found[1].obstacle, IsEmpty());
  EXPECT_THAT(found[2].obstacle, HasSubstr("permission on"));
  EXPECT_THAT(found[3].obstacle, HasSubstr("has no driver"));

  fs::create_directories(root / "dev/vfio");
  std::ofstream(root / "dev/vfio/42") << "";
  EXPECT_THAT(pci_obstacle("03:00.0", root / "sys", root / "dev"), IsEmpty());
  EXPECT_THAT(pci_obstacle("0000:99:00.0", root / "sys", root / "dev"), HasSubstr("no PCI device 0000:99:00.0"));
}

}  // namespace
}  // namespace rankwire

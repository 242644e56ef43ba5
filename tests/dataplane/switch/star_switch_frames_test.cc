// What the switch does with tagged frames, multicast and IPv6, and before a run begins.
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "dataplane/neighbours/frames.h"
#include "dataplane/ports/memory_port.h"
#include "dataplane/switch/star_switch.h"
#include "tests/dataplane/wire/encapsulations.h"

namespace rankwire {
namespace {

using testing::Encapsulation;
using testing::encapsulations;
using testing::FrameBytes;
using testing::linear;

using Frames = std::vector<FrameBytes>;

class SwitchFrames : public ::testing::Test {
 protected:
  void start(const SwitchOptions& options) {
    std::vector<SwitchPort> ports;
    for (size_t i = 0; i < 3; ++i) {
      auto [nic, inner] = make_memory_link(pool_, 64, "port" + std::to_string(i));
      nics_[i] = std::move(nic);
      inner_[i] = std::move(inner);
      ports.push_back({inner_[i].get(), Bandwidth(10'000'000'000)});
    }
    switch_ = make_star_switch(ports, options);
  }
  void send(size_t port, Time now, const FrameBytes& bytes) {
    Frame frame;
    ASSERT_EQ(nics_[port]->allocate({&frame, 1}), 1u);
    std::copy(bytes.begin(), bytes.end(), frame.head);
    frame.head_length = static_cast<uint16_t>(bytes.size());
    ASSERT_EQ(nics_[port]->transmit(now, {&frame, 1}), 1u);
  }
  void run() {
    while (switch_->next_event() != Time::never()) switch_->step(switch_->next_event());
  }
  Frames received(size_t port, Time* first_arrival = nullptr) {
    std::array<Frame, 64> frames;
    const size_t n = nics_[port]->receive(Time(), frames);
    std::vector<FrameBytes> bytes;
    for (size_t i = 0; i < n; ++i) bytes.push_back(linear(frames[i]));
    if (first_arrival != nullptr && n > 0) *first_arrival = frames[0].arrival;
    nics_[port]->release({frames.data(), n});
    return bytes;
  }

  FramePool pool_{512, 1600};
  std::array<std::unique_ptr<FramePort>, 3> nics_, inner_;
  std::unique_ptr<VirtualFabric> switch_;
};

FrameBytes send_only(const PacketPath& path) {
  FrameBytes memory(256);
  Frame frame;
  frame.head = memory.data();
  write_headers(make_template(path), {.opcode = Opcode::kSendOnly}, frame);
  seal(frame);
  return linear(frame);
}

TEST_F(SwitchFrames, TakesItsUsualTimeBeforeTheRunBegins) {
  start({.latency = microseconds(1), .link_latency = nanoseconds(100)});
  const Time sent(-5'000'000'000'000);
  send(0, sent, send_only(encapsulations()[0].path));
  run();
  Time arrival;
  ASSERT_EQ(received(1, &arrival).size(), 1u);
  // 14 + 20 + 8 + 12 + 4 = 58 bytes are 60 + 24 on the line: 67.2 ns at 10 Gb/s, in and out; links 100 ns each.
  EXPECT_EQ((arrival - sent).ps, 1'000'000 + 2 * 100'000 + 2 * 67'200);
}

TEST_F(SwitchFrames, FloodsMulticastAndLearnsWhoSentIt) {
  start({});
  const Nic nic{.id = NicId(0), .mac = {{2, 0, 0, 0, 0, 1}}, .ip = testing::ipv6(1), .prefix_length = 64};
  std::array<uint8_t, kMaxNeighbourFrame> memory;
  Frame frame;
  frame.head = memory.data();
  write_solicitation(nic, testing::ipv6(2), frame);  // to 33:33:ff:00:00:02
  const FrameBytes solicitation = linear(frame);
  send(0, Time(), solicitation);
  run();
  for (const size_t port : {1, 2}) EXPECT_EQ(received(port), Frames{solicitation}) << port;

  // The answer goes to the asker alone.
  PacketPath back = encapsulations()[1].path;
  std::swap(back.source_mac, back.destination_mac);
  send(1, Time(), send_only(back));
  run();
  EXPECT_EQ(received(0).size(), 1u);
  EXPECT_TRUE(received(2).empty());
}

TEST_F(SwitchFrames, PassesTagsAsTheyAreAndLooksAtAddressesOnly) {
  start({});
  const auto all = encapsulations();
  PacketPath back = all[0].path;
  std::swap(back.source_mac, back.destination_mac);
  send(1, Time(), send_only(back));  // untagged: now the switch knows where the destination of all others is
  run();
  received(0), received(2);
  for (const Encapsulation& as : all) {
    const FrameBytes frame = send_only(as.path);
    send(0, Time(), frame);
    run();
    EXPECT_EQ(received(1), Frames{frame}) << as.name;
    EXPECT_TRUE(received(2).empty()) << as.name;
  }
}

TEST_F(SwitchFrames, MarksCongestionInEveryEncapsulation) {
  start({.ecn_threshold = Bytes(0)});
  for (const Encapsulation& as : encapsulations()) {
    // Of two inputs at once the output carries one frame off while two come: the second pair already finds one waiting.
    PacketPath other = as.path;
    other.source_mac.bytes[5] = 9;
    for (int i = 0; i < 4; ++i) {
      send(0, Time(), send_only(as.path));
      send(2, Time(), send_only(other));
    }
    run();
    size_t marked = 0;
    for (FrameBytes& bytes : received(1)) {
      const Frame frame = testing::frame_over(bytes);
      const ParsedPacket packet = parse(frame);
      ASSERT_EQ(packet.reject, Reject::kNone) << as.name << ": " << to_string(packet.reject);
      EXPECT_TRUE(icrc_matches(frame, packet));
      EXPECT_EQ(packet.dscp, 26);
      marked += packet.ecn == Ecn::kCongestionExperienced ? 1 : 0;
    }
    EXPECT_GT(marked, 0u) << as.name;
    received(0), received(2);
  }
}

}  // namespace
}  // namespace rankwire

// One port's NICs and a station elsewhere on the link, in virtual time.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>

#include "dataplane/neighbours/neighbours.h"
#include "tests/dataplane/wire/wire_bytes.h"

namespace rankwire::testing {

using Frames = std::vector<FrameBytes>;

inline constexpr MacAddress kPeerMac{{2, 0, 0, 0, 0, 0x99}};

inline Nic make_nic(uint32_t id, const IpAddress& ip, std::optional<uint16_t> vlan = {}) {
  return {.id = NicId(id),
          .port = PortId(0),
          .mac = {{2, 0, 0, 0, static_cast<uint8_t>(id >> 8), static_cast<uint8_t>(id)}},
          .ip = ip,
          .prefix_length = static_cast<uint8_t>(ip.is_ipv4() ? 16 : 64),
          .vlan = vlan,
          .gateway = {}};
}

inline IpAddress ipv4(uint32_t value) {
  return Ipv4Address{value};
}

/// A station elsewhere on the link, played by the frame writers.
inline Nic make_peer(const IpAddress& ip, std::optional<uint16_t> vlan = {}) {
  Nic nic = make_nic(0, ip, vlan);
  nic.mac = kPeerMac;
  return nic;
}

class NeighboursFixture : public ::testing::Test {
 protected:
  static constexpr size_t kFrames = 64, kFrameRoom = 9300;
  static constexpr uint8_t kUnwritten = 0xEE;

  static NeighbourOptions options() {
    return {.interval = milliseconds(250), .deadline = seconds(1), .spacing = microseconds(10), .next_hops = 16};
  }
  /// Past the announcements.
  void start(std::vector<Nic> nics, const NeighbourOptions& options = NeighboursFixture::options()) {
    nics_ = std::move(nics);
    neighbours_ = std::make_unique<Neighbours>(options, nics_);
    while (!neighbours_->ready()) {
      now_ = std::max(now_, neighbours_->next_event());
      sent();
    }
  }
  /// What the port sends now.
  Frames sent() {
    std::array<Frame, kFrames> frames;
    for (size_t i = 0; i < frames.size(); ++i) frames[i].head = memory_.data() + i * kFrameRoom;
    const size_t n = neighbours_->write(now_, frames);
    std::vector<FrameBytes> bytes;
    for (size_t i = 0; i < n; ++i) bytes.push_back(linear(frames[i]));
    std::fill_n(memory_.begin(), n * kFrameRoom, kUnwritten);
    return bytes;
  }
  void advance(Duration by) { now_ += by; }
  void receive(FrameBytes bytes) { neighbours_->receive(frame_over(bytes)); }

  template <class Write>
  static FrameBytes frame_of(Write write) {
    FrameBytes memory(kFrameRoom, kUnwritten);
    Frame frame;
    frame.head = memory.data();
    write(frame);
    return linear(frame);
  }
  static FrameBytes request(const Nic& asker, const IpAddress& target) {
    return frame_of([&](Frame& frame) { write_solicitation(asker, target, frame); });
  }
  static FrameBytes announcement(const Nic& nic) {
    return frame_of([&](Frame& frame) { write_announcement(nic, frame); });
  }
  /// The answer of `nic` to a request of `asker`.
  static FrameBytes answer(const Nic& nic, const Nic& asker) {
    FrameBytes question = request(asker, nic.ip);
    const NeighbourMessage message = read_neighbour_frame(frame_over(question));
    return frame_of([&](Frame& frame) { write_advertisement(nic, message, frame); });
  }
  const NeighbourCounters& counters() const { return neighbours_->counters(); }
  NextHop::State state(uint32_t handle) const { return (*neighbours_)[handle].state; }

  Time now_ = Time(-30'000'000'000'000);  // connections are set up before a run begins
  std::vector<Nic> nics_;
  std::unique_ptr<Neighbours> neighbours_;

 private:
  FrameBytes memory_ = FrameBytes(kFrames * kFrameRoom, kUnwritten);  // of `sent`
};

}  // namespace rankwire::testing

// A virtual switch with a NIC behind each port, in virtual time.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "dataplane/ports/memory_port.h"
#include "dataplane/switch/star_switch.h"

namespace rankwire::testing {

constexpr Bandwidth k10G{10'000'000'000};
constexpr uint64_t kBroadcast = 0xFFFFFFFFFFFF;
constexpr uint8_t kNotEct = 0, kEct0 = 2, kCe = 3;

/// The station with number n.
constexpr uint64_t station(uint64_t n) {
  return 0x025257000000 + n;
}

struct Reception {
  uint64_t source;
  Time arrival;
  uint32_t length;
  uint8_t tos;
  bool checksum_correct;
};

inline uint64_t mac_at(const uint8_t* bytes) {
  uint64_t mac = 0;
  for (int i = 0; i < 6; ++i) mac = mac << 8 | bytes[i];
  return mac;
}

/// The ones' complement sum of an IPv4 header, checksum included, is 0xFFFF when the checksum is right (RFC 1071).
inline uint32_t header_sum(const uint8_t* ip) {
  uint32_t sum = 0;
  for (int i = 0; i < 20; i += 2) sum += static_cast<uint32_t>(ip[i] << 8 | ip[i + 1]);
  while (sum >> 16 != 0) sum = (sum & 0xFFFF) + (sum >> 16);
  return sum;
}

/// A switch with one NIC a port, in virtual time.
class SwitchBench {
 public:
  SwitchBench(std::vector<Bandwidth> rates, const SwitchOptions& options, size_t link_frames = 4096)
      : pool_(8192, 1600) {
    std::vector<SwitchPort> ports;
    for (size_t i = 0; i < rates.size(); ++i) {
      auto [nic, inner] = make_memory_link(pool_, link_frames, "port" + std::to_string(i));
      nics_.push_back(std::move(nic));
      inner_.push_back(std::move(inner));
      ports.push_back({inner_.back().get(), rates[i]});
    }
    switch_ = make_star_switch(ports, options);
  }

  /// Starts to send an IPv4 frame of `length` >= 34 bytes at `now` from the NIC behind `port`.
  void send(size_t port, Time now, uint64_t source, uint64_t destination, uint32_t length, uint8_t tos = kEct0) {
    std::array<Frame, 1> frame;
    ASSERT_EQ(nics_[port]->allocate(frame), 1u);
    uint8_t* head = frame[0].head;
    std::memset(head, 0, length);
    for (int i = 0; i < 6; ++i) {
      head[i] = static_cast<uint8_t>(destination >> (40 - 8 * i));
      head[6 + i] = static_cast<uint8_t>(source >> (40 - 8 * i));
    }
    head[12] = 0x08;
    head[14] = 0x45;
    head[15] = tos;
    head[22] = 64;
    head[23] = 17;
    const uint32_t checksum = ~header_sum(head + 14);
    head[24] = static_cast<uint8_t>(checksum >> 8);
    head[25] = static_cast<uint8_t>(checksum);
    frame[0].head_length = static_cast<uint16_t>(length);
    ASSERT_EQ(nics_[port]->transmit(now, frame), 1u);
  }

  /// Steps the switch through all its events.
  void run() {
    while (switch_->next_event() != Time::never()) {
      now_ = std::max(now_, switch_->next_event());
      if (!switch_->step(now_)) break;
    }
  }

  std::vector<Reception> received(size_t port) {
    std::vector<Reception> receptions;
    std::array<Frame, 32> frames;
    while (const size_t n = nics_[port]->receive(now_, frames)) {
      for (const Frame& frame : std::span(frames).first(n)) {
        receptions.push_back({mac_at(frame.head + 6), frame.arrival, frame.length(), frame.head[15],
                              header_sum(frame.head + 14) == 0xFFFF});
      }
      nics_[port]->release(std::span(frames).first(n));
    }
    return receptions;
  }

  /// Lets the switch learn that station(p) is behind port p, and empties everything.
  void learn_stations() {
    for (size_t port = 0; port < nics_.size(); ++port)
      send(port, now_ + nanoseconds(static_cast<int64_t>(port)), station(port), kBroadcast, 60);
    run();
    for (size_t port = 0; port < nics_.size(); ++port) received(port);
  }

  VirtualFabric& device() { return *switch_; }
  FabricPortCounters counters(size_t port) { return switch_->counters()[port]; }
  FramePort& nic(size_t port) { return *nics_[port]; }
  FramePool& pool() { return pool_; }
  Time now() const { return now_; }

  void expect_conservation() { EXPECT_TRUE(switch_->conserved()); }

 private:
  FramePool pool_;
  std::vector<std::unique_ptr<FramePort>> nics_, inner_;
  std::unique_ptr<VirtualFabric> switch_;
  Time now_;
};

inline SwitchOptions options() {
  SwitchOptions options;
  options.latency = microseconds(1);
  options.link_latency = nanoseconds(100);
  return options;
}

}  // namespace rankwire::testing

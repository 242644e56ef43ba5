// A virtual fabric with a station behind each host's port, in virtual time.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "dataplane/ports/memory_port.h"
#include "dataplane/switch/virtual_fabric.h"

namespace rankwire::testing {

/// What a test says of a frame: IPv4 with UDP.
struct Sent {
  uint32_t from = 0, to = 0;
  uint32_t length = 1000;
  uint8_t dscp = 0;
  uint8_t ecn = 2;  ///< ECT(0)
  uint16_t source_port = 0xC000;
  std::optional<uint32_t> as = std::nullopt;  ///< the host whose address it bears as its source, if not its own
};

struct Got {
  uint32_t from = 0;
  Time arrival;
  uint8_t dscp = 0;
  uint8_t ecn = 0;
  uint16_t source_port = 0;
};

class FabricBench {
 public:
  /// Host h has the address `mac(h)`, which the fabric knows.
  FabricBench(const Topology& topology, std::vector<FabricSwitchOptions> devices, FabricOptions options = {},
              size_t frames = 16384, PoolUse use = PoolUse::kManyThreads)
      : pool_(frames, 1600, use), bells_(static_cast<uint32_t>(topology.hosts.size())) {
    std::vector<FabricStation> stations;
    std::vector<FramePort*> ends;
    for (uint32_t h = 0; h < topology.hosts.size(); ++h) {
      auto [host, end] = make_memory_link(pool_, 8192, "host", {&bells_, h});
      hosts_.push_back(std::move(host));
      ends_.push_back(std::move(end));
      ends.push_back(ends_.back().get());
      stations.push_back({mac(h), h});
    }
    options.stations = stations;
    options.bells = &bells_;
    fabric_ = std::make_unique<VirtualFabric>(topology, ends, devices, options);
  }

  static MacAddress mac(uint32_t host) {
    return {{2, 0, 0, 0, static_cast<uint8_t>(host >> 8), static_cast<uint8_t>(host)}};
  }

  void send(const Sent& sent, Time now) {
    Frame frame;
    ASSERT_EQ(hosts_[sent.from]->allocate({&frame, 1}), 1u);
    std::memset(frame.head, 0, 64);
    const MacAddress to = mac(sent.to), from = mac(sent.as.value_or(sent.from));
    std::memcpy(frame.head, &to, 6);
    std::memcpy(frame.head + 6, &from, 6);
    frame.head[12] = 8;
    frame.head[14] = 0x45;
    frame.head[15] = static_cast<uint8_t>(sent.dscp << 2 | sent.ecn);
    frame.head[23] = 17;
    frame.head[29] = static_cast<uint8_t>(sent.from);
    frame.head[33] = static_cast<uint8_t>(sent.to);
    frame.head[34] = static_cast<uint8_t>(sent.source_port >> 8);
    frame.head[35] = static_cast<uint8_t>(sent.source_port);
    frame.head_length = static_cast<uint16_t>(sent.length);
    ASSERT_EQ(hosts_[sent.from]->transmit(now, {&frame, 1}), 1u);
  }

  void send_pause(uint32_t host, const PauseFrame& pause, Time now) {
    Frame frame;
    ASSERT_EQ(hosts_[host]->allocate({&frame, 1}), 1u);
    write_pause(mac(host), pause, frame);
    ASSERT_EQ(hosts_[host]->transmit(now, {&frame, 1}), 1u);
  }

  /// Steps through all events up to `end`.
  void run(Time end = Time(1'000'000'000'000)) {
    while (fabric_->next_event() <= end) {
      now_ = std::max(now_, fabric_->next_event());
      if (!fabric_->step(now_)) break;
    }
    EXPECT_TRUE(fabric_->conserved());
  }
  /// The same, ahead of the steps where no host could notice. Returns the number of steps.
  uint32_t run_ahead() {
    uint32_t steps = 0;
    for (Time next; (next = fabric_->run_ahead(Time::never())) != Time::never(); ++steps) {
      now_ = std::max(now_, next);
      EXPECT_TRUE(fabric_->step(now_));
    }
    EXPECT_TRUE(fabric_->conserved());
    return steps;
  }

  /// The same without a step, on links that hold back what is handed out ahead of its time.
  void hand_out_ahead() {
    while (fabric_->run_ahead(Time::never()) != Time::never()) {
    }
    now_ = Time::never();
    EXPECT_TRUE(fabric_->conserved());
  }

  /// What the host has got since the last call; pauses are put into `pauses`.
  std::vector<Got> received(uint32_t host) {
    std::vector<Got> got;
    std::array<Frame, 32> frames;
    while (const size_t n = hosts_[host]->receive(now_, frames)) {
      for (const Frame& frame : std::span(frames).first(n)) {
        if (const auto pause = read_pause(frame)) {
          pauses.push_back({frame.arrival, *pause});
          continue;
        }
        got.push_back({frame.head[29], frame.arrival, static_cast<uint8_t>(frame.head[15] >> 2),
                       static_cast<uint8_t>(frame.head[15] & 3),
                       static_cast<uint16_t>(frame.head[34] << 8 | frame.head[35])});
      }
      hosts_[host]->release(std::span(frames).first(n));
    }
    return got;
  }

  uint64_t drops(FabricDrop reason) const {
    uint64_t sum = 0;
    for (const FabricPortCounters& c : fabric_->counters()) sum += c.dropped(reason);
    return sum;
  }
  uint64_t drops() const {
    uint64_t sum = 0;
    for (const FabricPortCounters& c : fabric_->counters()) sum += c.dropped();
    return sum;
  }
  FabricPortCounters port(uint32_t number) const { return fabric_->counters()[number]; }
  FabricPortCounters host_port(uint32_t host) const { return port(fabric_->topology().host_port(host)); }
  VirtualFabric& fabric() { return *fabric_; }
  FramePool& pool() { return pool_; }
  Time now() const { return now_; }

  std::vector<std::pair<Time, PauseFrame>> pauses;

 private:
  FramePool pool_;
  Doorbells bells_;
  std::vector<std::unique_ptr<FramePort>> hosts_, ends_;
  std::unique_ptr<VirtualFabric> fabric_;
  Time now_;
};

}  // namespace rankwire::testing

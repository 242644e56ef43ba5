#include "dataplane/switch/sharded_port.h"

#include <array>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/dataplane/switch/star_bench.h"

namespace rankwire {
namespace {

using testing::kBroadcast;
using testing::station;

constexpr uint32_t kPorts = 4;

/// Frames for station(n) are served by shard n mod `shards`.
class Hosts {
 public:
  explicit Hosts(uint32_t shards, size_t link_frames = 256) : pool_(4096, 1600), stations_(kPorts) {
    for (uint32_t p = 0; p < kPorts; ++p) stations_.learn(station(p), static_cast<uint16_t>(p % shards));
    ends_.resize(shards);
    for (uint32_t p = 0; p < kPorts; ++p) {
      std::vector<std::unique_ptr<FramePort>> lanes;
      for (std::vector<std::unique_ptr<FramePort>>& of_shard : ends_) {
        auto [lane, end] = make_memory_link(pool_, link_frames, "p" + std::to_string(p));
        lanes.push_back(std::move(lane));
        of_shard.push_back(std::move(end));
      }
      ports_.push_back(std::make_unique<ShardedPort>(std::move(lanes), p % shards, stations_));
    }
  }

  ShardedPort& port(uint32_t p) { return *ports_[p]; }
  FramePort& end(uint32_t shard, uint32_t port) { return *ends_[shard][port]; }
  uint32_t shards() const { return static_cast<uint32_t>(ends_.size()); }
  size_t available() const { return pool_.available(); }

  /// Of an Ethernet frame without more; its number stands behind the addresses.
  Frame write(uint32_t from, uint64_t to, uint16_t number, uint16_t length = 60) {
    Frame frame;
    EXPECT_EQ(port(from).allocate({&frame, 1}), 1u);
    std::memset(frame.head, 0, length);
    for (int i = 0; i < 6; ++i) {
      frame.head[i] = static_cast<uint8_t>(to >> (40 - 8 * i));
      frame.head[6 + i] = static_cast<uint8_t>(station(from) >> (40 - 8 * i));
    }
    std::memcpy(frame.head + 14, &number, sizeof number);
    frame.head_length = length;
    return frame;
  }

  /// The numbers of what waits at a port, which is given back.
  static std::vector<uint16_t> take(FramePort& at, Time now = Time()) {
    std::vector<uint16_t> numbers;
    std::array<Frame, 32> frames;
    while (const size_t n = at.receive(now, frames)) {
      for (const Frame& frame : std::span(frames).first(n)) {
        std::memcpy(&numbers.emplace_back(), frame.head + 14, sizeof(uint16_t));
        EXPECT_EQ(frame.length(), 60u);
      }
      at.release(std::span(frames).first(n));
    }
    return numbers;
  }

 private:
  FramePool pool_;
  MacTable stations_;
  std::vector<std::vector<std::unique_ptr<FramePort>>> ends_;  // by shard and port
  std::vector<std::unique_ptr<ShardedPort>> ports_;
};

using Numbers = std::vector<uint16_t>;

TEST(ShardedPort, EachShardGetsWhatIsForItsStationsInOrder) {
  Hosts hosts(2);
  std::vector<Frame> frames;
  uint16_t number = 0;
  for (const uint64_t to : {1, 1, 2, 3, 2, 2, 1}) frames.push_back(hosts.write(0, station(to), number++));
  EXPECT_EQ(hosts.port(0).transmit(Time(), frames), 7u);
  EXPECT_EQ(Hosts::take(hosts.end(0, 0)), (Numbers{2, 4, 5}));
  EXPECT_EQ(Hosts::take(hosts.end(1, 0)), (Numbers{0, 1, 3, 6}));
  EXPECT_EQ(hosts.port(0).counters().tx_frames, 7u);
  EXPECT_EQ(hosts.port(0).counters().tx_bytes, 7u * 60);
}

TEST(ShardedPort, PacketsThatAreMadeInBuffersToo) {
  Hosts hosts(2);
  std::array<FrameBuffer, 3> buffers;
  ASSERT_EQ(hosts.port(0).reserve(buffers), 3u);
  const FramePort::Capabilities capabilities = hosts.port(0).capabilities();
  for (uint16_t i = 0; i < 3; ++i) {
    const Frame model = hosts.write(0, station(i + 1u), i);
    std::memcpy(capabilities.place(buffers[i]) - 60, model.head, 60);
    hosts.port(0).release({&model, 1});
  }
  const FrameRun run{{.header_length = 60}, 3};
  EXPECT_EQ(hosts.port(0).send_complete(Time(), buffers, {&run, 1}), 3u);
  EXPECT_EQ(Hosts::take(hosts.end(0, 0)), (Numbers{1}));
  EXPECT_EQ(Hosts::take(hosts.end(1, 0)), (Numbers{0, 2}));
}

TEST(ShardedPort, AllShardsHearWhatIsForAGroup) {
  Hosts hosts(4);
  const size_t before = hosts.available();
  const std::array frames{hosts.write(2, kBroadcast, 7), hosts.write(2, station(99), 8)};
  EXPECT_EQ(hosts.port(2).transmit(Time(), frames), 2u);
  for (uint32_t shard = 0; shard < 4; ++shard) EXPECT_EQ(Hosts::take(hosts.end(shard, 2)), (Numbers{7, 8})) << shard;
  EXPECT_EQ(hosts.port(2).counters().tx_frames, 2u);
  EXPECT_EQ(hosts.port(2).counters().tx_bytes, 120u);
  EXPECT_EQ(hosts.port(2).copied_frames(), 2u * 3);
  EXPECT_EQ(hosts.port(2).copied_bytes(), 2u * 3 * 60);
  EXPECT_EQ(hosts.available(), before);
}

TEST(ShardedPort, WhatOneLaneRefusesStaysAndNothingPassesIt) {
  Hosts hosts(2, 4);
  std::vector<Frame> frames;
  for (uint16_t number = 0; number < 6; ++number) frames.push_back(hosts.write(0, station(1), number));
  frames.push_back(hosts.write(0, station(2), 6));
  EXPECT_EQ(hosts.port(0).transmit(Time(), frames), 4u);
  EXPECT_EQ(Hosts::take(hosts.end(0, 0)), Numbers{});
  EXPECT_EQ(Hosts::take(hosts.end(1, 0)), (Numbers{0, 1, 2, 3}));
  EXPECT_EQ(hosts.port(0).transmit(Time(), std::span(frames).subspan(4)), 3u);
  EXPECT_EQ(Hosts::take(hosts.end(1, 0)), (Numbers{4, 5}));
  EXPECT_EQ(Hosts::take(hosts.end(0, 0)), (Numbers{6}));
}

TEST(ShardedPort, AFrameForAGroupThatIsRefusedLeavesNoCopies) {
  Hosts hosts(2, 4);
  for (uint16_t number = 0; number < 4; ++number) {
    const Frame frame = hosts.write(0, station(2), number);
    ASSERT_EQ(hosts.port(0).transmit(Time(), {&frame, 1}), 1u);
  }
  const Frame frame = hosts.write(0, kBroadcast, 4);
  const size_t before = hosts.available();
  EXPECT_EQ(hosts.port(0).transmit(Time(), {&frame, 1}), 0u);
  EXPECT_EQ(hosts.available(), before);
  EXPECT_EQ(Hosts::take(hosts.end(1, 0)), Numbers{});
  hosts.port(0).release({&frame, 1});
}

TEST(ShardedPort, ReceivesFromItsOwnShardAlone) {
  Hosts hosts(2);
  const Frame ours = hosts.write(0, station(1), 1), other = hosts.write(0, station(1), 2);
  ASSERT_EQ(hosts.end(1, 1).transmit(Time(), {&ours, 1}), 1u);
  ASSERT_EQ(hosts.end(0, 1).transmit(Time(), {&other, 1}), 1u);
  EXPECT_EQ(Hosts::take(hosts.port(1)), (Numbers{1}));
  EXPECT_EQ(hosts.port(1).next_event(), Time::never());
}

/// What a host got, and when.
using Delivery = std::tuple<uint32_t, Time, uint16_t>;

/// Frames of any hosts for any others, more at times than the queues hold, by a switch in so many shards.
struct Forwarded {
  std::vector<Delivery> deliveries;  // by host, in their order
  uint64_t dropped = 0, received = 0;
};
Forwarded forward(uint32_t shards) {
  Hosts hosts(shards);
  std::vector<std::unique_ptr<VirtualFabric>> switches;
  for (uint32_t shard = 0; shard < shards; ++shard) {
    SwitchOptions options = testing::options();
    options.buffer = Bytes(600);
    std::vector<SwitchPort> ports;
    for (uint32_t p = 0; p < kPorts; ++p) {
      ports.push_back({&hosts.end(shard, p), Bandwidth(1'000'000'000)});
      options.served.push_back(p % shards == shard);
    }
    switches.push_back(make_star_switch(ports, options));
  }
  Forwarded result;
  std::mt19937 random(5);
  uint16_t number = 0;
  const Duration tick = nanoseconds(100);
  std::vector<std::vector<Delivery>> of_hosts(kPorts);
  // Each says first who it is; a frame occupies a line for (60 + 24) B x 8 ns/B = 672 ns, seven ticks.
  for (uint32_t t = 0; t < 4000; ++t) {
    const Time now = Time() + tick * t;
    for (uint32_t p = 0; p < kPorts; ++p) {
      if (t % 7 != 0 || t > 3500 || (t > 100 && random() % 4 == 0)) continue;
      const bool all = t <= 100 || random() % 50 == 0;
      const Frame frame = hosts.write(p, all ? kBroadcast : station((p + 1 + random() % 3) % kPorts), number++);
      EXPECT_EQ(hosts.port(p).transmit(now, {&frame, 1}), 1u);
    }
    for (const auto& device : switches) device->step(now);
    for (uint32_t p = 0; p < kPorts; ++p)
      for (const uint16_t got : Hosts::take(hosts.port(p), now)) of_hosts[p].emplace_back(p, now, got);
  }
  for (const std::vector<Delivery>& of_host : of_hosts)
    result.deliveries.insert(result.deliveries.end(), of_host.begin(), of_host.end());
  for (const auto& device : switches) {
    EXPECT_TRUE(device->conserved());
    EXPECT_EQ(device->held(), 0u);
    for (const FabricPortCounters& port : device->counters()) {
      result.dropped += port.dropped() - port.dropped(FabricDrop::kFiltered);
      result.received += port.rx_frames;
    }
  }
  for (uint32_t p = 0; p < kPorts; ++p) result.received -= hosts.port(p).copied_frames();
  return result;
}

TEST(ShardedPort, ShardsTogetherDoWhatOneSwitchDoes) {
  const Forwarded whole = forward(1);
  EXPECT_GT(whole.deliveries.size(), 1000u);
  EXPECT_GT(whole.dropped, 10u);
  for (const uint32_t shards : {2u, 3u, 4u}) {
    const Forwarded parts = forward(shards);
    EXPECT_EQ(parts.deliveries, whole.deliveries) << shards;
    EXPECT_EQ(parts.dropped, whole.dropped) << shards;
    EXPECT_EQ(parts.received, whole.received) << shards;
  }
}

}  // namespace
}  // namespace rankwire

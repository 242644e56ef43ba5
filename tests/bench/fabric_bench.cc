#include <chrono>
#include <cstdio>
#include <cstring>
#include <memory>
#include <vector>

#include "base/random.h"
#include "dataplane/ports/frame_pool.h"
#include "dataplane/switch/virtual_fabric.h"
#include "tests/bench/bench.h"

namespace rankwire::bench {
namespace {

constexpr uint32_t kArity = 16, kHosts = 1024;
constexpr Line kFabricLine{Bandwidth(400'000'000'000), nanoseconds(500)};
constexpr uint16_t kFabricFrame = 4178;  // 4096 B of payload
constexpr uint32_t kFlight = 128;        // frames of a host that are in the fabric at once: 6 us at line rate need 72

/// A host without a transport: it keeps kFlight of its frames to one other host on the way, which its line to the
/// fabric spaces. Frames are headers alone, with a payload by reference that nobody reads.
class RawSource final : public FramePort {
 public:
  RawSource(FramePool& pool, std::vector<RawSource*>& all, Doorbell bell, uint32_t host)
      : pool_(pool), all_(all), bell_(bell), host_(host) {}

  void start(uint32_t peer) {
    peer_ = peer;
    bell_.ring();
  }
  uint64_t delivered() const { return delivered_; }

  size_t allocate(std::span<Frame> frames) noexcept override { return pool_.allocate(frames); }
  /// From the fabric: it has arrived, and its sender may send another.
  size_t transmit(Time now, std::span<const Frame> frames) noexcept override {
    for (const Frame& frame : frames) {
      RawSource& sender = *all_[static_cast<uint32_t>(frame.head[10] << 8 | frame.head[11])];
      --sender.on_the_way_;
      sender.since_ = now;
      sender.bell_.ring();
    }
    delivered_ += frames.size();
    pool_.release(frames);
    return frames.size();
  }
  size_t receive(Time now, std::span<Frame> frames) noexcept override {
    size_t n = 0;
    while (n < frames.size() && on_the_way_ < kFlight && pool_.allocate(frames.subspan(n, 1)) == 1) {
      Frame& frame = frames[n++];
      write(frame);
      frame.arrival = now;
      ++on_the_way_;
    }
    return n;
  }
  void release(std::span<const Frame> frames) noexcept override { pool_.release(frames); }
  Time next_event() const noexcept override { return on_the_way_ < kFlight ? since_ : Time::never(); }

  size_t reserve(std::span<FrameBuffer>) noexcept override { return 0; }
  void complete(std::span<const FrameBuffer>, std::span<const FrameRun>) noexcept override {}
  size_t send(Time, std::span<FrameBuffer>) noexcept override { return 0; }
  void cancel(std::span<const FrameBuffer>) noexcept override {}
  void discard(std::span<const FrameBuffer>) noexcept override {}
  uint32_t length(FrameBuffer) const noexcept override { return 0; }
  Capabilities capabilities() const noexcept override {
    return {.frame_capacity = pool_.frame_capacity(), .payload_by_reference = true};
  }
  PortCounters counters() const override { return {}; }

 private:
  void write(Frame& frame) const noexcept {
    std::memset(frame.head, 0, 64);
    frame.head[0] = frame.head[6] = 2;
    frame.head[4] = static_cast<uint8_t>(peer_ >> 8), frame.head[5] = static_cast<uint8_t>(peer_);
    frame.head[10] = static_cast<uint8_t>(host_ >> 8), frame.head[11] = static_cast<uint8_t>(host_);
    frame.head[12] = 8;
    frame.head[14] = 0x45;
    frame.head[15] = 2;
    frame.head[23] = 17;
    frame.head[28] = frame.head[10], frame.head[29] = frame.head[11];
    frame.head[32] = frame.head[4], frame.head[33] = frame.head[5];
    frame.head_length = 64;
    frame.payload = frame.head;
    frame.payload_length = kFabricFrame - 64;
  }

  FramePool& pool_;
  std::vector<RawSource*>& all_;
  Doorbell bell_;
  uint32_t host_, peer_ = 0;
  uint32_t on_the_way_ = 0;
  Time since_;  // when the last place became free
  uint64_t delivered_ = 0;
};

/// Every host sends to one other, no two to the same.
std::vector<uint32_t> permutation() {
  std::vector<uint32_t> order(kHosts);
  for (uint32_t h = 0; h < kHosts; ++h) order[h] = h;
  Random random(1);
  for (uint32_t h = kHosts - 1; h > 0; --h) std::swap(order[h], order[random.below(h)]);  // Sattolo: no fixed points
  return order;
}

void print_spreading(const char* name, Spreading spreading) {
  FramePool pool(kHosts * (kFlight + 8), 128);
  Doorbells bells(kHosts);
  std::vector<std::unique_ptr<RawSource>> hosts;
  std::vector<RawSource*> all;
  std::vector<FramePort*> ports;
  std::vector<FabricStation> stations;
  for (uint32_t h = 0; h < kHosts; ++h) {
    hosts.push_back(std::make_unique<RawSource>(pool, all, Doorbell{&bells, h}, h));
    all.push_back(hosts.back().get());
    ports.push_back(hosts.back().get());
    stations.push_back({{{2, 0, 0, 0, static_cast<uint8_t>(h >> 8), static_cast<uint8_t>(h)}}, h});
  }
  FabricSwitchOptions device;
  device.latency = nanoseconds(400);
  device.red = RedOptions{.minimum = Bytes(1'600'000), .maximum = Bytes(6'400'000), .most_ppm = 200'000};
  FabricOptions options;
  options.balancing.spreading = spreading;
  options.stations = stations;
  options.bells = &bells;
  options.frames = kHosts * (kFlight + 8);
  VirtualFabric fabric(fat_tree({.k = kArity, .uplink = kFabricLine}, std::vector<Line>(kHosts, kFabricLine)), ports,
                       {&device, 1}, options);
  const std::vector<uint32_t> peers = permutation();
  for (uint32_t h = 0; h < kHosts; ++h) hosts[h]->start(peers[h]);
  Time now;
  std::vector<double> rates;
  for (int i = 0; i < kRuns; ++i) {
    const uint64_t before = fabric.hops();
    const double begin = cpu_seconds();
    while (cpu_seconds() - begin < 1) {
      for (int turn = 0; turn < 256; ++turn) {
        now = std::max(now, fabric.run_ahead(Time::never()));
        fabric.step(now);
      }
    }
    rates.push_back(static_cast<double>(fabric.hops() - before) / (cpu_seconds() - begin));
  }
  uint64_t delivered = 0;
  for (const auto& host : hosts) delivered += host->delivered();
  std::printf(
      "fabric        %-8s fat-tree k=%u, %u hosts, permutation: %6.2f M packet-hops a second of CPU, %.0f%% of the "
      "hosts' line rate%s\n",
      name, kArity, kHosts, median(rates) / 1e6,
      100.0 * static_cast<double>(delivered) *
          static_cast<double>(serialization_time(line_bytes(kFabricFrame), kFabricLine.rate).ps) /
          (kHosts * static_cast<double>(now.ps)),
      fabric.conserved() ? "" : ", FRAMES MISSING");
}

}  // namespace

void fabric_hops(Dpdk&) {
  print_spreading("flow", Spreading::kFlow);
  print_spreading("spray", Spreading::kPacket);
}

}  // namespace rankwire::bench

#include <array>
#include <cstdio>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "dataplane/dpdk/port.h"
#include "dataplane/ports/memory_port.h"
#include "dataplane/switch/star_switch.h"
#include "tests/bench/bench.h"

namespace rankwire::bench {
namespace {

constexpr size_t kPorts = 4;
constexpr size_t kBurst = 32;
constexpr uint16_t kStarFrame = 1082;

using Links = std::vector<std::pair<std::unique_ptr<FramePort>, std::unique_ptr<FramePort>>>;

/// Every NIC sends to the next one at line rate, in virtual time; one thread does all.
class Star {
 public:
  explicit Star(Links links) : links_(std::move(links)) {
    std::vector<SwitchPort> ports;
    for (const auto& link : links_) ports.push_back({link.second.get(), Bandwidth(400'000'000'000)});
    SwitchOptions options;
    options.latency = microseconds(1);
    options.link_latency = nanoseconds(100);
    switch_ = make_star_switch(ports, options);
    round();  // the switch learns where everybody is
  }

  /// One burst a NIC; returns the frames that came out.
  size_t round() noexcept {
    std::array<Frame, kBurst> frames;
    for (size_t i = 0; i < kPorts; ++i) {
      FramePort& nic = *links_[i].first;
      const size_t n = nic.allocate(frames);
      for (Frame& frame : std::span(frames).first(n)) {
        std::memset(frame.head, 0, 64);
        frame.head[5] = static_cast<uint8_t>((i + 1) % kPorts + 1);
        frame.head[11] = static_cast<uint8_t>(i + 1);
        frame.head_length = kStarFrame;
      }
      const size_t taken = nic.transmit(now_, std::span(frames).first(n));
      nic.release(std::span(frames).first(n).subspan(taken));
    }
    now_ += serialization_time(Bytes(static_cast<int64_t>(line_bytes(kStarFrame).count * kBurst)),
                               Bandwidth(400'000'000'000));
    switch_->step(now_);
    size_t received = 0;
    for (const auto& link : links_) {
      const size_t n = link.first->receive(now_, frames);
      link.first->release(std::span(frames).first(n));
      received += n;
    }
    return received;
  }

 private:
  Links links_;
  std::unique_ptr<VirtualFabric> switch_;
  Time now_;
};

void report(const char* links, Star& star) {
  std::vector<double> rates;
  for (int i = 0; i < kRuns; ++i) rates.push_back(rate_of([&] { return star.round(); }));
  std::printf("switch        %-8s %zu ports, both ends of the links included: %7.2f Mframes/s on one core\n", links,
              kPorts, median(rates) / 1e6);
}

}  // namespace

void switch_forwarding(Dpdk& dpdk) {
  {
    FramePool pool(4096);
    Links links;
    for (size_t i = 0; i < kPorts; ++i) links.push_back(make_memory_link(pool, 1024, "port"));
    Star star(std::move(links));
    report("memory", star);
  }
  Links links;
  for (size_t i = 0; i < kPorts; ++i) {
    links.push_back(
        make_ring_link(dpdk.environment(), "bench" + std::to_string(i), {.queue_frames = 1024, .frames = 2047}));
  }
  Star star(std::move(links));
  report("net_ring", star);
}

}  // namespace rankwire::bench

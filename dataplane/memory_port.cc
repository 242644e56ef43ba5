#include "dataplane/memory_port.h"

#include <algorithm>
#include <array>

#include "base/spsc_ring.h"

namespace rankwire {
namespace {

using FrameRing = SpscRing<Frame>;

class MemoryPort final : public FramePort {
 public:
  MemoryPort(FramePool& pool, std::shared_ptr<FrameRing> out, std::shared_ptr<FrameRing> in, std::string name)
      : pool_(pool), out_(std::move(out)), in_(std::move(in)) {
    counters_.name = std::move(name);
  }

  size_t allocate(std::span<Frame> frames) noexcept override { return pool_.allocate(frames); }

  size_t transmit(Time now, std::span<const Frame> frames) noexcept override {
    std::array<Frame, 32> stamped;
    size_t sent = 0;
    while (sent < frames.size()) {
      const size_t n = std::min(stamped.size(), frames.size() - sent);
      for (size_t i = 0; i < n; ++i) {
        stamped[i] = frames[sent + i];
        stamped[i].arrival = now;
      }
      const size_t taken = out_->push({stamped.data(), n});
      for (size_t i = 0; i < taken; ++i) counters_.tx_bytes += stamped[i].length();
      sent += taken;
      if (taken < n) break;
    }
    counters_.tx_frames += sent;
    counters_.tx_refused += frames.size() - sent;
    return sent;
  }

  size_t receive(Time, std::span<Frame> frames) noexcept override {
    const size_t n = in_->pop(frames);
    counters_.rx_frames += n;
    for (const Frame& frame : frames.first(n)) counters_.rx_bytes += frame.length();
    return n;
  }

  void release(std::span<const Frame> frames) noexcept override { pool_.release(frames); }

  Time next_event() const noexcept override {
    const Frame* oldest = in_->front();
    return oldest == nullptr ? Time::never() : oldest->arrival;
  }

  Capabilities capabilities() const noexcept override {
    return {.frame_capacity = pool_.frame_capacity(), .payload_by_reference = true, .hardware_time = false};
  }

  PortCounters counters() const override { return counters_; }

 private:
  FramePool& pool_;
  std::shared_ptr<FrameRing> out_, in_;
  PortCounters counters_;
};

}  // namespace

std::pair<std::unique_ptr<FramePort>, std::unique_ptr<FramePort>> make_memory_link(FramePool& pool, size_t queue_frames,
                                                                                   const std::string& name) {
  auto a_to_b = std::make_shared<FrameRing>(queue_frames);
  auto b_to_a = std::make_shared<FrameRing>(queue_frames);
  return {std::make_unique<MemoryPort>(pool, a_to_b, b_to_a, name + ".a"),
          std::make_unique<MemoryPort>(pool, b_to_a, a_to_b, name + ".b")};
}

}  // namespace rankwire

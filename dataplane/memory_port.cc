#include "dataplane/memory_port.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "base/one_thread_ring.h"
#include "base/spsc_ring.h"
#include "dataplane/payload.h"

namespace rankwire {
namespace {

/// `Ring`: of Frame, as SpscRing.
template <class Ring>
class MemoryPort final : public FramePort {
 public:
  MemoryPort(FramePool& pool, std::shared_ptr<Ring> out, std::shared_ptr<Ring> in, std::string name, Doorbell bell)
      : pool_(pool), out_(std::move(out)), in_(std::move(in)), bell_(bell) {
    counters_.name = std::move(name);
  }

  size_t allocate(std::span<Frame> frames) noexcept override { return pool_.allocate(frames); }

  size_t transmit(Time now, std::span<const Frame> frames) noexcept override {
    return pass_on(now, frames.size(), [frames](size_t i, Frame& frame) { frame = frames[i]; });
  }

  size_t reserve(std::span<FrameBuffer> buffers) noexcept override {
    // In one thread what is not used at once would only push other memory out of the caches.
    if (pool_.use() == PoolUse::kOneThread) buffers = buffers.first(std::min(buffers.size(), kReserved));
    return pool_.allocate(buffers);
  }

  void complete(std::span<const FrameBuffer> buffers, std::span<const FrameRun> runs) noexcept override {
    for (const FrameRun& run : runs) {
      for (const FrameBuffer buffer : buffers.first(run.count)) pool_.shape(buffer) = run.shape;
      buffers = buffers.subspan(run.count);
    }
  }

  size_t send(Time now, std::span<FrameBuffer> buffers) noexcept override {
    return pass_on(now, buffers.size(), [this, buffers](size_t i, Frame& frame) { describe(buffers[i], frame); });
  }

  void cancel(std::span<const FrameBuffer> buffers) noexcept override { pool_.release(buffers); }

  void discard(std::span<const FrameBuffer> buffers) noexcept override { cancel(buffers); }

  uint32_t length(FrameBuffer buffer) const noexcept override { return pool_.shape(buffer).length(); }

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

  void expect() const noexcept override {
    __builtin_prefetch(out_.get(), 1);
    __builtin_prefetch(in_.get(), 1);
    if (const BellListener* const listener = bell_.listener(); listener != nullptr) listener->expect(bell_.port);
  }
  void expect(const Frame& frame) const noexcept override {
    if constexpr (requires { out_->fetch(); }) {
      out_->fetch();
      in_->fetch();
    }
    if (const BellListener* const listener = bell_.listener(); listener != nullptr) listener->expect(bell_.port, frame);
  }

  Capabilities capabilities() const noexcept override {
    return {.frame_capacity = pool_.frame_capacity(),
            .payload_by_reference = true,
            .hardware_time = false,
            .place_offset = kHeaderRoom};
  }

  PortCounters counters() const override { return counters_; }

 private:
  static constexpr size_t kReserved = 4;

  /// Sends `count` frames: `describe(i, frame)` writes all of frame i but its arrival.
  template <class Describe>
  size_t pass_on(Time now, size_t count, Describe describe) noexcept {
    const size_t sent = out_->push_made(count, [&](size_t i, Frame& frame) {
      describe(i, frame);
      frame.arrival = now;
      counters_.tx_bytes += frame.length();
    });
    if (sent > 0) bell_.ring();
    counters_.tx_frames += sent;
    counters_.tx_refused += count - sent;
    return sent;
  }

  void describe(FrameBuffer buffer, Frame& frame) noexcept {
    const FrameShape shape = pool_.shape(buffer);
    uint8_t* const place = static_cast<uint8_t*>(buffer) + kHeaderRoom;
    frame.handle = buffer;
    frame.head = place - shape.header_length;
    frame.head_length = shape.header_length;
    if (shape.trailer_length > 0) {
      frame.payload = payload_pattern().data();
      frame.payload_length = static_cast<uint16_t>(shape.payload_length);
      frame.tail_length = static_cast<uint8_t>(shape.trailer_length);
      std::memcpy(frame.tail, place, sizeof frame.tail);
    } else {
      frame.head_length = static_cast<uint16_t>(frame.head_length + shape.payload_length);
      frame.payload = nullptr;
      frame.payload_length = 0;
      frame.tail_length = 0;
    }
  }

  FramePool& pool_;
  std::shared_ptr<Ring> out_, in_;
  Doorbell bell_;
  PortCounters counters_;
};

template <class Ring>
std::pair<std::unique_ptr<FramePort>, std::unique_ptr<FramePort>> make_link(FramePool& pool, size_t queue_frames,
                                                                            const std::string& name, Doorbell bell,
                                                                            Doorbell answer) {
  auto a_to_b = std::make_shared<Ring>(queue_frames);
  auto b_to_a = std::make_shared<Ring>(queue_frames);
  return {std::make_unique<MemoryPort<Ring>>(pool, a_to_b, b_to_a, name + ".a", bell),
          std::make_unique<MemoryPort<Ring>>(pool, b_to_a, a_to_b, name + ".b", answer)};
}

}  // namespace

std::pair<std::unique_ptr<FramePort>, std::unique_ptr<FramePort>> make_memory_link(FramePool& pool, size_t queue_frames,
                                                                                   const std::string& name,
                                                                                   Doorbell bell, Doorbell answer) {
  if (pool.use() == PoolUse::kOneThread) return make_link<OneThreadRing<Frame>>(pool, queue_frames, name, bell, answer);
  return make_link<SpscRing<Frame>>(pool, queue_frames, name, bell, answer);
}

}  // namespace rankwire

#include "dataplane/memory_port.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "base/one_thread_ring.h"
#include "base/spsc_ring.h"
#include "dataplane/payload.h"

namespace rankwire {
namespace {

/// Both directions.
template <class Ring>
struct alignas(64) MemoryLink {
  explicit MemoryLink(size_t queue_frames) : a_to_b(queue_frames), b_to_a(queue_frames) {}

  Ring a_to_b, b_to_a;
};

/// `Ring`: of Frame, as SpscRing.
template <class Ring>
class alignas(64) MemoryPort final : public FramePort {
 public:
  MemoryPort(FramePool& pool, std::shared_ptr<MemoryLink<Ring>> link, Ring& out, Ring& in, std::string name,
             Doorbell bell)
      : pool_(pool), out_(out), in_(in), bell_(bell), link_(std::move(link)), name_(std::move(name)) {}

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
    const size_t n = in_.pop(frames);
    rx_frames_ += n;
    for (const Frame& frame : frames.first(n)) rx_bytes_ += frame.length();
    return n;
  }

  void release(std::span<const Frame> frames) noexcept override { pool_.release(frames); }

  Time next_event() const noexcept override {
    const Frame* oldest = in_.front();
    return oldest == nullptr ? Time::never() : oldest->arrival;
  }

  void expect() const noexcept override {
    __builtin_prefetch(&out_, 1);
    __builtin_prefetch(&in_, 1);
    if (const BellListener* const listener = bell_.listener(); listener != nullptr) listener->expect(bell_.port);
  }
  void expect(const Frame& frame) const noexcept override {
    if constexpr (requires { out_.fetch(); }) {
      out_.fetch();
      in_.fetch();
    }
    if (const BellListener* const listener = bell_.listener(); listener != nullptr) listener->expect(bell_.port, frame);
  }

  Capabilities capabilities() const noexcept override {
    return {.frame_capacity = pool_.frame_capacity(),
            .payload_by_reference = true,
            .hardware_time = false,
            .place_offset = kHeaderRoom};
  }

  PortCounters counters() const override {
    PortCounters counters;
    counters.name = name_;
    counters.tx_frames = tx_frames_;
    counters.tx_bytes = tx_bytes_;
    counters.rx_frames = rx_frames_;
    counters.rx_bytes = rx_bytes_;
    counters.tx_refused = tx_refused_;
    return counters;
  }

 private:
  static constexpr size_t kReserved = 4;

  /// Sends `count` frames: `describe(i, frame)` writes all of frame i but its arrival.
  template <class Describe>
  size_t pass_on(Time now, size_t count, Describe describe) noexcept {
    const size_t sent = out_.push_made(count, [&](size_t i, Frame& frame) {
      describe(i, frame);
      frame.arrival = now;
      tx_bytes_ += frame.length();
    });
    if (sent > 0) bell_.ring();
    tx_frames_ += sent;
    if (sent < count) tx_refused_ += count - sent;
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
  Ring &out_, &in_;
  const Doorbell bell_;
  uint64_t tx_frames_ = 0, tx_bytes_ = 0;
  // What sending does not need.
  uint64_t rx_frames_ = 0, rx_bytes_ = 0, tx_refused_ = 0;
  const std::shared_ptr<MemoryLink<Ring>> link_;
  const std::string name_;
};

template <class Ring>
std::pair<std::unique_ptr<FramePort>, std::unique_ptr<FramePort>> make_link(FramePool& pool, size_t queue_frames,
                                                                            const std::string& name, Doorbell bell,
                                                                            Doorbell answer) {
  auto link = std::make_shared<MemoryLink<Ring>>(queue_frames);
  return {std::make_unique<MemoryPort<Ring>>(pool, link, link->a_to_b, link->b_to_a, name + ".a", bell),
          std::make_unique<MemoryPort<Ring>>(pool, link, link->b_to_a, link->a_to_b, name + ".b", answer)};
}

}  // namespace

std::pair<std::unique_ptr<FramePort>, std::unique_ptr<FramePort>> make_memory_link(FramePool& pool, size_t queue_frames,
                                                                                   const std::string& name,
                                                                                   Doorbell bell, Doorbell answer) {
  if (pool.use() == PoolUse::kOneThread) return make_link<OneThreadRing<Frame>>(pool, queue_frames, name, bell, answer);
  return make_link<SpscRing<Frame>>(pool, queue_frames, name, bell, answer);
}

}  // namespace rankwire

#include "dataplane/ports/memory_port.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <type_traits>

#include "base/one_thread_ring.h"
#include "base/spsc_ring.h"
#include "dataplane/wire/payload.h"

namespace rankwire {
namespace {

/// `Ring`: of Frame, as SpscRing.
template <class Ring>
struct alignas(64) MemoryLine {
  explicit MemoryLine(size_t queue_frames) : ring(queue_frames) {}

  bool holds_back = false;  ///< frames until they arrive: some were sent ahead of time
  Ring ring;                ///< behind it, so that its positions are in the same cache line
};

/// Both directions.
template <class Ring>
struct MemoryLink {
  explicit MemoryLink(size_t queue_frames) : a_to_b(queue_frames), b_to_a(queue_frames) {}

  MemoryLine<Ring> a_to_b, b_to_a;
};

template <class Ring>
class alignas(64) MemoryPort final : public FramePort {
 public:
  MemoryPort(FramePool& pool, std::shared_ptr<MemoryLink<Ring>> link, MemoryLine<Ring>& out, MemoryLine<Ring>& in,
             std::string name, Doorbell bell)
      : pool_(pool), out_(out), in_(in), bell_(bell), link_(std::move(link)), name_(std::move(name)) {}

  size_t allocate(std::span<Frame> frames) noexcept override { return pool_.allocate(frames); }

  size_t transmit(Time now, std::span<const Frame> frames) noexcept override {
    return pass_on(now, frames.size(), [frames](size_t i, Frame& frame) { frame = frames[i]; });
  }

  bool send_ahead(Time arrival, const Frame& frame) noexcept override {
    if (!kOneThread || out_.ring.size() == out_.ring.capacity()) return false;
    out_.holds_back = true;
    return transmit(arrival, {&frame, 1}) == 1;
  }

  size_t reserve(std::span<FrameBuffer> buffers) noexcept override {
    // In one thread one at a time: a second would have left the caches when it is used, while the pool has warm ones.
    if (pool_.use() == PoolUse::kOneThread && buffers.size() > 1) buffers = buffers.first(1);
    return pool_.allocate(buffers);
  }

  void complete(std::span<const FrameBuffer> buffers, std::span<const FrameRun> runs) noexcept override {
    for (const FrameRun& run : runs) {
      for (const FrameBuffer buffer : buffers.first(run.count)) pool_.shape(buffer) = run.shape;
      buffers = buffers.subspan(run.count);
    }
  }

  size_t send(Time now, std::span<FrameBuffer> buffers) noexcept override {
    return pass_on(now, buffers.size(),
                   [this, buffers](size_t i, Frame& frame) { describe(buffers[i], pool_.shape(buffers[i]), frame); });
  }

  /// Shapes are not noted but for frames that are not taken: what is noted must be fetched again.
  size_t send_complete(Time now, std::span<FrameBuffer> buffers, std::span<const FrameRun> runs) noexcept override {
    size_t sent = 0;
    for (const FrameRun& run : runs) {
      const std::span<FrameBuffer> frames = buffers.subspan(sent, run.count);
      const size_t taken = pass_on(
          now, run.count, [frames, shape = run.shape](size_t i, Frame& frame) { describe(frames[i], shape, frame); });
      sent += taken;
      if (taken == run.count) continue;
      const FrameRun rest{run.shape, static_cast<uint32_t>(run.count - taken)};
      complete(buffers.subspan(sent), {&rest, 1});
      complete(buffers.subspan(sent + rest.count), runs.subspan(static_cast<size_t>(&run - runs.data()) + 1));
      tx_refused_ += buffers.size() - sent - rest.count;
      break;
    }
    return sent;
  }

  void cancel(std::span<const FrameBuffer> buffers) noexcept override { pool_.release(buffers); }

  void discard(std::span<const FrameBuffer> buffers) noexcept override { cancel(buffers); }

  uint32_t length(FrameBuffer buffer) const noexcept override { return pool_.shape(buffer).length(); }
  const uint8_t* head(FrameBuffer buffer) const noexcept override {
    return static_cast<const uint8_t*>(buffer) + kHeaderRoom - pool_.shape(buffer).header_length;
  }

  size_t receive(Time now, std::span<Frame> frames) noexcept override {
    const size_t n = pop(now, frames);
    rx_frames_ += n;
    for (const Frame& frame : frames.first(n)) rx_bytes_ += frame.length();
    return n;
  }

  void release(std::span<const Frame> frames) noexcept override { pool_.release(frames); }

  Time next_event() const noexcept override {
    const Frame* oldest = in_.ring.front();
    return oldest == nullptr ? Time::never() : oldest->arrival;
  }

  const Frame* waiting(size_t n) const noexcept override {
    if constexpr (kOneThread) {
      return n < in_.ring.size() ? &in_.ring[n] : nullptr;
    } else {
      return nullptr;
    }
  }

  void fetch_queues() const noexcept override {
    __builtin_prefetch(&out_, 1);
    __builtin_prefetch(&in_, 1);
    __builtin_prefetch(&rx_frames_, 1);
  }
  void fetch_places() const noexcept override {
    if constexpr (kOneThread) {
      out_.ring.fetch_next();
      in_.ring.fetch_first();
    }
  }

  Capabilities capabilities() const noexcept override {
    return {.frame_capacity = pool_.frame_capacity(),
            .payload_by_reference = true,
            .hardware_time = false,
            .looks_ahead = kOneThread,
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
  static constexpr bool kOneThread = std::is_same_v<Ring, OneThreadRing<Frame>>;

  size_t pop(Time now, std::span<Frame> frames) noexcept {
    if constexpr (kOneThread) {
      if (in_.holds_back) return in_.ring.pop_while(frames, [now](const Frame& frame) { return frame.arrival <= now; });
    }
    return in_.ring.pop(frames);
  }

  /// Sends `count` frames: `describe(i, frame)` writes all of frame i but its arrival.
  template <class Describe>
  size_t pass_on(Time now, size_t count, Describe describe) noexcept {
    const size_t sent = out_.ring.push_made(count, [&](size_t i, Frame& frame) {
      describe(i, frame);
      frame.arrival = now;
      tx_bytes_ += frame.length();
    });
    if (sent > 0) bell_.ring();
    tx_frames_ += sent;
    if (sent < count) tx_refused_ += count - sent;
    return sent;
  }

  static void describe(FrameBuffer buffer, const FrameShape& shape, Frame& frame) noexcept {
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
  MemoryLine<Ring>& out_;
  MemoryLine<Ring>& in_;
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

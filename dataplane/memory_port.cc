#include "dataplane/memory_port.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/spsc_ring.h"
#include "dataplane/payload.h"

namespace rankwire {
namespace {

using FrameRing = SpscRing<Frame>;

class MemoryPort final : public FramePort {
 public:
  MemoryPort(FramePool& pool, std::shared_ptr<FrameRing> out, std::shared_ptr<FrameRing> in, std::string name,
             Doorbell bell)
      : pool_(pool), out_(std::move(out)), in_(std::move(in)), bell_(bell) {
    counters_.name = std::move(name);
  }

  size_t allocate(std::span<Frame> frames) noexcept override { return pool_.allocate(frames); }

  size_t transmit(Time now, std::span<const Frame> frames) noexcept override {
    std::array<Frame, kChunk> stamped;
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
    if (sent > 0) bell_.ring();
    counters_.tx_frames += sent;
    counters_.tx_refused += frames.size() - sent;
    return sent;
  }

  size_t reserve(std::span<FrameBuffer> buffers) noexcept override {
    std::array<Frame, kChunk> empty;
    size_t done = 0;
    while (done < buffers.size()) {
      const size_t wanted = std::min(kChunk, buffers.size() - done);
      const size_t n = pool_.allocate(std::span(empty).first(wanted));
      for (size_t i = 0; i < n; ++i) buffers[done + i] = empty[i].head;
      done += n;
      if (n < wanted) break;
    }
    return done;
  }

  void complete(std::span<const FrameBuffer> buffers, std::span<const FrameRun> runs) noexcept override {
    for (const FrameRun& run : runs) {
      for (const FrameBuffer buffer : buffers.first(run.count)) describe(buffer, run.shape);
      buffers = buffers.subspan(run.count);
    }
  }

  size_t send(Time now, std::span<FrameBuffer> buffers) noexcept override {
    std::array<Frame, kChunk> frames;
    size_t sent = 0;
    while (sent < buffers.size()) {
      const size_t n = std::min(kChunk, buffers.size() - sent);
      for (size_t i = 0; i < n; ++i) frames[i] = pool_.description(buffers[sent + i]);
      const size_t taken = transmit(now, {frames.data(), n});
      sent += taken;
      if (taken < n) {
        counters_.tx_refused += buffers.size() - sent - (n - taken);
        break;
      }
    }
    return sent;
  }

  void cancel(std::span<const FrameBuffer> buffers) noexcept override {
    for (const FrameBuffer buffer : buffers) {
      const Frame frame = empty_frame(buffer);
      pool_.release({&frame, 1});
    }
  }

  void discard(std::span<const FrameBuffer> buffers) noexcept override { cancel(buffers); }

  uint32_t length(FrameBuffer buffer) const noexcept override { return pool_.description(buffer).length(); }

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
    return {.frame_capacity = pool_.frame_capacity(),
            .payload_by_reference = true,
            .hardware_time = false,
            .place_offset = kHeaderRoom};
  }

  PortCounters counters() const override { return counters_; }

 private:
  static constexpr size_t kChunk = 32;

  static Frame empty_frame(FrameBuffer buffer) noexcept {
    Frame frame;
    frame.head = static_cast<uint8_t*>(buffer);
    frame.handle = buffer;
    return frame;
  }

  void describe(FrameBuffer buffer, FrameShape shape) noexcept {
    uint8_t* const place = static_cast<uint8_t*>(buffer) + kHeaderRoom;
    Frame frame = empty_frame(buffer);
    frame.head = place - shape.header_length;
    frame.head_length = shape.header_length;
    if (shape.trailer_length > 0) {
      frame.payload = payload_pattern().data();
      frame.payload_length = static_cast<uint16_t>(shape.payload_length);
      frame.tail_length = static_cast<uint8_t>(shape.trailer_length);
      std::memcpy(frame.tail, place, sizeof frame.tail);
    } else {
      frame.head_length = static_cast<uint16_t>(frame.head_length + shape.payload_length);
    }
    pool_.description(buffer) = frame;
  }

  FramePool& pool_;
  std::shared_ptr<FrameRing> out_, in_;
  Doorbell bell_;
  PortCounters counters_;
};

}  // namespace

std::pair<std::unique_ptr<FramePort>, std::unique_ptr<FramePort>> make_memory_link(FramePool& pool, size_t queue_frames,
                                                                                   const std::string& name,
                                                                                   Doorbell bell) {
  auto a_to_b = std::make_shared<FrameRing>(queue_frames);
  auto b_to_a = std::make_shared<FrameRing>(queue_frames);
  return {std::make_unique<MemoryPort>(pool, a_to_b, b_to_a, name + ".a", bell),
          std::make_unique<MemoryPort>(pool, b_to_a, a_to_b, name + ".b", Doorbell())};
}

}  // namespace rankwire

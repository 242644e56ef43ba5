// A port in front of another.
#pragma once

#include "dataplane/ports/frame_port.h"

namespace rankwire {

/// Passes everything on: whoever stands between a transport and its port derives from this, and overrides what it is
/// there for.
class ForwardingPort : public FramePort {
 public:
  /// `inner` outlives this.
  explicit ForwardingPort(FramePort& inner) : inner_(inner) {}

  size_t allocate(std::span<Frame> frames) noexcept override { return inner_.allocate(frames); }
  size_t transmit(Time now, std::span<const Frame> frames) noexcept override { return inner_.transmit(now, frames); }
  size_t reserve(std::span<FrameBuffer> buffers) noexcept override { return inner_.reserve(buffers); }
  void complete(std::span<const FrameBuffer> buffers, std::span<const FrameRun> runs) noexcept override {
    inner_.complete(buffers, runs);
  }
  size_t send(Time now, std::span<FrameBuffer> buffers) noexcept override { return inner_.send(now, buffers); }
  void cancel(std::span<const FrameBuffer> buffers) noexcept override { inner_.cancel(buffers); }
  void discard(std::span<const FrameBuffer> buffers) noexcept override { inner_.discard(buffers); }
  uint32_t length(FrameBuffer buffer) const noexcept override { return inner_.length(buffer); }
  const uint8_t* head(FrameBuffer buffer) const noexcept override { return inner_.head(buffer); }
  size_t receive(Time now, std::span<Frame> frames) noexcept override { return inner_.receive(now, frames); }
  void release(std::span<const Frame> frames) noexcept override { inner_.release(frames); }
  Time next_event() const noexcept override { return inner_.next_event(); }
  Capabilities capabilities() const noexcept override { return inner_.capabilities(); }
  PortCounters counters() const override { return inner_.counters(); }

 protected:
  FramePort& inner_;
};

}  // namespace rankwire

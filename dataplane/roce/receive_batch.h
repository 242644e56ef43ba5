// Frames that were received together.
#pragma once

#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/units.h"
#include "dataplane/ports/frame_port.h"

namespace rankwire {

/// The frames of one call of FramePort::receive. They are the port's and go back to it by `release`, but for those that
/// `keep` has named, which their keeper gives back later. One thread.
class ReceiveBatch {
 public:
  /// So few that what is read of them stays in the innermost cache.
  static constexpr uint32_t kFrames = 32;

  /// Those that the port has received by `now`, until `release`. Only after `release` of those before.
  std::span<Frame> receive(FramePort& port, Time now) noexcept {
    assert(kept_ == 0);
    return std::span(frames_).first(port.receive(now, frames_));
  }
  /// The frame, one of those of the last `receive`, is not given back by `release`.
  void keep(const Frame& frame) noexcept { kept_ |= 1u << (&frame - frames_.data()); }
  /// Gives those of the last `receive`, `frames`, back to their port.
  void release(FramePort& port, std::span<Frame> frames) noexcept {
    if (kept_ == 0) return port.release(frames);
    size_t left = 0;
    for (size_t i = 0; i < frames.size(); ++i)
      if ((kept_ >> i & 1) == 0) frames[left++] = frames[i];
    kept_ = 0;
    port.release(frames.first(left));
  }

 private:
  static_assert(kFrames <= 32);

  std::array<Frame, kFrames> frames_;
  uint32_t kept_ = 0;  // bits of frames
};

}  // namespace rankwire

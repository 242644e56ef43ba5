// A port that loses frames in both directions, each direction the same ones for the same seed.
#pragma once

#include "base/random.h"
#include "dataplane/ports/forwarding_port.h"
#include "dataplane/ports/frame_port.h"

namespace rankwire {

/// Stands between a transport and a real port, which must outlive it: a capture on the wire shows neither what was lost
/// on the way out nor that something was lost on the way in.
class LossyPort final : public ForwardingPort {
 public:
  LossyPort(FramePort& inner, uint32_t loss_ppm, uint64_t seed)
      : ForwardingPort(inner), loss_ppm_(loss_ppm), outward_(seed), inward_(~seed) {}

  size_t transmit(Time now, std::span<const Frame> frames) noexcept override {
    return one_by_one(
        frames, [&](auto frame) { return inner_.transmit(now, frame); }, [&](auto frame) { inner_.release(frame); });
  }
  size_t send(Time now, std::span<FrameBuffer> buffers) noexcept override {
    return one_by_one(
        buffers, [&](auto buffer) { return inner_.send(now, buffer); }, [&](auto buffer) { inner_.discard(buffer); });
  }
  size_t receive(Time now, std::span<Frame> frames) noexcept override {
    const size_t n = inner_.receive(now, frames);
    size_t kept = 0;
    for (size_t i = 0; i < n; ++i) {
      if (inward_.chance(loss_ppm_)) {
        ++lost_rx_;
        inner_.release(frames.subspan(i, 1));
      } else {
        frames[kept++] = frames[i];
      }
    }
    return kept;
  }

  uint64_t lost_tx() const { return lost_tx_; }
  uint64_t lost_rx() const { return lost_rx_; }

 private:
  // A frame that the port refused stays with the caller, who offers it again: it is drawn for only once.
  size_t one_by_one(auto frames, auto send, auto lose) noexcept {
    for (size_t i = 0; i < frames.size(); ++i) {
      if (!decided_) lose_next_ = outward_.chance(loss_ppm_);
      decided_ = false;
      if (lose_next_) {
        ++lost_tx_;
        lose(frames.subspan(i, 1));
      } else if (send(frames.subspan(i, 1)) == 0) {
        decided_ = true;
        return i;
      }
    }
    return frames.size();
  }

  const uint32_t loss_ppm_;
  Random outward_, inward_;
  bool decided_ = false, lose_next_ = false;
  uint64_t lost_tx_ = 0, lost_rx_ = 0;
};

}  // namespace rankwire

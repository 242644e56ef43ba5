// Frames of one side of a port that wait: for their turn, for a time, or for others to overtake them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "base/units.h"
#include "dataplane/ports/frame_port.h"

namespace rankwire {

/// At most kHeld frames are held back; those that are ready go in the order in which they became so. One thread; no
/// allocation after construction.
class ImpairmentQueue {
 public:
  static constexpr size_t kHeld = 1024;
  static constexpr size_t kReady = 4096;

  ImpairmentQueue() {
    held_.reserve(kHeld);
    ready_.reserve(kReady);
  }

  /// False when there is no room, like the next two.
  bool push(const Frame& frame) noexcept {
    if (ready_.size() == kReady) return false;
    ready_.push_back(frame);
    return true;
  }
  bool hold_until(Time due, const Frame& frame) noexcept { return hold({.frame = frame, .due = due}); }
  /// Until `count` frames for the queue pair end `to` have passed.
  bool hold_behind(uint32_t to, uint32_t count, const Frame& frame) noexcept {
    return hold({.frame = frame, .due = Time::never(), .to = to, .behind = count});
  }

  /// Whether a frame waits for others to `to`.
  bool waits_for(uint32_t to) const noexcept {
    return waiting_ > 0 && std::ranges::any_of(held_, [to](const Held& h) { return h.behind > 0 && h.to == to; });
  }
  /// A frame to `to` has passed.
  void passed(uint32_t to, Time now) noexcept {
    for (Held& held : held_)
      if (held.behind > 0 && held.to == to && --held.behind == 0) held.due = now;
    release(now);
  }
  /// Makes ready what is due by `now`, the earliest first; it arrives when it is due.
  void release(Time now) noexcept {
    while (!held_.empty()) {
      const auto first = std::ranges::min_element(held_, {}, &Held::due);
      if (first->due > now || ready_.size() == kReady) return;
      if (first->to != kNobody) --waiting_;
      ready_.push_back(first->frame);
      ready_.back().arrival = std::max(first->frame.arrival, first->due);
      held_.erase(first);
    }
  }

  std::span<const Frame> ready() const noexcept { return ready_; }
  /// Forgets the first `count` of them.
  void pop(size_t count) noexcept { ready_.erase(ready_.begin(), ready_.begin() + static_cast<ptrdiff_t>(count)); }

  /// When something is ready, not before `now` when it is so already; never() when only other frames can make it so.
  Time next_event(Time now) const noexcept {
    if (!ready_.empty()) return now;
    return held_.empty() ? Time::never() : std::ranges::min_element(held_, {}, &Held::due)->due;
  }
  /// Gives everything back to the port.
  void clear(FramePort& port) noexcept {
    port.release(ready_);
    for (const Held& held : held_) port.release({&held.frame, 1});
    ready_.clear();
    held_.clear();
    waiting_ = 0;
  }

 private:
  static constexpr uint32_t kNobody = UINT32_MAX;
  struct Held {
    Frame frame;
    Time due;
    uint32_t to = kNobody;
    uint32_t behind = 0;
  };

  bool hold(const Held& held) noexcept {
    if (held_.size() == kHeld) return false;
    held_.push_back(held);
    if (held.to != kNobody) ++waiting_;
    return true;
  }

  std::vector<Held> held_;
  std::vector<Frame> ready_;
  uint32_t waiting_ = 0;  // of held_, for others
};

}  // namespace rankwire

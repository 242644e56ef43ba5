#include "dataplane/transmit_lane.h"

#include <algorithm>

namespace rankwire {

bool TransmitLane::begin(Time now) noexcept {
  if (!flush(now)) return false;
  if (!has_work() && discovery_due > now) {
    was_busy_ = false;
  } else if (was_busy_) {
    pacer_.keep_up(now);
  } else {
    pacer_.resume(now);
  }
  return true;
}

std::span<Frame> TransmitLane::next_frames(Time now, uint32_t length, uint32_t limit) noexcept {
  limit = std::min(limit, kBurst - (staged_end_ - staged_begin_));
  if (limit == 0 || !pacer_.due(now)) return {};
  slot_ = pacer_.line_time(length);
  limit = pacer_.slots(now, slot_, limit);
  if (staged_end_ == spare_end_) {
    const std::span room(&frames_[spare_end_], std::min<size_t>(kBurst, frames_.size() - spare_end_));
    spare_end_ += static_cast<uint32_t>(port_->allocate(room));
    if (staged_end_ == spare_end_) {
      block(now, 0);
      return {};
    }
  }
  return {&frames_[staged_end_], std::min(limit, spare_end_ - staged_end_)};
}

void TransmitLane::stage(uint32_t count) noexcept {
  pacer_.start(slot_, count);
  staged_end_ += count;
}

void TransmitLane::finish(Time now) noexcept {
  was_busy_ = has_work() && blocked_until_ <= now;
  flush(now);
}

bool TransmitLane::flush(Time now) noexcept {
  if (staged_begin_ < staged_end_) {
    const std::span waiting(&frames_[staged_begin_], staged_end_ - staged_begin_);
    const size_t taken = port_->transmit(now, waiting);
    if (refused_) reschedule(now, waiting.first(taken));
    staged_begin_ += static_cast<uint32_t>(taken);
    refused_ = staged_begin_ < staged_end_;
    if (refused_) {
      block(now, frames_[staged_begin_].length());
      return false;
    }
  }
  recycle();
  return true;
}

// Nothing is staged: makes room for a whole burst.
void TransmitLane::recycle() noexcept {
  if (staged_end_ == spare_end_) {
    spare_end_ = 0;
  } else if (staged_end_ > kBurst) {
    spare_end_ =
        static_cast<uint32_t>(std::copy(&frames_[staged_end_], &frames_[spare_end_], &frames_[0]) - &frames_[0]);
  } else {
    staged_begin_ = staged_end_;
    return;
  }
  staged_begin_ = staged_end_ = 0;
}

// The slots that these frames had are gone: the line stood still meanwhile.
void TransmitLane::reschedule(Time now, std::span<const Frame> frames) noexcept {
  pacer_.resume(now);
  for (const Frame& frame : frames) pacer_.start(pacer_.line_time(frame.length()), 1);
}

// The port is the limit now, not this loop: try again one frame time later, and let the schedule start afresh.
void TransmitLane::block(Time now, uint32_t length) noexcept {
  blocked_until_ = now + pacer_.line_time(length);
  was_busy_ = false;
}

Time TransmitLane::wake() const noexcept {
  if (staged_begin_ < staged_end_) return blocked_until_;
  const Time due = has_work() ? Time::long_ago() : discovery_due;
  return std::max({due, blocked_until_, pacer_.schedule()});
}

void TransmitLane::close() noexcept {
  if (staged_begin_ < spare_end_) port_->release({&frames_[staged_begin_], spare_end_ - staged_begin_});
  staged_begin_ = staged_end_ = spare_end_ = 0;
}

}  // namespace rankwire

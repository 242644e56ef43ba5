#include "dataplane/transmit_lane.h"

#include <algorithm>

namespace rankwire {

bool TransmitLane::begin(Time now) noexcept {
  if (!flush(now)) return false;
  if (!has_work()) {
    was_busy_ = false;
  } else if (was_busy_) {
    pacer_.keep_up(now);
  } else {
    pacer_.resume(now);
  }
  return true;
}

Frame* TransmitLane::next_frame(Time now) noexcept {
  if (!pacer_.due(now) || staged_end_ == kBurst) return nullptr;
  if (spare_count_ == 0) spare_count_ = static_cast<uint32_t>(port_->allocate(spare_));
  if (spare_count_ == 0) {
    block(now, 0);
    return nullptr;
  }
  return &(staged_[staged_end_] = spare_[spare_count_ - 1]);
}

void TransmitLane::stage() noexcept {
  pacer_.start(staged_[staged_end_].length());
  --spare_count_;
  ++staged_end_;
}

void TransmitLane::finish(Time now) noexcept {
  was_busy_ = has_work() && blocked_until_ <= now;
  flush(now);
}

bool TransmitLane::flush(Time now) noexcept {
  if (staged_begin_ < staged_end_) {
    const std::span waiting(&staged_[staged_begin_], staged_end_ - staged_begin_);
    const size_t taken = port_->transmit(now, waiting);
    if (refused_) reschedule(now, waiting.first(taken));
    staged_begin_ += static_cast<uint32_t>(taken);
    refused_ = staged_begin_ < staged_end_;
    if (refused_) {
      block(now, staged_[staged_begin_].length());
      return false;
    }
  }
  staged_begin_ = staged_end_ = 0;
  return true;
}

// The slots that these frames had are gone: the line stood still meanwhile.
void TransmitLane::reschedule(Time now, std::span<const Frame> frames) noexcept {
  pacer_.resume(now);
  for (const Frame& frame : frames) pacer_.start(frame.length());
}

// The port is the limit now, not this loop: try again one frame time later, and let the schedule start afresh.
void TransmitLane::block(Time now, uint32_t length) noexcept {
  blocked_until_ = now + pacer_.line_time(length);
  was_busy_ = false;
}

Time TransmitLane::wake() const noexcept {
  if (staged_begin_ < staged_end_) return blocked_until_;
  if (!has_work()) return Time::never();
  return std::max(blocked_until_, pacer_.schedule());
}

void TransmitLane::close() noexcept {
  if (staged_begin_ < staged_end_) port_->release({&staged_[staged_begin_], staged_end_ - staged_begin_});
  if (spare_count_ > 0) port_->release({spare_.data(), spare_count_});
  staged_begin_ = staged_end_ = spare_count_ = 0;
}

}  // namespace rankwire

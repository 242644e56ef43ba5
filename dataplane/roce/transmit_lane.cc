#include "dataplane/roce/transmit_lane.h"

#include <algorithm>
#include <utility>

namespace rankwire {

bool TransmitLane::begin(Time now) noexcept {
  if (!flush(now)) return false;
  handed_ = 0;
  at_once_ = std::clamp(std::exchange(sent_, 0), std::min(kFew, handful_), handful_);
  if (is_idle(now)) {
    was_busy_ = false;
  } else if (was_busy_) {
    pacer_.keep_up(now);
  } else {
    pacer_.resume(now);
  }
  return true;
}

TransmitLane::MessageFrames TransmitLane::describe(uint64_t kind, const MessageRuns& runs) noexcept {
  MessageFrames message{.kind = kind, .runs = runs};
  for (const auto& [shape, count] : runs) {
    message.last_slot = pacer_.line_time(shape.length());
    message.time += message.last_slot * count;
    message.bytes += uint64_t{shape.length()} * count;
    message.frames += count;
  }
  return message;
}

void TransmitLane::complete() noexcept {
  if (runs_ == 0) return;
  port_->complete({&frames_[complete_end_], staged_end_ - complete_end_}, {run_.data(), runs_});
  complete_end_ = staged_end_;
  runs_ = 0;
  open_shape_ = 0;
}

bool TransmitLane::refill(Time now) noexcept {
  if (staged_end_ - staged_begin_ == handful_) {
    if (handed_ == handful_ || !flush(now)) return false;
    handed_ = handful_;
  }
  if (staged_end_ == spare_end_) {
    const std::span room(&frames_[spare_end_], std::min<size_t>(at_once_, frames_.size() - spare_end_));
    at_once_ = std::min(2 * at_once_, handful_);
    spare_end_ += static_cast<uint32_t>(port_->reserve(room));
  }
  usable_end_ = std::min(spare_end_, staged_begin_ + handful_);
  if (staged_end_ < usable_end_) return true;
  block(now, 0);
  return false;
}

void TransmitLane::finish(Time now) noexcept {
  was_busy_ = has_work() && blocked_until_ <= now;
  if (!refused_) flush(now);
}

bool TransmitLane::flush(Time now) noexcept {
  if (staged_begin_ < staged_end_) {
    const std::span<FrameBuffer> waiting(&frames_[staged_begin_], staged_end_ - staged_begin_);
    size_t taken = 0;
    Duration line_time;
    if (complete_end_ == staged_begin_) {
      taken = port_->send_complete(now, waiting, {run_.data(), std::exchange(runs_, 0)});
      complete_end_ = staged_end_;
      open_shape_ = 0;
    } else {
      complete();
      if (refused_) line_time = line_time_of(waiting);
      taken = port_->send(now, waiting);
    }
    if (refused_) {
      // The slots that these frames had are gone: the line stood still meanwhile.
      pacer_.resume(now);
      pacer_.start(line_time - line_time_of(waiting.subspan(taken)), 1);
    }
    staged_begin_ += static_cast<uint32_t>(taken);
    sent_ += static_cast<uint32_t>(taken);
    refused_ = staged_begin_ < staged_end_;
    if (refused_) {
      block(now, port_->length(frames_[staged_begin_]));
      return false;
    }
  }
  recycle();
  return true;
}

Duration TransmitLane::line_time_of(std::span<const FrameBuffer> frames) noexcept {
  Duration sum;
  for (const FrameBuffer frame : frames) sum += pacer_.line_time(port_->length(frame));
  return sum;
}

// Nothing is staged: makes room for a whole handful.
void TransmitLane::recycle() noexcept {
  if (staged_end_ == spare_end_) {
    staged_end_ = spare_end_ = 0;
  } else if (staged_end_ > kHandful) {
    spare_end_ =
        static_cast<uint32_t>(std::copy(&frames_[staged_end_], &frames_[spare_end_], &frames_[0]) - &frames_[0]);
    staged_end_ = 0;
  }
  staged_begin_ = complete_end_ = staged_end_;
  usable_end_ = std::min(spare_end_, staged_begin_ + handful_);
}

// The port is the limit now, not this loop: try again one frame time later, and let the schedule start afresh.
void TransmitLane::block(Time now, uint32_t length) noexcept {
  blocked_until_ = now + pacer_.line_time(length);
  was_busy_ = false;
}

// Of what is not a queue pair's.
Time TransmitLane::control_due() const noexcept {
  const Time discovery = may_send(priorities_.discovery) ? discovery_due : std::max(discovery_due, paused_until_);
  const Time notification = may_send(priorities_.notifications) ? Time::long_ago() : paused_until_;
  return std::min({discovery, pause_due, owes_notification ? notification : Time::never()});
}

Time TransmitLane::wake() const noexcept {
  if (staged_begin_ < staged_end_) return blocked_until_;
  const bool holds_work = paused_ != 0 && (senders.size() | readers.size() | owed_answers()) != 0;
  const Time later = holds_work ? std::min(control_due(), paused_until_) : control_due();
  const Time due = has_work() ? Time::long_ago() : later;
  return std::max({due, blocked_until_, pacer_.next_due()});
}

void TransmitLane::close() noexcept {
  complete();
  if (staged_begin_ < staged_end_) port_->discard({&frames_[staged_begin_], staged_end_ - staged_begin_});
  if (staged_end_ < spare_end_) port_->cancel({&frames_[staged_end_], spare_end_ - staged_end_});
  staged_begin_ = staged_end_ = usable_end_ = spare_end_ = complete_end_ = 0;
}

}  // namespace rankwire

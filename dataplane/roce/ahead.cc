// RoceTransport in virtual time: it looks at lanes that have something to do, and lets them run ahead.
#include <algorithm>

#include "dataplane/ports/fetch.h"
#include "dataplane/roce/fetch.h"
#include "dataplane/roce/transport.h"

namespace rankwire {

[[gnu::always_inline]] inline void RoceTransport::fetch_lane(uint32_t lane) const noexcept {
  (*lanes_)[lane].fetch();
  // What every transmission looks at.
  const RocePort* const port = &lanes_->port_of(lane);
  __builtin_prefetch(&port->neighbours);
  __builtin_prefetch(bindings_[lane].port, 1);
}

// The requester that a lane would turn to.
[[gnu::always_inline]] inline void RoceTransport::fetch_sender(uint32_t lane) const noexcept {
  const IndexQueue& senders = (*lanes_)[lane].senders;
  if (senders.empty()) return;
  const uint32_t next = senders.front();
  for (size_t line = 0; line < 2; ++line) {
    __builtin_prefetch(reinterpret_cast<const uint8_t*>(&pairs_->requesters[next]) + 64 * line, 1);
    __builtin_prefetch(reinterpret_cast<const uint8_t*>(&pairs_->templates[next]) + 64 * line);
  }
  __builtin_prefetch(&pairs_->ends[next], 1);
}

// Of a lane that comes soon, step by step: itself, its port and queues, the places of frames, these and the requester
// that is going to send, and what both need.
[[gnu::always_inline]] inline void RoceTransport::fetch_ahead(uint32_t lane, size_t distance) const noexcept {
  FramePort& port = *bindings_[lane].port;
  if (distance == 5) {
    fetch_lane(lane);
  } else if (distance == 4) {
    port.fetch_queues();
    (*lanes_)[lane].senders.fetch();
    (*lanes_)[lane].answers.fetch();
  } else if (distance == 3) {
    port.fetch_places();
  } else if (distance == 2) {
    fetch_frames(port);
    fetch_sender(lane);
  } else {
    const Frame* frame = nullptr;
    for (size_t i = 0; i < 2 && (frame = port.waiting(i)) != nullptr; ++i) prefetch_state(*frame, *pairs_);
    const IndexQueue& senders = (*lanes_)[lane].senders;
    if (!senders.empty()) pairs_->requesters[senders.front()].fetch(outbound_->pool);
  }
}

// Whether something may come of it that the application must hear of: of what only its queue pair's lane notices, no. A
// packet that fills a gap may end a message whose end is here already.
bool RoceTransport::may_report(const Frame& frame) const noexcept {
  if (frame.head_length < kMinBaseHeaderBytes) return true;
  const auto ether_type = reinterpret_cast<const EthernetHeader*>(frame.head)->ether_type;
  if (ether_type == Be16(kEtherTypeMacControl)) return false;
  const uint32_t bth_offset = bth_offset_of(frame.head);
  if (frame.head_length < bth_offset + sizeof(Bth)) return true;
  const Bth& bth = *reinterpret_cast<const Bth*>(frame.head + bth_offset);
  switch (bth.opcode) {
    case Opcode::kSendFirst:
    case Opcode::kSendMiddle:
    case Opcode::kWriteFirst:
    case Opcode::kWriteMiddle:
      return early_.has_value();
    case Opcode::kCongestionNotification:
      return false;
    case Opcode::kAcknowledge: {
      const uint32_t i = bth.destination_qp.value() - kFirstQueuePair;
      const auto syndrome = frame.head[bth_offset + sizeof(Bth)];
      return frame.head_length < bth_offset + sizeof(Bth) + sizeof(Aeth) || i >= pairs_->size() ||
             (syndrome & kSyndromeTypeMask) != kSyndromeTypeAck ||
             pairs_->requesters[i].may_end_message(outbound_->pool, bth.psn.value());
    }
    default:
      return true;
  }
}

// Of what the lane's port holds nothing is reported before then.
Time RoceTransport::next_report_of(uint32_t lane) const noexcept {
  const FramePort& port = *bindings_[lane].port;
  const Frame* frame = port.waiting(0);
  if (frame == nullptr) return port.next_event();
  for (size_t i = 0; frame != nullptr; frame = port.waiting(++i))
    if (may_report(*frame)) return frame->arrival;
  return Time::never();
}

void RoceTransport::poll_due(Time now) noexcept {
  watch_->hear([this](uint32_t lane) { return next_report_of(lane); });
  watch_->agenda().begin(now, [&](uint32_t lane) { receiver_->receive(lane, now); });
  while (watch_->reports().next() <= now) {
    const uint32_t lane = watch_->reports().first();
    const Time next = next_report_of(lane);
    watch_->reports().wake_at(lane, next);
    if (next <= now) break;  // the application must make room first
  }
  steps_->expire(now);
  watch_->agenda().take(
      [&](uint32_t lane) {
        transmitter_->transmit(lane, now);
        return next_event_of(lane);
      },
      [](uint32_t, size_t) {});
}

// Lanes have nothing to do with each other until the application hears of something, so each may go on alone to the
// first time at which that can happen, and finds what it works with in the caches.
Time RoceTransport::run_ahead(Time limit) noexcept {
  if (!watch_->on()) return next_event();
  for (;;) {
    watch_->hear([this](uint32_t lane) { return next_report_of(lane); });
    const Time next = next_event();
    if (next >= limit || has_to_report()) return next;
    const Time armed = next + std::min(first_timeout(reliable_), milliseconds(1));
    const Time end = std::min({limit, watch_->reports().next(), armed});
    if (const Time alone = std::min(end, steps_->earliest_expiry(end)); next < alone && last_now_ < alone) {
      run_lanes(next, alone);
    } else {
      make_progress(std::max(next, last_now_));
    }
  }
}

// What lanes do from `next` on, before `end`.
void RoceTransport::run_lanes(Time next, Time end) noexcept {
  const Time begin = std::max(next, last_now_);
  loop_.look(begin);
  watch_->agenda().begin(end - Duration(1), [](uint32_t) {});
  watch_->agenda().take(
      [&](uint32_t lane) {
        last_now_ = begin;
        const Time then = run_lane(lane, end);
        deadlines_.allow_disorder(last_now_ - begin);
        return then;
      },
      [&](uint32_t lane, size_t ahead) { fetch_ahead(lane, ahead); });
  last_now_ = end - Duration(1);
  loop_.skip_to(last_now_);
}

Time RoceTransport::run_lane(uint32_t lane, Time end) noexcept {
  Time next;
  while ((next = next_event_of(lane)) < end) {
    last_now_ = std::max(last_now_, next);
    receiver_->receive(lane, last_now_);
    transmitter_->transmit(lane, last_now_);
  }
  return next;
}

}  // namespace rankwire

#include "dataplane/roce/run_ahead.h"

#include <algorithm>

#include "dataplane/ports/fetch.h"
#include "dataplane/roce/fetch.h"

namespace rankwire {

[[gnu::always_inline]] inline void RunAhead::fetch_lane(uint32_t lane) const noexcept {
  lanes_[lane].fetch();
  // What every transmission looks at.
  const RocePort* const port = &lanes_.port_of(lane);
  __builtin_prefetch(&port->neighbours);
  __builtin_prefetch(lanes_.binding(lane).port, 1);
}

// The requester that a lane would turn to.
[[gnu::always_inline]] inline void RunAhead::fetch_sender(uint32_t lane) const noexcept {
  const IndexQueue& senders = lanes_[lane].senders;
  if (senders.empty()) return;
  const uint32_t next = senders.front();
  for (size_t line = 0; line < 2; ++line) {
    __builtin_prefetch(reinterpret_cast<const uint8_t*>(&tables_.requesters[next]) + 64 * line, 1);
    __builtin_prefetch(reinterpret_cast<const uint8_t*>(&tables_.templates[next]) + 64 * line);
  }
  __builtin_prefetch(&tables_.ends[next], 1);
}

// Of a lane that comes soon, step by step: itself, its port and queues, the places of frames, these and the requester
// that is going to send, and what both need.
[[gnu::always_inline]] inline void RunAhead::fetch_ahead(uint32_t lane, size_t distance) const noexcept {
  FramePort& port = *lanes_.binding(lane).port;
  if (distance == 5) {
    fetch_lane(lane);
  } else if (distance == 4) {
    port.fetch_queues();
    lanes_[lane].senders.fetch();
    lanes_[lane].answers.fetch();
  } else if (distance == 3) {
    port.fetch_places();
  } else if (distance == 2) {
    fetch_frames(port);
    fetch_sender(lane);
  } else {
    const Frame* frame = nullptr;
    for (size_t i = 0; i < 2 && (frame = port.waiting(i)) != nullptr; ++i) prefetch_state(*frame, tables_);
    const IndexQueue& senders = lanes_[lane].senders;
    if (!senders.empty()) tables_.requesters[senders.front()].fetch(outbound_.pool);
  }
}

Time RunAhead::run(Time limit) noexcept {
  if (!watch_.foresees()) return loop_.next_event();
  for (;;) {
    watch_.hear([this](uint32_t lane) { return forecast_.next_report_of(lane); });
    const Time next = loop_.next_event();
    if (next >= limit || loop_.has_to_report()) return next;
    const Time armed = next + step_;
    const Time end = std::min({limit, watch_.reports().next(), armed});
    if (const Time alone = std::min(end, expiry_.earliest(end)); next < alone && loop_.now() < alone) {
      run_lanes(next, alone);
    } else {
      loop_.turn(std::max(next, loop_.now()));
    }
  }
}

// What lanes do from `next` on, before `end`.
void RunAhead::run_lanes(Time next, Time end) noexcept {
  const Time begin = std::max(next, loop_.now());
  standstills_.look(begin);
  watch_.agenda().begin(end - Duration(1), [](uint32_t) {});
  watch_.agenda().take(
      [&](uint32_t lane) {
        Time now = begin;
        const Time then = run_lane(lane, end, now);
        deadlines_.allow_disorder(now - begin);
        return then;
      },
      [&](uint32_t lane, size_t ahead) { fetch_ahead(lane, ahead); });
  loop_.skip_to(end - Duration(1));
}

// From `now` on, which goes with it; when the lane acts next.
Time RunAhead::run_lane(uint32_t lane, Time end, Time& now) noexcept {
  Time next;
  while ((next = loop_.next_event_of(lane)) < end) {
    now = std::max(now, next);
    loop_.receive_lane(lane, now);
    loop_.transmit_lane(lane, now);
  }
  return next;
}

}  // namespace rankwire

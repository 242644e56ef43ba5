#include "dataplane/switch/outputs.h"

#include <algorithm>
#include <bit>

#include "dataplane/switch/transit.h"

namespace rankwire {
namespace {

/// The station that PFC frames of a switch come from.
MacAddress switch_address(uint32_t device) {
  return {{0x02, 0x52, 0x57, 0xFF, static_cast<uint8_t>(device >> 8), static_cast<uint8_t>(device)}};
}

}  // namespace

/// The scheduler's choice among several, or of another than the last time.
[[gnu::noinline]] uint32_t FabricOutputs::schedule(uint32_t number, PrioritySet eligible) noexcept {
  FabricPort& port = tables_.ports[number];
  const FabricSwitch& device = tables_.switches[port.device];
  const uint32_t priority = tables_.details[number].scheduler.pick(
      device.options.scheduler, eligible,
      [&](uint32_t candidate) { return tables_.packets[tables_.egress(number, candidate).packets.head].length; });
  const bool alone = std::has_single_bit(eligible) && (eligible & device.strict) == 0;
  port.settled = alone ? static_cast<uint8_t>(priority) : FabricPort::kUnsettled;
  return priority;
}

[[gnu::always_inline]] inline void FabricOutputs::send(uint32_t number, uint32_t priority, Time now) noexcept {
  FabricEgress& queue = tables_.egress(number, priority);
  const FabricTransit frame = tables_.transit(number, tables_.packets.remove_front(queue.packets));
  queue.queued -= frame.length;
  if (queue.packets.empty()) {
    frame.output.waiting &= static_cast<PrioritySet>(~frame.bit);
  } else {
    __builtin_prefetch(&tables_.packets[queue.packets.head], 1);
  }
  if (!frame.device.plain) [[unlikely]] {
    if (frame.device.watched) pauses_.note_progress(number, priority, now);
    if (frame.device.marks_departures) admission_.passes_red(frame.number, frame.handle);
    if (series_ != nullptr) series_->touch(FabricTables::queue_number(number, priority), now);
  }
  depart(frame, true, now);
}

/// Begins what the port can send at `now`.
void FabricOutputs::serve(uint32_t number, Time now) noexcept {
  FabricPort& port = tables_.ports[number];
  if (!may_send(port, now)) return;
  if (port.untold != 0 && send_pause(number, now)) return;
  const PrioritySet eligible = port.waiting & ~pauses_.paused(port, number, now);
  if (eligible == 0) return;
  const bool settled = port.settled < kPriorities && eligible == priority_bit(port.settled);
  send(number, settled ? port.settled : schedule(number, eligible), now);
}

/// The same, and sees to it that the port is served again when it can send what then still waits.
void FabricOutputs::serve_or_wake(uint32_t number, Time now) noexcept {
  FabricPort& port = tables_.ports[number];
  if (may_send(port, now)) serve(number, now);
  if ((port.waiting | port.untold) == 0 || !port.up) return;
  if (port.untold == 0 && (port.waiting & ~pauses_.paused(port, number, now)) == 0) {
    return pauses_.await_expiry(number, now);
  }
  if (port.wake_due) return;
  port.wake_due = true;
  // A free line has refused a PFC frame for want of memory.
  const Time next = port.free_at > now ? port.free_at : now + tables_.line_of(port).times.of(kPauseFrameBytes);
  agenda_.push(next, FabricEventKind::kWake, number);
}

/// Says what is untold; false when there is no memory for it. The line is free.
bool FabricOutputs::send_pause(uint32_t number, Time now) noexcept {
  FabricPort& port = tables_.ports[number];
  FabricLine& line = tables_.line_of(port);
  FabricPortCounters& counters = tables_.counters_of(number);
  const Duration time = line.times.of(kPauseFrameBytes);
  const auto paused = static_cast<PrioritySet>(port.untold & pauses_.asked(number));
  Frame frame;
  if (!port.is_host) {
    if (pauses_on_cables_ == kPausesOfPort * tables_.port_count) return ++counters.pause_failures, false;
    ++pauses_on_cables_;
    agenda_.push(now + time + line.latency + line.next_latency, FabricEventKind::kPause, number ^ 1,
                 port.untold | uint32_t{paused} << 8);
  } else {
    if (tables_.packets.room() == 0 || tables_.host_of(number).port->allocate({&frame, 1}) == 0)
      return ++counters.pause_failures, false;
    PauseFrame pause = priority_pause(paused, tables_.switches[port.device].options.pause_quanta);
    pause.priorities = port.untold;
    write_pause(switch_address(port.device), pause, frame);
    if (observer_ != nullptr) observer_->sent(number, now, frame);
    const uint32_t handle = tables_.packets.take(frame);
    ++counters.pauses_made;
    const Time whole = now + time + line.latency;
    tables_.packets[handle].arrival = whole;
    hosts_.put_on_line(number, handle, whole);
  }
  ++counters.pauses_tx;
  port.free_at = now + time;
  pauses_.note_told(number, now);
  return true;
}

void FabricOutputs::ask(uint32_t number, uint32_t priority, Time now) noexcept {
  pauses_.ask(number, priority, now);
  serve_or_wake(number, now);
}

/// The port's group, which was paused, has room again.
void FabricOutputs::resume(uint32_t number, uint32_t priority, Time now) noexcept {
  pauses_.let_go_on(number, priority);
  // The port may be the one that is sending: its line is not free, so it is not served within its own turn.
  serve_or_wake(number, now);
}

void FabricOutputs::obey(uint32_t number, const PauseFrame& pause, Time now) noexcept {
  if (pauses_.obey(number, pause, now)) serve_or_wake(number, now);
}

void FabricOutputs::lose(uint32_t handle, FabricDrop reason, uint32_t port) noexcept {
  if (reason == FabricDrop::kWatchdog) storms_.drop(port, tables_.packets[handle].priority);
  tables_.drop(handle, reason, port);
}

void FabricOutputs::discard_queue(uint32_t number, uint32_t priority, FabricDrop reason, Time now) noexcept {
  FabricEgress& queue = tables_.egress(number, priority);
  tables_.ports[number].waiting &= static_cast<PrioritySet>(~priority_bit(priority));
  while (!queue.packets.empty()) {
    const FabricTransit frame = tables_.transit(number, tables_.packets.remove_front(queue.packets));
    queue.queued -= frame.length;
    release_buffer(frame, now);
    lose(frame.handle, reason, number);
    if (series_ != nullptr) series_->drop(FabricTables::queue_number(number, priority), now);
  }
}

void FabricOutputs::handle(const FabricEvent& event) noexcept {
  const uint32_t number = event.port();
  FabricPort& port = tables_.ports[number];
  switch (event.kind()) {
    case FabricEventKind::kWake:
      port.wake_due = false;
      return serve_or_wake(number, event.at);
    case FabricEventKind::kExpire:
      port.expiry_due = false;
      return serve_or_wake(number, event.at);
    case FabricEventKind::kPause: {
      --pauses_on_cables_;
      const uint16_t quanta = tables_.switch_of(number ^ 1).options.pause_quanta;
      PauseFrame pause = priority_pause(static_cast<PrioritySet>(event.argument() >> 8), quanta);
      pause.priorities = static_cast<PrioritySet>(event.argument());
      return obey(number, pause, event.at);
    }
    case FabricEventKind::kRefresh:
      if (pauses_.repeat(number)) serve_or_wake(number, event.at);
      return;
    case FabricEventKind::kWatchdog: {
      const PrioritySet taken = pauses_.look_for_storms(number, event.at);
      for (uint32_t i = 0; i < kPriorities; ++i)
        if ((taken & priority_bit(i)) != 0) discard_queue(number, i, FabricDrop::kWatchdog, event.at);
      return serve_or_wake(number, event.at);
    }
    case FabricEventKind::kArrive:
    case FabricEventKind::kDeliver:
      break;  // handled where they are taken
  }
}

void FabricOutputs::change(uint32_t number, const CableCondition& condition, Time now) noexcept {
  FabricPort& port = tables_.ports[number];
  const Duration before = tables_.line_of(port).latency;
  tables_.put_in(number, condition);
  const Duration shorter = before - tables_.line_of(port).latency;
  if (shorter > Duration()) port.free_at = std::max(port.free_at, now) + shorter;
  const bool goes_down = port.up && !condition.up;
  port.up = condition.up;
  if (!goes_down) return;
  port.was_down = true;
  tables_.details[number].down_at = now;
  for (uint32_t i = 0; i < kPriorities; ++i) discard_queue(number, i, FabricDrop::kCableDown, now);
  pauses_.silence(number, now);
}

}  // namespace rankwire

// What leaves a port, and when.
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
[[gnu::noinline]] uint32_t VirtualFabric::schedule(uint32_t number, PrioritySet eligible) noexcept {
  Port& port = ports_[number];
  const FabricSwitch& device = switches_[port.device];
  const uint32_t priority = details_[number].scheduler.pick(
      device.options.scheduler, eligible,
      [&](uint32_t candidate) { return packets_[egress(number, candidate).packets.head].length; });
  const bool alone = std::has_single_bit(eligible) && (eligible & device.strict) == 0;
  port.settled = alone ? static_cast<uint8_t>(priority) : FabricPort::kUnsettled;
  return priority;
}

[[gnu::always_inline]] inline void VirtualFabric::send(uint32_t number, uint32_t priority, Time now) noexcept {
  FabricEgress& queue = egress(number, priority);
  const FabricTransit frame = transit(number, packets_.remove_front(queue.packets));
  queue.queued -= frame.length;
  if (queue.packets.empty()) {
    frame.output.waiting &= static_cast<PrioritySet>(~frame.bit);
  } else {
    __builtin_prefetch(&packets_[queue.packets.head], 1);
  }
  if (!frame.device.plain) [[unlikely]] {
    if (frame.device.watched) note_progress(number, priority, now);
    if (frame.device.marks_departures) passes_red(frame.number, frame.handle);
    if (series_) series_->touch(queue_number(number, priority), now);
  }
  depart(frame, true, now);
}

/// Begins what the port can send at `now`.
void VirtualFabric::serve(uint32_t number, Time now) noexcept {
  Port& port = ports_[number];
  if (!may_send(port, now)) return;
  if (port.untold != 0 && send_pause(number, now)) return;
  const PrioritySet eligible = port.waiting & ~paused(number, now);
  if (eligible == 0) return;
  const bool settled = port.settled < kPriorities && eligible == priority_bit(port.settled);
  send(number, settled ? port.settled : schedule(number, eligible), now);
}

/// The same, and sees to it that the port is served again when it can send what then still waits.
void VirtualFabric::serve_or_wake(uint32_t number, Time now) noexcept {
  Port& port = ports_[number];
  if (may_send(port, now)) serve(number, now);
  if ((port.waiting | port.untold) == 0 || !port.up) return;
  if (port.untold == 0 && (port.waiting & ~paused(number, now)) == 0) return await_expiry(number, now);
  if (port.wake_due) return;
  port.wake_due = true;
  // A free line has refused a PFC frame for want of memory.
  const Time next = port.free_at > now ? port.free_at : now + line_of(port).times.of(kPauseFrameBytes);
  agenda_.push(next, FabricEventKind::kWake, number);
}

/// Towards the host, where the last bit is at `whole`.
void VirtualFabric::put_on_line(uint32_t number, uint32_t handle, Time whole) noexcept {
  packets_[handle].arrival = whole;
  if (!is_ahead_) return keep_for_host(number, handle);
  first_ahead_ = std::min(first_ahead_, whole);
  ahead_.push_back({number, handle});
}

/// Frames on one line arrive in their order: only the first is awaited.
void VirtualFabric::keep_for_host(uint32_t number, uint32_t handle) noexcept {
  PacketList& line = host_of(number).line;
  const bool first = line.empty();
  packets_.append(line, handle);
  if (first) await_delivery(number);
}

void VirtualFabric::await_delivery(uint32_t number) noexcept {
  deliveries_.push(packets_[host_of(number).line.head].arrival, FabricEventKind::kDeliver, number);
}

/// Says what is untold; false when there is no memory for it. The line is free.
bool VirtualFabric::send_pause(uint32_t number, Time now) noexcept {
  Port& port = ports_[number];
  FabricLine& line = line_of(port);
  FabricPortCounters& counters = counters_of(number);
  FabricFlowControl& control = flow_control_[number];
  const uint16_t quanta = switches_[port.device].options.pause_quanta;
  const Duration time = line.times.of(kPauseFrameBytes);
  const auto paused = static_cast<PrioritySet>(port.untold & control.asked);
  Frame frame;
  if (!port.is_host) {
    if (pauses_on_cables_ == kPausesOfPort * ports_.size()) return ++counters.pause_failures, false;
    ++pauses_on_cables_;
    agenda_.push(now + time + line.latency + line.next_latency, FabricEventKind::kPause, number ^ 1,
                 port.untold | uint32_t{paused} << 8);
  } else {
    if (packets_.room() == 0 || host_of(number).port->allocate({&frame, 1}) == 0)
      return ++counters.pause_failures, false;
    PauseFrame pause = priority_pause(paused, quanta);
    pause.priorities = port.untold;
    write_pause(switch_address(port.device), pause, frame);
    if (options_.observer != nullptr) options_.observer->sent(number, now, frame);
    const uint32_t handle = packets_.take(frame);
    ++counters.pauses_made;
    put_on_line(number, handle, now + time + line.latency);
  }
  ++counters.pauses_tx;
  port.untold = 0;
  port.free_at = now + time;
  if (control.asked != 0 && !control.refresh_due) {
    control.refresh_due = true;
    const Duration pause = pause_time(quanta, line.times.rate());
    agenda_.push(now + Duration(pause.ps / 2), FabricEventKind::kRefresh, number);
  }
  return true;
}

void VirtualFabric::discard_queue(uint32_t number, uint32_t priority, FabricDrop reason, Time now) noexcept {
  Port& port = ports_[number];
  FabricEgress& queue = egress(number, priority);
  port.waiting &= static_cast<PrioritySet>(~priority_bit(priority));
  while (!queue.packets.empty()) {
    const FabricTransit frame = transit(number, packets_.remove_front(queue.packets));
    queue.queued -= frame.length;
    release_buffer(frame, now);
    drop(frame.handle, reason, number);
    if (series_) series_->drop(queue_number(number, priority), now);
  }
}

}  // namespace rankwire

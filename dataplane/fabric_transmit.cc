// What leaves a port, and when.
#include <algorithm>
#include <bit>

#include "dataplane/virtual_fabric.h"

namespace rankwire {
namespace {

/// The station that PFC frames of a switch come from.
MacAddress switch_address(uint32_t device) {
  return {{0x02, 0x52, 0x57, 0xFF, static_cast<uint8_t>(device >> 8), static_cast<uint8_t>(device)}};
}

}  // namespace

/// Begins what the port can send at `now`.
void VirtualFabric::serve(uint32_t number, Time now) noexcept {
  Port& port = ports_[number];
  if ((port.waiting | port.untold) == 0 || port.free_at > now || !port.up) return;
  if (port.untold != 0 && send_pause(number, now)) return;
  const PrioritySet eligible = port.waiting & ~paused(number, now);
  if (eligible == 0) return;
  if (port.settled < kPriorities && eligible == priority_bit(port.settled)) return send(number, port.settled, now);
  port.settled = FabricPort::kUnsettled;
  const FabricSwitch& device = switches_[port.device];
  const uint32_t priority = port.scheduler.pick(device.options.scheduler, eligible, [&](uint32_t candidate) {
    return packets_[port.queues[candidate].packets.head].frame.length();
  });
  if (std::has_single_bit(eligible) && (eligible & device.strict) == 0) port.settled = static_cast<uint8_t>(priority);
  send(number, priority, now);
}

/// The same, and sees to it that the port is served again when it can send what then still waits.
void VirtualFabric::serve_or_wake(uint32_t number, Time now) noexcept {
  Port& port = ports_[number];
  serve(number, now);
  if ((port.waiting == 0 && port.untold == 0) || !port.up) return;
  if (port.untold == 0 && (port.waiting & ~paused(number, now)) == 0) return await_expiry(number, now);
  if (port.wake_due) return;
  port.wake_due = true;
  // A free line has refused a PFC frame for want of memory.
  const Time next = port.free_at > now ? port.free_at : now + port.line_times.of(kPauseFrameBytes);
  events_.push(next, FabricEventKind::kWake, number);
}

void VirtualFabric::send(uint32_t number, uint32_t priority, Time now) noexcept {
  Port& port = ports_[number];
  FabricQueue& queue = port.queues[priority];
  const uint32_t handle = packets_.remove_front(queue.packets);
  FabricPacket& packet = packets_[handle];
  const FabricSwitch& device = switches_[port.device];
  queue.bytes -= Bytes(packet.frame.length());
  if (queue.packets.empty()) {
    port.waiting &= static_cast<PrioritySet>(~priority_bit(priority));
  } else {
    __builtin_prefetch(&packets_[queue.packets.head], 1);
  }
  if (device.watched) flow_control_[number].progress[priority] = now;
  if (device.marks_departures) passes_red(port, packet);
  if (series_) series_->touch(queue_number(number, priority), now);
  depart(number, handle, now);
}

/// The frame's first bit leaves by the port, whose line is free.
void VirtualFabric::depart(uint32_t number, uint32_t handle, Time now) noexcept {
  Port& port = ports_[number];
  FabricPacket& packet = packets_[handle];
  const uint32_t length = packet.frame.length();
  if (options_.observer != nullptr) options_.observer->sent(number, now, packet.frame);
  // A frame that is still coming in ends no earlier than it has come in.
  const Time finish = std::max(now + port.line_times.of(length), packet.frame.arrival);
  const Time whole = finish + port.latency;
  port.free_at = finish;
  ++hops_;
  // Before the frame changes hands: it is this switch's priority group.
  release_buffer(switches_[port.device], packet, now);
  if (port.host != nullptr) return put_on_line(number, handle, whole);
  ++port.counters.tx_frames;
  port.counters.tx_bytes += length;
  packet.frame.arrival = whole;
  const bool decides_early = port.next_cuts_through && length > kHeaderBytes;
  const Time read = decides_early ? now + port.latency + port.line_times.of(kHeaderBytes) : whole;
  events_.push(read + port.next_latency, FabricEventKind::kArrive, number ^ 1, handle);
}

/// Towards the host, where the last bit is at `whole`.
void VirtualFabric::put_on_line(uint32_t number, uint32_t handle, Time whole) noexcept {
  Port& port = ports_[number];
  const bool first = port.line.empty();
  packets_[handle].frame.arrival = whole;
  packets_.append(port.line, handle);
  if (!first || port.delivery_due) return;
  port.delivery_due = true;
  events_.push(whole, FabricEventKind::kDeliver, number);
}

/// Says what is untold; false when there is no memory for it. The line is free.
bool VirtualFabric::send_pause(uint32_t number, Time now) noexcept {
  Port& port = ports_[number];
  FabricFlowControl& control = flow_control_[number];
  const uint16_t quanta = switches_[port.device].options.pause_quanta;
  const Duration time = port.line_times.of(kPauseFrameBytes);
  const auto paused = static_cast<PrioritySet>(port.untold & control.asked);
  Frame frame;
  if (port.host == nullptr) {
    if (pauses_on_cables_ == kPausesOfPort * ports_.size()) return ++port.counters.pause_failures, false;
    ++pauses_on_cables_;
    events_.push(now + time + port.latency + port.next_latency, FabricEventKind::kPause, number ^ 1,
                 port.untold | uint32_t{paused} << 8);
  } else {
    if (packets_.room() == 0 || port.host->allocate({&frame, 1}) == 0) return ++port.counters.pause_failures, false;
    PauseFrame pause = priority_pause(paused, quanta);
    pause.priorities = port.untold;
    write_pause(switch_address(port.device), pause, frame);
    if (options_.observer != nullptr) options_.observer->sent(number, now, frame);
    const uint32_t handle = packets_.take();
    packets_[handle].frame = frame;
    ++port.counters.pauses_made;
    put_on_line(number, handle, now + time + port.latency);
  }
  ++port.counters.pauses_tx;
  port.untold = 0;
  port.free_at = now + time;
  if (control.asked != 0 && !control.refresh_due) {
    control.refresh_due = true;
    const Duration pause = pause_time(quanta, port.line_times.rate());
    events_.push(now + Duration(pause.ps / 2), FabricEventKind::kRefresh, number);
  }
  return true;
}

/// The frame leaves the buffer of its switch, whose pause may end with it.
void VirtualFabric::release_buffer(FabricSwitch& device, const FabricPacket& packet, Time now) noexcept {
  Port& ingress = ports_[packet.ingress];
  PriorityGroup& group = ingress.groups[packet.priority];
  device.buffer.release(group, Bytes(packet.frame.length()));
  if (!group.paused || !device.buffer.may_resume(group)) return;
  group.paused = false;
  flow_control_[packet.ingress].asked &= static_cast<PrioritySet>(~priority_bit(packet.priority));
  ingress.untold |= priority_bit(packet.priority);
  // The port may be the one that is sending: its line is not free, so it is not served within its own turn.
  serve_or_wake(packet.ingress, now);
}

void VirtualFabric::discard_queue(uint32_t number, uint32_t priority, FabricDrop reason, Time now) noexcept {
  Port& port = ports_[number];
  FabricQueue& queue = port.queues[priority];
  port.waiting &= static_cast<PrioritySet>(~priority_bit(priority));
  while (!queue.packets.empty()) {
    const uint32_t handle = packets_.remove_front(queue.packets);
    queue.bytes -= Bytes(packets_[handle].frame.length());
    release_buffer(switches_[port.device], packets_[handle], now);
    drop(handle, reason, number);
    if (series_) series_->drop(queue_number(number, priority), now);
  }
}

}  // namespace rankwire

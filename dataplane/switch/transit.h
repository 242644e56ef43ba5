// What every frame goes through at an output: to be inlined where it does.
#pragma once

#include <algorithm>

#include "dataplane/switch/outputs.h"

namespace rankwire {

/// A lossless frame has come: asks the other end of its port to stop when the group has had its share.
[[gnu::always_inline]] inline void FabricOutputs::ask_if_full(const FabricTransit& frame, Time now) noexcept {
  if (FabricAdmission::pauses_group(frame)) ask(frame.packet.ingress, frame.packet.priority, now);
}

/// The frame leaves the buffer of its switch, whose pause may end with it.
[[gnu::always_inline]] inline void FabricOutputs::release_buffer(const FabricTransit& frame, Time now) noexcept {
  if (FabricAdmission::releases_group(frame)) resume(frame.packet.ingress, frame.packet.priority, now);
}

/// The frame's first bit leaves by the output, whose line is free. `charged`: to its switch's buffer.
[[gnu::always_inline]] inline void FabricOutputs::depart(const FabricTransit& frame, bool charged, Time now) noexcept {
  FabricLine& line = tables_.line_of(frame.output);
  const auto bytes = static_cast<uint32_t>(frame.length.count);
  if (observer_ != nullptr) observer_->sent(frame.number, now, tables_.packets.frame(frame.handle));
  // A frame that is still coming in ends no earlier than it has come in.
  const Time finish = std::max(now + line.times.of(bytes), frame.packet.arrival);
  const Time whole = finish + line.latency;
  frame.output.free_at = finish;
  ++hops_;
  // Before the frame changes hands: it is this switch's priority group.
  if (charged) release_buffer(frame, now);
  frame.packet.arrival = whole;
  if (frame.output.is_host) {
    // Nothing but the host sees what comes to it; what comes to a switch is lost there.
    if (frame.output.loses && tables_.is_lost(frame.number)) [[unlikely]]
      return lose(frame.handle, FabricDrop::kRandomLoss, frame.number);
    return hosts_.put_on_line(frame.number, frame.handle, whole);
  }
  ++frame.queue.frames;
  frame.queue.bytes += bytes;
  const bool decides_early = line.next_cuts_through && bytes > FabricSwitch::kHeaderBytes;
  const Time read = decides_early ? now + line.latency + line.times.of(FabricSwitch::kHeaderBytes) : whole;
  agenda_.push(read + line.next_latency, FabricEventKind::kArrive, frame.number ^ 1, frame.handle);
}

/// The frame takes its turn without having been in a queue, and nothing is seen of that. There is no dequeue marking:
/// it leaves an empty queue behind.
[[gnu::always_inline]] inline void FabricOutputs::pass(const FabricTransit& frame, bool charged, Time now) noexcept {
  const uint8_t priority = frame.packet.priority;
  if (frame.output.settled != priority && (frame.device.strict & frame.bit) == 0) [[unlikely]] {
    tables_.details[frame.number].scheduler.pick_only(priority);
    frame.output.settled = priority;
  }
  depart(frame, charged, now);
}

[[gnu::always_inline]] inline void FabricOutputs::enqueue(uint32_t number, uint32_t handle, Time now) noexcept {
  if (may_send(tables_.ports[number], now)) serve(number, now);  // what leaves by now is not in this frame's way
  const FabricTransit frame = tables_.transit(number, handle);
  FabricSwitch& device = frame.device;
  FabricPort& output = frame.output;
  FabricEgress& queue = frame.queue;
  const bool first = output.waiting == 0;
  recent_priority_ = frame.packet.priority;
  if (first && device.plain && output.up && (device.lossless & frame.bit) != 0 && may_pass(output, now) &&
      device.buffer.passes_lossless(frame.group, frame.length)) {
    queue.peak = std::max(queue.peak, frame.length);
    return pass(frame, false, now);
  }
  FabricDrop reason;
  if (!admission_.admit(frame, reason)) {
    if (series_ != nullptr) series_->drop(FabricTables::queue_number(number, frame.packet.priority), now);
    return lose(handle, reason, reason == FabricDrop::kHeadroom ? frame.packet.ingress : number);
  }
  if (!device.plain) [[unlikely]] {
    if (device.watched && (output.waiting & frame.bit) == 0) pauses_.note_waiting(number, frame.packet.priority, now);
    if (series_ != nullptr) series_->touch(FabricTables::queue_number(number, frame.packet.priority), now);
  }
  if (first) {
    queue.peak = std::max(queue.peak, frame.length);
    ask_if_full(frame, now);
    if (may_pass(output, now)) return pass(frame, true, now);
  }
  tables_.packets.append(queue.packets, handle);
  queue.queued += frame.length;
  output.waiting |= frame.bit;
  queue.peak = std::max(queue.peak, queue.queued);
  if (!first) ask_if_full(frame, now);
  // A line that wakes the port when it is free looks after all that waits.
  if (output.free_at > now && output.wake_due) return;
  serve_or_wake(number, now);
}

}  // namespace rankwire

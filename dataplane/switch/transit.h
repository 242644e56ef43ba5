// What every frame goes through in a VirtualFabric: to be inlined where it does.
#pragma once

#include <algorithm>

#include "dataplane/switch/virtual_fabric.h"

namespace rankwire {

/// The packet at the output `number`, which may be any of its switch.
[[gnu::always_inline]] inline FabricTransit VirtualFabric::transit(uint32_t number, uint32_t handle) noexcept {
  Port& output = ports_[number];
  FabricPacket& packet = packets_[handle];
  const uint32_t priority = packet.priority;
  return {.device = switches_[output.device],
          .output = output,
          .queue = egress(number, priority),
          .group = ingress(packet.ingress, priority).group,
          .packet = packet,
          .number = number,
          .handle = handle,
          .length = Bytes(packet.length),
          .bit = priority_bit(priority)};
}

/// The frame leaves the buffer of its switch, whose pause may end with it.
[[gnu::always_inline]] inline void VirtualFabric::release_buffer(const FabricTransit& frame, Time now) noexcept {
  frame.device.buffer.release(frame.group, frame.length);
  if (!frame.group.paused || !frame.device.buffer.may_resume(frame.group)) return;
  frame.group.paused = false;
  resume(frame.packet.ingress, frame.packet.priority, now);
}

/// The frame's first bit leaves by the output, whose line is free. `charged`: to its switch's buffer.
[[gnu::always_inline]] inline void VirtualFabric::depart(const FabricTransit& frame, bool charged, Time now) noexcept {
  FabricLine& line = line_of(frame.output);
  const auto bytes = static_cast<uint32_t>(frame.length.count);
  if (options_.observer != nullptr) options_.observer->sent(frame.number, now, packets_.frame(frame.handle));
  // A frame that is still coming in ends no earlier than it has come in.
  const Time finish = std::max(now + line.times.of(bytes), frame.packet.arrival);
  const Time whole = finish + line.latency;
  frame.output.free_at = finish;
  ++hops_;
  // Before the frame changes hands: it is this switch's priority group.
  if (charged) release_buffer(frame, now);
  if (frame.output.is_host) return put_on_line(frame.number, frame.handle, whole);
  ++frame.queue.frames;
  frame.queue.bytes += bytes;
  frame.packet.arrival = whole;
  const bool decides_early = line.next_cuts_through && bytes > kHeaderBytes;
  const Time read = decides_early ? now + line.latency + line.times.of(kHeaderBytes) : whole;
  agenda_.push(read + line.next_latency, FabricEventKind::kArrive, frame.number ^ 1, frame.handle);
}

}  // namespace rankwire

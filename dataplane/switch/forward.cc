// The way of a frame through a switch up to its output queue.
#include <cstring>

#include "dataplane/switch/frames.h"
#include "dataplane/switch/transit.h"
#include "fabric/ecmp_hash.h"

namespace rankwire {

/// Charges the frame to its switch's buffer, or says why not.
[[gnu::always_inline]] inline bool VirtualFabric::admit(const FabricTransit& frame, FabricDrop& reason) noexcept {
  FabricSwitch& device = frame.device;
  if (!frame.output.up) return reason = FabricDrop::kCableDown, false;
  const bool waits = (frame.output.waiting & frame.bit) != 0;
  const Bytes queued = waits ? frame.queue.queued : Bytes();
  if (!device.plain) [[unlikely]] {
    if (device.watched && (flow_control_[frame.number].storms & frame.bit) != 0 &&
        device.options.watchdog->action == StormAction::kDrop)
      return reason = FabricDrop::kWatchdog, false;
    if (const std::optional<Bytes>& limit = device.buffer.queue_bound(); limit && queued + frame.length > *limit)
      return reason = FabricDrop::kTail, false;
  }
  if ((device.lossless & frame.bit) != 0) {
    if (!device.buffer.admit_lossless(frame.group, frame.length)) return reason = FabricDrop::kHeadroom, false;
  } else if (!device.buffer.admit_lossy(frame.group, queued, frame.length)) {
    return reason = FabricDrop::kTail, false;
  }
  // An empty queue is not above any threshold.
  if (!device.marks_arrivals || queued == Bytes() || passes_red(frame.number, frame.handle)) return true;
  device.buffer.release(frame.group, frame.length);
  return reason = FabricDrop::kEarly, false;
}

/// Whether a frame that finds nothing waiting may leave at once.
[[gnu::always_inline]] inline bool VirtualFabric::may_pass(const FabricTransit& frame, Time now) noexcept {
  const Port& output = frame.output;
  return output.free_at <= now && output.untold == 0 && output.paused_until <= now;
}

/// The frame takes its turn without having been in a queue, and nothing is seen of that. There is no dequeue marking:
/// it leaves an empty queue behind.
[[gnu::always_inline]] inline void VirtualFabric::pass(const FabricTransit& frame, bool charged, Time now) noexcept {
  const uint8_t priority = frame.packet.priority;
  if (frame.output.settled != priority && (frame.device.strict & frame.bit) == 0) [[unlikely]] {
    details_[frame.number].scheduler.pick_only(priority);
    frame.output.settled = priority;
  }
  depart(frame, charged, now);
}

// Inlined where most frames pass.
[[gnu::always_inline]] inline void VirtualFabric::enqueue(uint32_t number, uint32_t handle, Time now) noexcept {
  if (may_send(ports_[number], now)) serve(number, now);  // what leaves by now is not in this frame's way
  const FabricTransit frame = transit(number, handle);
  FabricSwitch& device = frame.device;
  Port& output = frame.output;
  FabricEgress& queue = frame.queue;
  const bool first = output.waiting == 0;
  recent_priority_ = frame.packet.priority;
  if (first && device.plain && output.up && (device.lossless & frame.bit) != 0 && may_pass(frame, now) &&
      device.buffer.passes_lossless(frame.group, frame.length)) {
    queue.peak = std::max(queue.peak, frame.length);
    return pass(frame, false, now);
  }
  FabricDrop reason;
  if (!admit(frame, reason)) {
    if (series_) series_->drop(queue_number(number, frame.packet.priority), now);
    return drop(handle, reason, reason == FabricDrop::kHeadroom ? frame.packet.ingress : number);
  }
  if (!device.plain) [[unlikely]] {
    if (device.watched && (output.waiting & frame.bit) == 0)
      flow_control_[number].progress[frame.packet.priority] = now;
    if (series_) series_->touch(queue_number(number, frame.packet.priority), now);
  }
  if (first) {
    queue.peak = std::max(queue.peak, frame.length);
    ask_if_full(frame, now);
    if (may_pass(frame, now)) return pass(frame, true, now);
  }
  packets_.append(queue.packets, handle);
  queue.queued += frame.length;
  output.waiting |= frame.bit;
  queue.peak = std::max(queue.peak, queue.queued);
  if (!first) ask_if_full(frame, now);
  // A line that wakes the port when it is free looks after all that waits.
  if (output.free_at > now && output.wake_due) return;
  serve_or_wake(number, now);
}

void VirtualFabric::arrive(uint32_t number, uint32_t handle, Time now) noexcept {
  Port& port = ports_[number];
  FabricSwitch& device = switches_[port.device];
  FabricPacket& packet = packets_[handle];
  if (!port.is_host) {
    if (!port.up || (port.was_down && details_[number].down_at + line_of(port).latency >= packet.arrival))
      return drop(handle, FabricDrop::kCableDown, number);
    FabricIngress& in = ingress(number, packet.priority);
    ++in.frames;
    in.bytes += packet.length;
  }
  if (device.loses && device.random.chance(device.options.loss_ppm)) {
    return drop(handle, FabricDrop::kRandomLoss, number);
  }
  packet.ingress = number;
  if (port.is_host && (packet.destination == FabricPacket::kUnread || moved_)) {
    const Frame& frame = packets_.frame(handle);
    if (const std::optional<PauseFrame> pause = read_pause(frame)) {
      release(handle);
      return obey(number, *pause, now);
    }
    if (!classify(number, frame, packet)) return drop(handle, FabricDrop::kFiltered, number);
  }
  if (packet.destination == FabricPacket::kFlooded) return flood(number, handle, now);
  const std::span<const uint32_t> ports = routes_.next_ports(SwitchId(port.device), edges_[packet.destination]);
  uint32_t output = first_host_port_ + packet.destination;
  if (!ports.empty()) {
    const auto members = static_cast<uint32_t>(ports.size());
    const bool follows_flow = options_.balancing.spreading == Spreading::kFlow;
    output = members == 1   ? ports.front()
             : follows_flow ? ports[ecmp_member(packet.flow, device.hash_seed, members)]
                            : spread(device, ports, packet.flow, now);
  } else if (output == number) {
    return drop(handle, FabricDrop::kFiltered, number);
  } else if (ports_[output].device != port.device) {
    return drop(handle, FabricDrop::kNoRoute, number);
  }
  enqueue(output, handle, now);
}

/// Reads the headers of a host's frame while they are in the caches, unless the frame tells where a station is, is for
/// others than one host, or stations move: they may before it is in the switch.
void VirtualFabric::read_early(uint32_t number, const Frame& frame, FabricPacket& packet) noexcept {
  packet.destination = FabricPacket::kUnread;
  if (moved_ || is_runt(frame)) return __builtin_prefetch(frame.head);
  const FrameHeaders headers = read_headers(frame);
  if (is_group(headers.source) || is_group(headers.destination) ||
      stations_.port_of(headers.source) != static_cast<uint16_t>(number - first_host_port_))
    return;
  note_headers(number, frame, headers, packet);
  packet.destination = stations_.port_of(headers.destination).value_or(FabricPacket::kUnread);
}

/// Reads a host's frame, once for all switches. False when it goes no further.
bool VirtualFabric::classify(uint32_t number, const Frame& frame, FabricPacket& packet) noexcept {
  if (is_runt(frame)) return false;
  const FrameHeaders headers = read_headers(frame);
  const auto host = static_cast<uint16_t>(number - first_host_port_);
  if (!is_group(headers.source)) moved_ |= stations_.learn(headers.source, host);
  if (is_reserved_group(headers.destination)) return false;
  note_headers(number, frame, headers, packet);
  packet.destination = is_group(headers.destination)
                           ? FabricPacket::kFlooded
                           : stations_.port_of(headers.destination).value_or(FabricPacket::kFlooded);
  return true;
}

void VirtualFabric::note_headers(uint32_t number, const Frame& frame, const FrameHeaders& headers,
                                 FabricPacket& packet) noexcept {
  // A switch alone has no two ways to choose from.
  packet.flow = switches_.size() == 1 ? 0 : flow_of(frame, headers, options_.balancing);
  packet.priority = priority_of(headers, switches_[ports_[number].device].options.classes);
  packet.ecn_capable = headers.ecn_capable;
}

bool VirtualFabric::floods_to(uint32_t output) const noexcept {
  return is_host_port(output) || routes_.in_tree(output / 2);
}

/// Copies for all other hosts and branches of the tree but the last, which gets the frame itself.
void VirtualFabric::flood(uint32_t number, uint32_t handle, Time now) noexcept {
  const std::vector<uint32_t>& outputs = switches_[ports_[number].device].ports;
  uint32_t last = number;
  for (const uint32_t output : outputs) {
    if (output != number && floods_to(output)) last = output;
  }
  if (last == number) return drop(handle, FabricDrop::kFiltered, number);
  ++counters_of(number).flooded;
  for (const uint32_t output : outputs) {
    if (output == last) break;
    if (output != number && floods_to(output)) copy_to(output, handle, now);
  }
  enqueue(last, handle, now);
}

void VirtualFabric::copy_to(uint32_t output, uint32_t handle, Time now) noexcept {
  const FabricPacket& packet = packets_[handle];
  const Frame& frame = packets_.frame(handle);
  FabricPortCounters& counters = counters_of(packet.ingress);
  FramePort& pool = *(is_host_port(output) ? host_of(output) : hosts_.back()).port;
  Frame copy;
  if (packets_.room() == 0 || pool.capabilities().frame_capacity < frame.head_length ||
      pool.allocate({&copy, 1}) == 0) {
    ++counters.copy_failures;
    return;
  }
  std::memcpy(copy.head, frame.head, frame.head_length);
  copy.head_length = frame.head_length;
  copy.payload = frame.payload;
  copy.payload_length = frame.payload_length;
  copy.tail_length = frame.tail_length;
  std::memcpy(copy.tail, frame.tail, sizeof copy.tail);
  copy.arrival = frame.arrival;
  const uint32_t added = packets_.take(copy);
  packets_[added] = packet;
  ++counters.flood_copies;
  enqueue(output, added, now);
}

/// Where a flow's frames do not all go the same way.
[[gnu::noinline]] uint32_t VirtualFabric::spread(FabricSwitch& device, std::span<const uint32_t> ports, uint32_t flow,
                                                 Time now) noexcept {
  const auto members = static_cast<uint32_t>(ports.size());
  if (options_.balancing.spreading == Spreading::kPacket) return ports[device.turn++ % members];
  Flowlet& flowlet = device.flowlets[flow % device.flowlets.size()];
  if (now - flowlet.last > options_.balancing.flowlet_gap)
    flowlet.member = static_cast<uint32_t>(device.random.below(UINT32_MAX));
  flowlet.last = now;
  return ports[flowlet.member % members];
}

/// RED looks at the queue: marks the frame, or not; false when it drops it instead.
[[gnu::noinline]] bool VirtualFabric::passes_red(uint32_t output, uint32_t handle) noexcept {
  FabricSwitch& device = switches_[ports_[output].device];
  FabricPacket& packet = packets_[handle];
  const PrioritySet bit = priority_bit(packet.priority);
  const RedOptions& red = *device.options.red;
  const Bytes queued = egress(output, packet.priority).queued;
  if (queued <= red.minimum || (red.priorities & bit) == 0) return true;
  if (queued <= red.maximum) {
    const auto most = static_cast<unsigned __int128>(red.most_ppm) * (queued - red.minimum).count;
    const auto width = static_cast<unsigned __int128>((red.maximum - red.minimum).count) * 1'000'000;
    if (device.random.below(static_cast<uint64_t>(width)) >= static_cast<uint64_t>(most)) return true;
  }
  if (packet.ecn_capable) {
    if (mark_congestion(packets_.frame(handle))) {
      ++counters_of(output).marks;
      if (series_) series_->mark(queue_number(output, packet.priority));
    }
    packet.ecn_capable = false;
    return true;
  }
  return red.not_capable == NotCapable::kPass || red.at == MarkAt::kDequeue || (device.lossless & bit) != 0;
}

}  // namespace rankwire

// The way of a frame through a switch up to its output queue.
#include <cstring>

#include "dataplane/fabric_frames.h"
#include "dataplane/virtual_fabric.h"
#include "fabric/ecmp_hash.h"

namespace rankwire {

/// Charges the frame to its switch's buffer, or says why not.
[[gnu::always_inline]] inline bool VirtualFabric::admit(uint32_t number, FabricPacket& packet, Bytes length,
                                                        FabricDrop& reason) noexcept {
  Port& output = ports_[number];
  FabricSwitch& device = switches_[output.device];
  const PrioritySet bit = priority_bit(packet.priority);
  if (!output.up) return reason = FabricDrop::kCableDown, false;
  if (device.watched && (flow_control_[number].storms & bit) != 0 &&
      device.options.watchdog->action == StormAction::kDrop) {
    return reason = FabricDrop::kWatchdog, false;
  }
  const Bytes queued = (output.waiting & bit) != 0 ? egress(number, packet.priority).queued : Bytes();
  if (const std::optional<Bytes>& limit = device.buffer.queue_bound(); limit && queued + length > *limit)
    return reason = FabricDrop::kTail, false;
  PriorityGroup& group = ingress(packet.ingress, packet.priority).group;
  if ((device.lossless & bit) != 0) {
    if (!device.buffer.admit_lossless(group, length)) return reason = FabricDrop::kHeadroom, false;
  } else if (!device.buffer.admit_lossy(group, queued, length)) {
    return reason = FabricDrop::kTail, false;
  }
  // An empty queue is not above any threshold.
  if (queued == Bytes() || !device.marks_arrivals || passes_red(number, packet)) return true;
  device.buffer.release(group, length);
  return reason = FabricDrop::kEarly, false;
}

// Inlined where most frames pass.
[[gnu::always_inline]] inline void VirtualFabric::enqueue(uint32_t number, uint32_t handle, Time now) noexcept {
  Port& output = ports_[number];
  FabricPacket& packet = packets_[handle];
  if (may_send(output, now)) serve(number, now);  // what leaves by now is not in this frame's way
  const Bytes length(packet.frame.length());
  FabricDrop reason;
  if (!admit(number, packet, length, reason)) {
    if (series_) series_->drop(queue_number(number, packet.priority), now);
    return drop(handle, reason, reason == FabricDrop::kHeadroom ? packet.ingress : number);
  }
  FabricSwitch& device = switches_[output.device];
  recent_priority_ = packet.priority;
  const PrioritySet bit = priority_bit(packet.priority);
  if (device.watched && (output.waiting & bit) == 0) flow_control_[number].progress[packet.priority] = now;
  if (series_) series_->touch(queue_number(number, packet.priority), now);
  FabricEgress& queue = egress(number, packet.priority);
  if (output.waiting == 0) {
    queue.peak = std::max(queue.peak, length);
    ask_if_full(device, packet, now);
    if (may_pass(output, now)) {
      // The frame takes its turn without having been in a queue, and nothing is seen of that. There is no dequeue
      // marking: it leaves an empty queue behind.
      if (output.settled != packet.priority && (device.strict & bit) == 0) {
        details_[number].scheduler.pick_only(packet.priority);
        output.settled = packet.priority;
      }
      return depart(number, handle, length, now);
    }
  }
  const bool first = output.waiting == 0;
  packets_.append(queue.packets, handle);
  queue.queued += length;
  output.waiting |= bit;
  queue.peak = std::max(queue.peak, queue.queued);
  if (!first) ask_if_full(device, packet, now);
  serve_or_wake(number, now);
}

void VirtualFabric::arrive(uint32_t number, uint32_t handle, Time now) noexcept {
  Port& port = ports_[number];
  FabricSwitch& device = switches_[port.device];
  FabricPacket& packet = packets_[handle];
  if (!port.is_host) {
    if (!port.up || (port.was_down && details_[number].down_at + line_of(port).latency >= packet.frame.arrival))
      return drop(handle, FabricDrop::kCableDown, number);
    FabricIngress& in = ingress(number, packet.priority);
    ++in.frames;
    in.bytes += packet.frame.length();
  }
  if (device.loses && device.random.chance(device.options.loss_ppm)) {
    return drop(handle, FabricDrop::kRandomLoss, number);
  }
  packet.ingress = number;
  if (port.is_host && (packet.destination == FabricPacket::kUnread || learned_)) {
    if (const std::optional<PauseFrame> pause = read_pause(packet.frame)) {
      release(handle);
      return obey(number, *pause, now);
    }
    if (!classify(number, packet)) return drop(handle, FabricDrop::kFiltered, number);
  }
  if (packet.destination == FabricPacket::kFlooded) return flood(number, handle, now);
  const std::span<const uint32_t> ports = routes_.next_ports(SwitchId(port.device), edges_[packet.destination]);
  uint32_t output = first_host_port_ + packet.destination;
  if (!ports.empty()) {
    output = ports.size() == 1 ? ports.front() : choose(device, ports, packet.flow, now);
  } else if (output == number) {
    return drop(handle, FabricDrop::kFiltered, number);
  } else if (ports_[output].device != port.device) {
    return drop(handle, FabricDrop::kNoRoute, number);
  }
  enqueue(output, handle, now);
}

/// Reads the headers of a host's frame while they are in the caches, unless the frame tells where a station is, is for
/// others than one host, or stations may have moved before it is in the switch.
void VirtualFabric::read_early(uint32_t number, FabricPacket& packet) noexcept {
  packet.destination = FabricPacket::kUnread;
  if (learned_ || is_runt(packet.frame)) return __builtin_prefetch(packet.frame.head);
  const FrameHeaders headers = read_headers(packet.frame, options_.balancing);
  if (is_group(headers.source) || is_group(headers.destination) ||
      stations_.port_of(headers.source) != static_cast<uint16_t>(number - first_host_port_))
    return;
  note_headers(number, headers, packet);
  packet.destination = stations_.port_of(headers.destination).value_or(FabricPacket::kUnread);
}

/// Reads a host's frame, once for all switches. False when it goes no further.
bool VirtualFabric::classify(uint32_t number, FabricPacket& packet) noexcept {
  if (is_runt(packet.frame)) return false;
  const FrameHeaders headers = read_headers(packet.frame, options_.balancing);
  const auto host = static_cast<uint16_t>(number - first_host_port_);
  if (!is_group(headers.source)) learned_ |= stations_.learn(headers.source, host);
  if (is_reserved_group(headers.destination)) return false;
  note_headers(number, headers, packet);
  packet.destination = is_group(headers.destination)
                           ? FabricPacket::kFlooded
                           : stations_.port_of(headers.destination).value_or(FabricPacket::kFlooded);
  return true;
}

void VirtualFabric::note_headers(uint32_t number, const FrameHeaders& headers, FabricPacket& packet) noexcept {
  packet.flow = headers.flow;
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
  const Frame& frame = packet.frame;
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
  const uint32_t added = packets_.take();
  packets_[added] = packet;
  packets_[added].frame = copy;
  ++counters.flood_copies;
  enqueue(output, added, now);
}

uint32_t VirtualFabric::choose(FabricSwitch& device, std::span<const uint32_t> ports, uint32_t flow,
                               Time now) noexcept {
  const auto members = static_cast<uint32_t>(ports.size());
  switch (options_.balancing.spreading) {
    case Spreading::kPacket:
      return ports[device.turn++ % members];
    case Spreading::kFlowlet: {
      Flowlet& flowlet = device.flowlets[flow % device.flowlets.size()];
      if (now - flowlet.last > options_.balancing.flowlet_gap) {
        flowlet.member = static_cast<uint32_t>(device.random.below(UINT32_MAX));
      }
      flowlet.last = now;
      return ports[flowlet.member % members];
    }
    case Spreading::kFlow:
      break;
  }
  return ports[ecmp_member(flow, device.hash_seed, members)];
}

/// RED looks at the queue: marks the frame, or not; false when it drops it instead.
bool VirtualFabric::passes_red(uint32_t output, FabricPacket& packet) noexcept {
  FabricSwitch& device = switches_[ports_[output].device];
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
    if (mark_congestion(packet.frame)) {
      ++counters_of(output).marks;
      if (series_) series_->mark(queue_number(output, packet.priority));
    }
    packet.ecn_capable = false;
    return true;
  }
  return red.not_capable == NotCapable::kPass || red.at == MarkAt::kDequeue ||
         (device.options.classes.lossless & bit) != 0;
}

}  // namespace rankwire

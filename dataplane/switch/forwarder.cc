#include "dataplane/switch/forwarder.h"

#include <optional>

#include "dataplane/ports/copy_frame.h"
#include "dataplane/switch/transit.h"
#include "dataplane/wire/pause.h"

namespace rankwire {

FabricForwarder::FabricForwarder(FabricTables& tables, FrameReader& reader, FabricOutputs& outputs,
                                 const FabricOptions& options)
    : tables_(tables),
      reader_(reader),
      outputs_(outputs),
      balancing_(options.balancing),
      served_(options.served),
      routes_(tables.topology) {
  edges_.reserve(tables.hosts.size());
  for (uint32_t port = tables.first_host_port; port < tables.port_count; ++port)
    edges_.push_back(routes_.destination(SwitchId(tables.ports[port].device)));
}

void FabricForwarder::arrive(uint32_t number, uint32_t handle, Time now) noexcept {
  FabricPort& port = tables_.ports[number];
  FabricSwitch& device = tables_.switches[port.device];
  FabricPacket& packet = tables_.packets[handle];
  if (!port.up || (port.was_down && tables_.details[number].down_at + tables_.line_of(port).latency >= packet.arrival))
    return tables_.drop(handle, FabricDrop::kCableDown, number);
  if (!port.is_host) {
    FabricIngress& in = tables_.ingress(number, packet.priority);
    ++in.frames;
    in.bytes += packet.length;
  }
  if ((device.loses && device.random.chance(device.options.loss_ppm)) || (port.loses && tables_.is_lost(number))) {
    return tables_.drop(handle, FabricDrop::kRandomLoss, number);
  }
  packet.ingress = number;
  if (port.is_host && reader_.must_classify(packet)) {
    const Frame& frame = tables_.packets.frame(handle);
    if (const std::optional<PauseFrame> pause = read_pause(frame)) {
      tables_.release(handle);
      return outputs_.obey(number, *pause, now);
    }
    if (!reader_.classify(number, frame, packet)) return tables_.drop(handle, FabricDrop::kFiltered, number);
  }
  if (packet.destination == FabricPacket::kFlooded) return flood(number, handle, now);
  const uint32_t output = choose(number, packet, now);
  if (output == kNoOutput) {
    const bool is_back = number == tables_.first_host_port + packet.destination;
    return tables_.drop(handle, is_back ? FabricDrop::kFiltered : FabricDrop::kNoRoute, number);
  }
  outputs_.enqueue(output, handle, now);
}

bool FabricForwarder::floods_to(uint32_t output) const noexcept {
  if (!tables_.is_host_port(output)) return routes_.in_tree(output / 2);
  return served_.empty() || served_[output - tables_.first_host_port];
}

/// Copies for all other hosts and branches of the tree but the last, which gets the frame itself.
void FabricForwarder::flood(uint32_t number, uint32_t handle, Time now) noexcept {
  const std::vector<uint32_t>& outputs = tables_.switch_of(number).ports;
  uint32_t last = number;
  for (const uint32_t output : outputs) {
    if (output != number && floods_to(output)) last = output;
  }
  if (last == number) return tables_.drop(handle, FabricDrop::kFiltered, number);
  ++tables_.counters_of(number).flooded;
  for (const uint32_t output : outputs) {
    if (output == last) break;
    if (output != number && floods_to(output)) copy_to(output, handle, now);
  }
  outputs_.enqueue(last, handle, now);
}

void FabricForwarder::copy_to(uint32_t output, uint32_t handle, Time now) noexcept {
  const FabricPacket& packet = tables_.packets[handle];
  const Frame& frame = tables_.packets.frame(handle);
  FabricPortCounters& counters = tables_.counters_of(packet.ingress);
  FramePort& pool = *(tables_.is_host_port(output) ? tables_.host_of(output) : tables_.hosts.back()).port;
  Frame copy;
  if (tables_.packets.room() == 0 || pool.capabilities().frame_capacity < frame.head_length ||
      pool.allocate({&copy, 1}) == 0) {
    ++counters.copy_failures;
    return;
  }
  copy_frame(frame, copy);
  const uint32_t added = tables_.packets.take(copy);
  tables_.packets[added] = packet;
  ++counters.flood_copies;
  outputs_.enqueue(output, added, now);
}

/// Where a flow's frames do not all go the same way.
[[gnu::noinline]] uint32_t FabricForwarder::spread(FabricSwitch& device, std::span<const uint32_t> ports, uint32_t flow,
                                                   Time now) noexcept {
  const auto members = static_cast<uint32_t>(ports.size());
  if (balancing_.spreading == Spreading::kPacket) return ports[device.turn++ % members];
  Flowlet& flowlet = device.flowlets[flow % device.flowlets.size()];
  if (now - flowlet.last > balancing_.flowlet_gap)
    flowlet.member = static_cast<uint32_t>(device.random.below(UINT32_MAX));
  flowlet.last = now;
  return ports[flowlet.member % members];
}

}  // namespace rankwire

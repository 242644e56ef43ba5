// The switches of a fabric, their ports and lines, and the frames that they hold.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/units.h"
#include "dataplane/ports/frame_port.h"
#include "dataplane/switch/options.h"
#include "dataplane/switch/packets.h"
#include "dataplane/switch/state.h"
#include "fabric/cable_event.h"
#include "fabric/topology.h"

namespace rankwire {

/// Everything by its number, which never changes. What of a row may change is written by the parts that have references
/// to these tables: its counters by whoever counts, waiting frames by FabricOutputs, lines to hosts by FabricHosts. All
/// memory is taken by the constructor. One thread.
struct FabricTables {
  /// `host_ports`: as VirtualFabric has them; `devices`: options of every switch, or one for all. All have been
  /// checked.
  FabricTables(const Topology& fabric, std::span<FramePort* const> host_ports,
               std::span<const FabricSwitchOptions> devices, const FabricOptions& options);
  FabricTables(const FabricTables&) = delete;
  FabricTables& operator=(const FabricTables&) = delete;

  bool is_host_port(uint32_t port) const noexcept { return port >= first_host_port; }
  FabricHost& host_of(uint32_t port) noexcept { return hosts[port - first_host_port]; }
  FabricLine& line_of(const FabricPort& port) noexcept { return lines[port.line]; }
  FabricSwitch& switch_of(uint32_t port) noexcept { return switches[ports[port].device]; }
  const FabricSwitch& switch_of(uint32_t port) const noexcept { return switches[ports[port].device]; }
  // A priority's together: most fabrics use few of them.
  FabricIngress& ingress(uint32_t port, uint32_t priority) noexcept { return ingresses[priority * port_count + port]; }
  FabricEgress& egress(uint32_t port, uint32_t priority) noexcept { return egresses[priority * port_count + port]; }
  const FabricIngress& ingress(uint32_t port, uint32_t priority) const noexcept {
    return ingresses[priority * port_count + port];
  }
  const FabricEgress& egress(uint32_t port, uint32_t priority) const noexcept {
    return egresses[priority * port_count + port];
  }
  FabricPortCounters& counters_of(uint32_t port) noexcept { return details[port].counters; }
  /// Of a priority of a port, among those of all.
  static uint32_t queue_number(uint32_t port, uint32_t priority) noexcept { return port * kPriorities + priority; }

  /// The packet at the output `number`, which may be any of its switch.
  [[gnu::always_inline]] FabricTransit transit(uint32_t number, uint32_t handle) noexcept {
    FabricPort& output = ports[number];
    FabricPacket& packet = packets[handle];
    const uint32_t priority = packet.priority;
    return {.device = switches[output.device],
            .output = output,
            .queue = egress(number, priority),
            .group = ingress(packet.ingress, priority).group,
            .packet = packet,
            .number = number,
            .handle = handle,
            .length = Bytes(packet.length),
            .bit = priority_bit(priority)};
  }

  /// The port's cable is in this condition, which the schedule of FabricOptions has, from now on; whether it is in use
  /// is for FabricOutputs to say.
  void put_in(uint32_t port, const CableCondition& condition) noexcept;
  /// Whether the cable of the port loses the next frame on it, which is drawn by lot.
  bool is_lost(uint32_t port) noexcept;

  /// The frame, which is in no list and charged to no buffer, leaves the fabric and is given back to its pool.
  void release(uint32_t handle) noexcept;
  /// The same; `port` counts it.
  void drop(uint32_t handle, FabricDrop reason, uint32_t port) noexcept;

  /// What the port has counted; not how long it was paused.
  FabricPortCounters counters(uint32_t port) const;
  /// Whether every frame is accounted for.
  bool conserved() const;

  const Topology topology;
  const uint32_t first_host_port, port_count;
  const Duration reach, reach_of_hosts;    ///< until a sender is noticed by the next switch, and by a host, at least
  const Duration shortest_frame_of_hosts;  ///< its time on a host's line
  std::vector<FabricSwitch> switches;
  std::vector<FabricLine> lines;  ///< different ones, of all conditions that cables will be in
  std::vector<FabricPort> ports;
  std::vector<FabricIngress> ingresses;  ///< by priority and port
  std::vector<FabricEgress> egresses;    ///< the same
  std::vector<FabricHost> hosts;
  std::vector<FabricPortDetails> details;  ///< by port
  PacketStore packets;

 private:
  FabricLine line_in(uint32_t port, const CableCondition& condition) const noexcept;
  uint32_t know(const FabricLine& line);
};

}  // namespace rankwire

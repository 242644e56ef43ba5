// The way of a frame through a switch up to its output queue.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/units.h"
#include "dataplane/switch/frame_reader.h"
#include "dataplane/switch/options.h"
#include "dataplane/switch/outputs.h"
#include "dataplane/switch/tables.h"
#include "fabric/ecmp_hash.h"
#include "fabric/routing.h"

namespace rankwire {

/// Decides what becomes of frames that have come to a switch: they are lost, end there (pauses, runts, what no bridge
/// relays), go to the output that the routes and the load balancing say, or as copies to all along the spanning tree.
/// No allocation after construction. One thread.
class FabricForwarder {
 public:
  static constexpr uint32_t kNoOutput = UINT32_MAX;

  /// All are borrowed.
  FabricForwarder(FabricTables& tables, FrameReader& reader, FabricOutputs& outputs, const FabricOptions& options);

  /// The frame can go to an output queue of the switch to which it has come by the port.
  void arrive(uint32_t port, uint32_t handle, Time now) noexcept;
  /// The output for a frame to one host that has come by the port `number`; kNoOutput when that leads to the host
  /// itself, or no path of cables in use does.
  uint32_t choose(uint32_t number, const FabricPacket& packet, Time now) noexcept {
    const FabricPort& port = tables_.ports[number];
    const std::span<const uint32_t> ports = routes_.next_ports(SwitchId(port.device), edges_[packet.destination]);
    if (!ports.empty()) {
      const auto members = static_cast<uint32_t>(ports.size());
      if (members == 1) return ports.front();
      FabricSwitch& device = tables_.switches[port.device];
      if (balancing_.spreading != Spreading::kFlow) return spread(device, ports, packet.flow, now);
      return ports[ecmp_member(packet.flow, device.hash_seed, members)];
    }
    const uint32_t output = tables_.first_host_port + packet.destination;
    return output != number && tables_.ports[output].device == port.device ? output : kNoOutput;
  }
  /// Routes and the spanning tree are those of the cables that are in use (by cable: not 0) from now on.
  void follow(std::span<const uint8_t> in_use) noexcept { routes_.compute(in_use); }

  /// Fetches the memory that `choose` begins with in this switch.
  void fetch(uint32_t device, const FabricPacket& packet) const noexcept {
    routes_.prefetch(SwitchId(device), edges_[packet.destination >= FabricPacket::kUnread ? 0 : packet.destination]);
  }

 private:
  uint32_t spread(FabricSwitch& device, std::span<const uint32_t> ports, uint32_t flow, Time now) noexcept;
  void flood(uint32_t port, uint32_t handle, Time now) noexcept;
  void copy_to(uint32_t output, uint32_t handle, Time now) noexcept;
  bool floods_to(uint32_t output) const noexcept;

  FabricTables& tables_;
  FrameReader& reader_;
  FabricOutputs& outputs_;
  const LoadBalancingOptions balancing_;
  const std::vector<bool> served_;  ///< by host; empty: all
  Routes routes_;
  std::vector<uint32_t> edges_;  ///< by host: its switch, as Routes::destination tells it
};

}  // namespace rankwire

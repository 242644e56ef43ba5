// Switches, the cables between them and the hosts behind them: plain data, without time.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/id.h"
#include "base/units.h"

namespace rankwire {

using SwitchId = Id<struct SwitchTag>;  ///< of a topology's switches

/// A full-duplex line: rate (> 0) and one-way propagation (>= 0) of either direction.
struct Line {
  Bandwidth rate;
  Duration latency;
};

/// Joins two switches.
struct Cable {
  SwitchId a, b;
  Line line;
  uint32_t cost = 1;  ///< > 0: routes take the paths of the least total cost
  uint8_t order = 0;  ///< of the cables with which such paths begin, they take those of the lowest order
};

/// Joins a host's port to a switch.
struct Attachment {
  SwitchId at;
  Line line;
};

/// Ports are numbered: cable c has port 2c at its end `a` and port 2c + 1 at its end `b`, so the ports of a cable
/// differ in the last bit; attachment h has port 2 x cables + h.
struct Topology {
  std::vector<std::string> switches;  ///< names
  std::vector<Cable> cables;
  std::vector<Attachment> hosts;
  /// By switch, or empty: not 0 where no path leads through, as through an NPU with several NICs that does not forward.
  std::vector<uint8_t> no_transit;

  SwitchId add_switch(std::string name);
  bool is_transit(SwitchId at) const { return no_transit.empty() || no_transit[at.value] == 0; }
  uint32_t ports() const { return static_cast<uint32_t>(2 * cables.size() + hosts.size()); }
  uint32_t host_port(uint32_t host) const { return static_cast<uint32_t>(2 * cables.size()) + host; }
  bool is_host_port(uint32_t port) const { return port >= 2 * cables.size(); }
  SwitchId switch_of(uint32_t port) const;
  const Line& line_of(uint32_t port) const;
  /// "SWITCH.SWITCH", with "#n" where the two are joined by several cables, or "SWITCH.HOST".
  std::string port_name(uint32_t port, std::span<const std::string> host_names) const;
};

/// Throws Error(kInput) unless there is a switch and a host, names differ, every end is a switch of the topology, no
/// cable joins a switch with itself or costs nothing, rates are positive and latencies not negative, and every host
/// reaches every other.
void check(const Topology& topology);

/// One switch.
Topology star(std::span<const Line> hosts);

/// Every leaf is joined to every spine by `parallel` cables. Hosts stand behind the leaves in blocks of
/// ceil(hosts / leaves).
struct LeafSpine {
  uint32_t leaves = 2, spines = 2;
  uint32_t parallel = 1;
  Line uplink;
};
Topology leaf_spine(const LeafSpine& shape, std::span<const Line> hosts);

/// The three-tier tree of k-port switches (Al-Fares, Loukissas, Vahdat, SIGCOMM 2008): k pods of k/2 edge and k/2
/// aggregation switches, (k/2)^2 core switches, at most k^3/4 hosts, k/2 behind each edge switch, in order. `k` is
/// even.
struct FatTree {
  uint32_t k = 4;
  Line uplink;
};
Topology fat_tree(const FatTree& shape, std::span<const Line> hosts);

/// Hosts with one port a rail: port p is on rail p % rails of host p / rails. The same rail of `hosts_per_group` hosts
/// meets in one leaf; every leaf is joined to every spine.
struct RailOptimised {
  uint32_t rails = 2;
  uint32_t hosts_per_group = 2;
  uint32_t spines = 2;
  Line uplink;
};
Topology rail_optimised(const RailOptimised& shape, std::span<const Line> hosts);

}  // namespace rankwire

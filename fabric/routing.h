// Shortest paths through a topology, and a tree for what goes to everybody.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "fabric/topology.h"

namespace rankwire {

/// For every switch and every switch with hosts, all ports that begin a path with the fewest cables: the equal-cost
/// multi-path sets. Only the constructor takes memory.
class Routes {
 public:
  /// With all cables in use. Keeps no reference. Throws std::bad_alloc.
  explicit Routes(const Topology& topology);

  /// Anew, with the cables for which `cable_in_use` is not 0.
  void compute(std::span<const uint8_t> cable_in_use) noexcept;

  /// Port numbers (see Topology), ascending; none when there is no path, or `at` is `to`. `to` has hosts.
  std::span<const uint32_t> next_ports(SwitchId at, SwitchId to) const noexcept {
    const size_t set = size_t{at.value} * destinations_.size() + destination_of_[to.value];
    return {ports_.data() + sets_[at.value] + size_t{destination_of_[to.value]} * degree(at.value), counts_[set]};
  }

  /// Whether the cable is part of the spanning forest along which frames are flooded: breadth first from switch 0, so
  /// its paths are shortest from there.
  bool in_tree(uint32_t cable) const noexcept { return tree_[cable] != 0; }

 private:
  static constexpr uint32_t kFar = UINT32_MAX;

  uint32_t degree(uint32_t at) const noexcept { return first_[at + 1] - first_[at]; }
  std::span<const uint32_t> ports_of(uint32_t at) const noexcept { return {outgoing_.data() + first_[at], degree(at)}; }
  void measure_from(uint32_t root, std::span<const uint8_t> cable_in_use) noexcept;
  void collect(uint32_t destination, std::span<const uint8_t> cable_in_use) noexcept;
  void grow_tree(std::span<const uint8_t> cable_in_use) noexcept;

  uint32_t switches_;
  std::vector<uint32_t> destinations_;    ///< switches with hosts
  std::vector<uint32_t> destination_of_;  ///< by switch: its place among them
  std::vector<uint32_t> first_;           ///< by switch: where its ports begin in `outgoing_`
  std::vector<uint32_t> outgoing_;        ///< ports on cables, by switch
  std::vector<uint32_t> far_end_;         ///< by port on a cable: the switch that it leads to
  std::vector<size_t> sets_;              ///< by switch: where its sets begin in `ports_`
  std::vector<uint32_t> ports_;           ///< the sets, each with room for all cables of its switch
  std::vector<uint16_t> counts_;          ///< by switch and destination
  std::vector<uint8_t> tree_;             ///< by cable
  std::vector<uint32_t> distance_, open_;
};

}  // namespace rankwire

// Cheapest paths through a topology, and a tree for what goes to everybody.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "fabric/topology.h"

namespace rankwire {

/// For every switch and every switch with hosts, all ports that begin a path of the least cost, the fewest cables where
/// each costs 1, and of these the ports of the lowest order: the equal-cost multi-path sets. With the dimension of each
/// cable as its order that is dimension-order routing (Dally and Towles, Principles and Practices of Interconnection
/// Networks, 8.4.2), which in a ring leaves both ways to the opposite side. Only the constructor takes memory.
class Routes {
 public:
  /// With all cables in use. Keeps no reference. Throws std::bad_alloc.
  explicit Routes(const Topology& topology);

  /// Anew, with the cables for which `cable_in_use` is not 0.
  void compute(std::span<const uint8_t> cable_in_use) noexcept;

  /// Port numbers (see Topology), ascending; none when there is no path, or `at` is `to`. `to` has hosts.
  std::span<const uint32_t> next_ports(SwitchId at, SwitchId to) const noexcept {
    return next_ports(at, destination_of_[to.value]);
  }
  /// The same, for a switch of which `destination` was asked before.
  std::span<const uint32_t> next_ports(SwitchId at, uint32_t destination) const noexcept {
    const Set set = sets_[size_t{at.value} * destinations_.size() + destination];
    return {ports_.data() + set.first, set.count};
  }
  /// Fetches the memory that `next_ports` begins with.
  void prefetch(SwitchId at, uint32_t destination) const noexcept {
    __builtin_prefetch(&sets_[size_t{at.value} * destinations_.size() + destination]);
  }
  /// The place of a switch with hosts among those that have any.
  uint32_t destination(SwitchId to) const noexcept { return destination_of_[to.value]; }

  /// Whether the cable is part of the spanning forest along which frames are flooded: breadth first from switch 0, so
  /// its paths are shortest from there.
  bool in_tree(uint32_t cable) const noexcept { return tree_[cable] != 0; }

 private:
  static constexpr uint32_t kFar = UINT32_MAX;

  /// Of `ports_`.
  struct Set {
    uint32_t first = 0;
    uint32_t count = 0;
  };

  uint32_t degree(uint32_t at) const noexcept { return first_[at + 1] - first_[at]; }
  std::span<const uint32_t> ports_of(uint32_t at) const noexcept { return {outgoing_.data() + first_[at], degree(at)}; }
  void measure_from(uint32_t root, std::span<const uint8_t> cable_in_use) noexcept;
  void collect(uint32_t destination, std::span<const uint8_t> cable_in_use) noexcept;
  Set known_set(uint32_t at, uint32_t destination, Set set) const noexcept;
  void grow_tree(std::span<const uint8_t> cable_in_use) noexcept;

  uint32_t switches_;
  std::vector<uint32_t> destinations_;    ///< switches with hosts
  std::vector<uint32_t> destination_of_;  ///< by switch: its place among them
  std::vector<uint32_t> first_;           ///< by switch: where its ports begin in `outgoing_`
  std::vector<uint32_t> outgoing_;        ///< ports on cables, by switch
  std::vector<uint32_t> far_end_;         ///< by port on a cable: the switch that it leads to
  std::vector<Set> sets_;                 ///< by switch and destination
  std::vector<uint32_t> ports_;           ///< the different sets of all switches, with room for as many as there may be
  std::vector<uint8_t> tree_;             ///< by cable
  std::vector<uint32_t> cost_;            ///< by cable
  std::vector<uint8_t> order_;            ///< by cable
  std::vector<uint8_t> no_transit_;       ///< by switch
  std::vector<uint32_t> distance_, open_;
  std::vector<uint8_t> is_open_;  ///< by switch: whether it is in `open_`
};

}  // namespace rankwire

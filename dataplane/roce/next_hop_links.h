// Which queue pairs reach their peers by which next hops.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "dataplane/neighbours/neighbours.h"

namespace rankwire {

/// The queue pairs of each next hop, so that all of them hear when it is found, given up or has moved. Ports and queue
/// pairs are indexes, next hops the handles of the port's Neighbours. `follow` allocates; its transport's own, in that
/// thread.
class NextHopLinks {
 public:
  static constexpr uint32_t kNone = Neighbours::kNone;

  /// For transports whose queue pairs follow none.
  NextHopLinks() = default;
  NextHopLinks(uint32_t ports, uint32_t queue_pairs) : ports_(ports), links_(queue_pairs) {}

  /// The queue pair's packets go to `hop` from now on, which is told by the next `update`. Once for a queue pair.
  void follow(uint32_t port, uint32_t hop, uint32_t queue_pair) {
    Port& hops = ports_[port];
    if (hop >= hops.first.size()) hops.first.resize(hop + 1, kNone);
    uint32_t& first = hops.first[hop];
    if (first == kNone) hops.waiting.push_back(hop);
    hops.unresolved = kNone;
    links_[queue_pair] = {.hop = hop, .next = std::exchange(first, queue_pair)};
  }
  /// kNone: it follows none.
  uint32_t hop_of(uint32_t queue_pair) const noexcept { return links_[queue_pair].hop; }

  /// Calls `tell(queue_pair, next_hop)` for each queue pair of the port whose next hop was found, given up or moved
  /// since the last call. `neighbours` are the port's.
  template <class Tell>
  void update(uint32_t port, const Neighbours& neighbours, Tell tell) noexcept {
    Port& hops = ports_[port];
    if (hops.moved != neighbours.counters().moved) {
      hops.moved = neighbours.counters().moved;
      for (uint32_t hop = 0; hop < hops.first.size(); ++hop)
        if (neighbours[hop].state == NextHop::State::kReachable) tell_all(hops.first[hop], neighbours[hop], tell);
    }
    if (hops.unresolved == neighbours.unresolved()) return;
    hops.unresolved = neighbours.unresolved();
    std::erase_if(hops.waiting, [&](uint32_t hop) {
      if (neighbours[hop].state == NextHop::State::kIncomplete) return false;
      tell_all(hops.first[hop], neighbours[hop], tell);
      return true;
    });
  }
  /// Whether queue pairs of the port wait to be told of their next hop.
  bool waits(uint32_t port) const noexcept { return !ports_.empty() && !ports_[port].waiting.empty(); }

  /// Memory of what is kept of all queue pairs.
  size_t bytes() const noexcept { return links_.size() * sizeof(Link); }

 private:
  struct Port {
    std::vector<uint32_t> waiting;  // next hops that are neither found nor given up
    std::vector<uint32_t> first;    // by next hop: the first of its queue pairs
    uint32_t unresolved = kNone;    // Neighbours::unresolved as of the last look
    uint64_t moved = 0;             // NeighbourCounters::moved as of the last look
  };
  struct Link {
    uint32_t hop = kNone;
    uint32_t next = kNone;  // another queue pair of the same next hop
  };

  template <class Tell>
  void tell_all(uint32_t first, const NextHop& hop, Tell tell) const noexcept {
    for (uint32_t queue_pair = first; queue_pair != kNone; queue_pair = links_[queue_pair].next) tell(queue_pair, hop);
  }

  std::vector<Port> ports_;
  std::vector<Link> links_;  // by queue pair
};

}  // namespace rankwire

#include "fabric/routing.h"

#include <algorithm>

namespace rankwire {

Routes::Routes(const Topology& topology)
    : switches_(static_cast<uint32_t>(topology.switches.size())),
      destination_of_(switches_),
      first_(switches_ + 1),
      outgoing_(2 * topology.cables.size()),
      far_end_(2 * topology.cables.size()),
      tree_(topology.cables.size()),
      no_transit_(topology.no_transit),
      distance_(switches_),
      open_(switches_),
      is_open_(switches_) {
  no_transit_.resize(switches_);
  for (const Cable& cable : topology.cables) {
    cost_.push_back(cable.cost);
    order_.push_back(cable.order);
  }
  std::vector<uint8_t> has_hosts(switches_);
  for (const Attachment& host : topology.hosts) has_hosts[host.at.value] = 1;
  for (uint32_t s = 0; s < switches_; ++s) {
    destination_of_[s] = static_cast<uint32_t>(destinations_.size());
    if (has_hosts[s] != 0) destinations_.push_back(s);
  }
  for (uint32_t p = 0; p < far_end_.size(); ++p) {
    far_end_[p] = topology.switch_of(p ^ 1).value;
    ++first_[topology.switch_of(p).value + 1];
  }
  for (uint32_t s = 0; s < switches_; ++s) first_[s + 1] += first_[s];
  std::vector<uint32_t> filled(first_.begin(), first_.end() - 1);
  for (uint32_t p = 0; p < far_end_.size(); ++p) outgoing_[filled[topology.switch_of(p).value]++] = p;
  size_t room = 0;
  for (uint32_t s = 0; s < switches_; ++s) {
    room += destinations_.size() * degree(s);
  }
  ports_.reserve(room);
  sets_.resize(size_t{switches_} * destinations_.size());
  compute(std::vector<uint8_t>(topology.cables.size(), 1));
}

void Routes::compute(std::span<const uint8_t> cable_in_use) noexcept {
  ports_.clear();
  for (uint32_t d = 0; d < destinations_.size(); ++d) {
    measure_from(destinations_[d], cable_in_use);
    collect(d, cable_in_use);
  }
  grow_tree(cable_in_use);
}

/// The cost from every switch to `root`: breadth first, and a switch to which a cheaper way is found later is looked at
/// again (Bellman, Ford, Moore). With equal costs there is none.
void Routes::measure_from(uint32_t root, std::span<const uint8_t> cable_in_use) noexcept {
  std::fill(distance_.begin(), distance_.end(), kFar);
  distance_[root] = 0;
  open_[0] = root;
  // `open_` is a ring, in which a switch is once at most.
  uint32_t next = 0, waiting = 1;
  while (waiting > 0) {
    const uint32_t at = open_[next];
    next = next + 1 == switches_ ? 0 : next + 1;
    --waiting;
    is_open_[at] = 0;
    if (no_transit_[at] != 0 && at != root) continue;
    for (const uint32_t port : ports_of(at)) {
      const uint32_t other = far_end_[port], distance = distance_[at] + cost_[port / 2];
      if (cable_in_use[port / 2] == 0 || distance_[other] <= distance) continue;
      distance_[other] = distance;
      if (is_open_[other] != 0) continue;
      is_open_[other] = 1;
      const uint32_t place = next + waiting++;
      open_[place < switches_ ? place : place - switches_] = other;
    }
  }
}

void Routes::collect(uint32_t destination, std::span<const uint8_t> cable_in_use) noexcept {
  for (uint32_t s = 0; s < switches_; ++s) {
    const auto first = static_cast<uint32_t>(ports_.size());
    uint8_t lowest = UINT8_MAX;
    for (const uint32_t port : ports_of(s)) {
      const uint32_t other = far_end_[port], cable = port / 2, beyond = distance_[other];
      if (cable_in_use[cable] == 0 || beyond == kFar || beyond + cost_[cable] != distance_[s]) continue;
      if ((no_transit_[other] != 0 && beyond != 0) || order_[cable] > lowest) continue;
      if (order_[cable] < lowest) ports_.resize(first);
      lowest = order_[cable];
      ports_.push_back(port);
    }
    const Set set{first, static_cast<uint32_t>(ports_.size()) - first};
    const Set known = known_set(s, destination, set);
    if (known.first != first) ports_.resize(first);
    sets_[size_t{s} * destinations_.size() + destination] = known;
  }
}

/// The same set of an earlier destination, if there is one: a switch has few different ones, which stay in the caches.
Routes::Set Routes::known_set(uint32_t at, uint32_t destination, Set set) const noexcept {
  const uint32_t* const ports = ports_.data() + set.first;
  for (uint32_t d = destination; d-- > 0;) {
    const Set known = sets_[size_t{at} * destinations_.size() + d];
    if (known.count == set.count && std::equal(ports, ports + set.count, ports_.data() + known.first)) return known;
  }
  return set;
}

/// One tree for each part that hangs together.
void Routes::grow_tree(std::span<const uint8_t> cable_in_use) noexcept {
  std::fill(tree_.begin(), tree_.end(), uint8_t{0});
  std::fill(distance_.begin(), distance_.end(), kFar);
  for (uint32_t root = 0; root < switches_; ++root) {
    if (distance_[root] != kFar) continue;
    distance_[root] = 0;
    open_[0] = root;
    for (size_t next = 0, end = 1; next < end; ++next) {
      for (const uint32_t port : ports_of(open_[next])) {
        const uint32_t other = far_end_[port];
        if (cable_in_use[port / 2] == 0 || distance_[other] != kFar) continue;
        distance_[other] = 0;
        tree_[port / 2] = 1;
        open_[end++] = other;
      }
    }
  }
}

}  // namespace rankwire

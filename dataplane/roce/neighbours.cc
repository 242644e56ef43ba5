// RoceTransport's links: the way from a queue pair to its peer.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "dataplane/roce/after_step.h"

namespace rankwire {

std::string RoceTransport::resolve_next_hop(uint32_t queue_pair) {
  QueuePairEnd& end = ends_[queue_pair];
  Port& port = port_of(end);
  NextHopLink& link = hops_[queue_pair];
  link.hop = port.neighbours.resolve(nic_of(end), peer_nic_of(end).ip);
  if (link.hop == Neighbours::kNone) {
    end.link = LinkState::kUnreachable;
    requesters_[queue_pair].fail(*pool_, Failure::kUnreachable, Failure::kUnreachable);
    return fmt::format("{} is not on the subnet of {}/{}, which has no gateway", to_string(peer_nic_of(end).ip),
                       to_string(nic_of(end).ip), nic_of(end).prefix_length);
  }
  end.link = LinkState::kResolving;
  if (link.hop >= port.first_on_hop.size()) port.first_on_hop.resize(link.hop + 1, kNone);
  uint32_t& first = port.first_on_hop[link.hop];
  if (first == kNone) port.resolving.push_back(link.hop);
  port.unresolved = kNone;
  link.next = std::exchange(first, queue_pair);
  return {};
}

// Links open, or fail, when their next hops do; an open one follows a next hop that has moved.
void RoceTransport::follow_next_hops() noexcept {
  for (const auto& port : ports_) {
    if (port->moved != port->neighbours.counters().moved) {
      port->moved = port->neighbours.counters().moved;
      for (uint32_t hop = 0; hop < port->first_on_hop.size(); ++hop)
        if (port->neighbours[hop].state == NextHop::State::kReachable) update_links(*port, hop);
    }
    if (port->unresolved == port->neighbours.unresolved()) continue;
    port->unresolved = port->neighbours.unresolved();
    std::erase_if(port->resolving, [&](uint32_t hop) {
      if (port->neighbours[hop].state == NextHop::State::kIncomplete) return false;
      update_links(*port, hop);
      return true;
    });
  }
}

void RoceTransport::update_links(Port& port, uint32_t hop) noexcept {
  const NextHop& next = port.neighbours[hop];
  for (uint32_t i = port.first_on_hop[hop]; i != kNone; i = hops_[i].next) {
    const Time deadline = requesters_[i].deadline();
    if (next.state == NextHop::State::kReachable) {
      // The ICRC does not cover the Ethernet header.
      std::memcpy(templates_[i].header(), &next.mac, sizeof next.mac);
      ends_[i].link = LinkState::kOpen;
      owe_answer(i);
    } else {
      ends_[i].link = LinkState::kUnreachable;
      requesters_[i].fail(*pool_, Failure::kUnreachable, Failure::kUnreachable);
    }
    after_step(i, last_now_, deadline);
  }
}

bool RoceTransport::ready() const noexcept {
  return std::ranges::all_of(ports_,
                             [](const auto& port) { return port->neighbours.ready() && port->resolving.empty(); });
}

std::vector<ConnectFailure> RoceTransport::not_ready() const {
  std::vector<ConnectFailure> failures;
  for (uint32_t i = 0; i < ends_.size(); ++i) {
    const QueuePairEnd& end = ends_[i];
    if (end.link != LinkState::kResolving && end.link != LinkState::kUnreachable) continue;
    if (!failures.empty() && failures.back().connection == end.connection) continue;
    failures.push_back({end.connection, next_hop_state(i)});
  }
  return failures;
}

std::string RoceTransport::next_hop_state(uint32_t queue_pair) const {
  const QueuePairEnd& end = ends_[queue_pair];
  const uint32_t next = hops_[queue_pair].hop;
  const Nic& nic = nic_of(end);
  const IpAddress peer = peer_nic_of(end).ip;
  if (next == Neighbours::kNone) return fmt::format("no way from {} to {}", to_string(nic.ip), to_string(peer));
  const NextHop& hop = port_of(end).neighbours[next];
  std::string who = to_string(hop.address);
  if (hop.address != peer) who += fmt::format(" (gateway of {})", to_string(nic.ip));
  const char* const protocol = hop.address.is_ipv4() ? "ARP" : "neighbour solicitation";
  if (hop.state == NextHop::State::kIncomplete)
    return fmt::format("{}: no answer to {} yet, {} requests", who, protocol, hop.requests);
  return fmt::format("{}: no answer to {} in {:g} s, {} requests", who, protocol,
                     static_cast<double>(options_.resolve_deadline.ps) / 1e12, hop.requests);
}

}  // namespace rankwire

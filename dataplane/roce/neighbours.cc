// RoceTransport's links: the way from a queue pair to its peer.
#include <fmt/format.h>

#include <cstring>

#include "dataplane/roce/after_step.h"

namespace rankwire {

std::string RoceTransport::resolve_next_hop(uint32_t queue_pair) {
  QueuePairEnd& end = ends_[queue_pair];
  const uint32_t hop = port_of(end).neighbours.resolve(nic_of(end), peer_nic_of(end).ip);
  if (hop == Neighbours::kNone) {
    end.link = LinkState::kUnreachable;
    requesters_[queue_pair].fail(*pool_, Failure::kUnreachable, Failure::kUnreachable);
    return fmt::format("{} is not on the subnet of {}/{}, which has no gateway", to_string(peer_nic_of(end).ip),
                       to_string(nic_of(end).ip), nic_of(end).prefix_length);
  }
  end.link = LinkState::kResolving;
  hops_.follow(port_of_lane_[end.lane], hop, queue_pair);
  return {};
}

// Links open, or fail, when their next hops do; an open one follows a next hop that has moved.
void RoceTransport::follow_next_hops() noexcept {
  for (uint32_t port = 0; port < ports_.size(); ++port)
    hops_.update(port, ports_[port]->neighbours,
                 [this](uint32_t queue_pair, const NextHop& hop) { update_link(queue_pair, hop); });
}

void RoceTransport::update_link(uint32_t queue_pair, const NextHop& hop) noexcept {
  const Time deadline = requesters_[queue_pair].deadline();
  if (hop.state == NextHop::State::kReachable) {
    // The ICRC does not cover the Ethernet header.
    std::memcpy(templates_[queue_pair].header(), &hop.mac, sizeof hop.mac);
    ends_[queue_pair].link = LinkState::kOpen;
    owe_answer(queue_pair);
  } else {
    ends_[queue_pair].link = LinkState::kUnreachable;
    requesters_[queue_pair].fail(*pool_, Failure::kUnreachable, Failure::kUnreachable);
  }
  after_step(queue_pair, last_now_, deadline);
}

bool RoceTransport::ready() const noexcept {
  for (uint32_t port = 0; port < ports_.size(); ++port)
    if (!ports_[port]->neighbours.ready() || hops_.waits(port)) return false;
  return true;
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
  const uint32_t next = hops_.hop_of(queue_pair);
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

#include "dataplane/roce/link_keeper.h"

#include <fmt/format.h>

#include <cstring>

namespace rankwire {

std::string LinkKeeper::resolve(uint32_t queue_pair) {
  QueuePairEnd& end = pairs_.ends[queue_pair];
  const uint32_t hop = lanes_.port_of(end.lane).neighbours.resolve(pairs_.nic_of(end), pairs_.peer_nic_of(end).ip);
  if (hop == Neighbours::kNone) {
    end.link = LinkState::kUnreachable;
    pairs_.requesters[queue_pair].fail(outbound_.pool, Failure::kUnreachable, Failure::kUnreachable);
    return fmt::format("{} is not on the subnet of {}/{}, which has no gateway", to_string(pairs_.peer_nic_of(end).ip),
                       to_string(pairs_.nic_of(end).ip), pairs_.nic_of(end).prefix_length);
  }
  end.link = LinkState::kResolving;
  hops_.follow(lanes_.port_index(end.lane), hop, queue_pair);
  return {};
}

void LinkKeeper::follow(Time now) noexcept {
  for (uint32_t port = 0; port < lanes_.ports(); ++port)
    hops_.update(port, lanes_.port(port).neighbours,
                 [&](uint32_t queue_pair, const NextHop& hop) { update(queue_pair, hop, now); });
}

void LinkKeeper::update(uint32_t queue_pair, const NextHop& hop, Time now) noexcept {
  const Time deadline = pairs_.requesters[queue_pair].deadline();
  if (hop.state == NextHop::State::kReachable) {
    // The ICRC does not cover the Ethernet header.
    std::memcpy(pairs_.templates[queue_pair].header(), &hop.mac, sizeof hop.mac);
    pairs_.ends[queue_pair].link = LinkState::kOpen;
    order_.owe_answer(queue_pair, now);
  } else {
    pairs_.ends[queue_pair].link = LinkState::kUnreachable;
    pairs_.requesters[queue_pair].fail(outbound_.pool, Failure::kUnreachable, Failure::kUnreachable);
  }
  steps_.after(queue_pair, now, deadline);
}

bool LinkKeeper::ready() const noexcept {
  for (uint32_t port = 0; port < lanes_.ports(); ++port)
    if (!lanes_.port(port).neighbours.ready() || hops_.waits(port)) return false;
  return true;
}

std::vector<ConnectFailure> LinkKeeper::not_ready() const {
  std::vector<ConnectFailure> failures;
  for (uint32_t i = 0; i < pairs_.size(); ++i) {
    const QueuePairEnd& end = pairs_.ends[i];
    if (end.link != LinkState::kResolving && end.link != LinkState::kUnreachable) continue;
    if (!failures.empty() && failures.back().connection == end.connection) continue;
    failures.push_back({end.connection, state_of(i)});
  }
  return failures;
}

std::string LinkKeeper::state_of(uint32_t queue_pair) const {
  const QueuePairEnd& end = pairs_.ends[queue_pair];
  const uint32_t next = hops_.hop_of(queue_pair);
  const Nic& nic = pairs_.nic_of(end);
  const IpAddress peer = pairs_.peer_nic_of(end).ip;
  if (next == Neighbours::kNone) return fmt::format("no way from {} to {}", to_string(nic.ip), to_string(peer));
  const NextHop& hop = lanes_.port_of(end.lane).neighbours[next];
  std::string who = to_string(hop.address);
  if (hop.address != peer) who += fmt::format(" (gateway of {})", to_string(nic.ip));
  const char* const protocol = hop.address.is_ipv4() ? "ARP" : "neighbour solicitation";
  if (hop.state == NextHop::State::kIncomplete)
    return fmt::format("{}: no answer to {} yet, {} requests", who, protocol, hop.requests);
  return fmt::format("{}: no answer to {} in {:g} s, {} requests", who, protocol,
                     static_cast<double>(options_.resolve_deadline.ps) / 1e12, hop.requests);
}

}  // namespace rankwire

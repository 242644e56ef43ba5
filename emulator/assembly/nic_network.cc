#include "emulator/assembly/nic_network.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace rankwire {
namespace {

/// ACK extended transport header (IBTA vol. 1, 9.5), all that an acknowledgement has beside what every frame has.
constexpr Bytes kAeth(4);

PortId port_of(const Setup& setup, NicId nic) {
  return setup.placement.nics[nic.value].port;
}

/// By port: whether several ranks send on the wire there, or several channels of one.
std::vector<bool> are_shared(const Setup& setup) {
  std::vector<std::vector<std::pair<RankId, uint8_t>>> senders(setup.config.ports.size());
  for (const Connection& c : setup.plan.transport.connections) {
    if (c.path == Path::kLocal || c.messages_per_iteration == 0 || setup.background.has(c.id)) continue;
    senders[port_of(setup, c.source_nic).value].emplace_back(c.source, c.channel);
  }
  std::vector<bool> shared;
  for (const auto& of_port : senders)
    shared.push_back(std::ranges::any_of(of_port, [&](const auto& sender) { return sender != of_port.front(); }));
  return shared;
}

/// On the line, of all queue pairs of a connection.
Bytes turn_of(const Framing& framing, uint32_t packets) {
  const int64_t frames = (framing.payload + framing.overhead_per_frame).count * packets;
  return Bytes((frames + framing.overhead_per_message.count) * framing.parts);
}

/// Rounded up.
Bytes sent_during(Duration time, Bandwidth rate) {
  constexpr __int128 kPicosecondsPerByte = 8'000'000'000'000;  // at 1 bit/s
  return Bytes(static_cast<int64_t>((static_cast<__int128>(time.ps) * rate.bits_per_second + kPicosecondsPerByte - 1) /
                                    kPicosecondsPerByte));
}

void add_turns(const Setup& setup, Network& network) {
  const std::vector<bool> shared = are_shared(setup);
  const std::vector<Connection>& connections = setup.plan.transport.connections;
  const auto give_turns = [&](uint32_t connection, const std::vector<LinkUse>& links) {
    const Connection& c = connections[connection];
    if (links.empty() || c.path == Path::kLocal || !shared[port_of(setup, c.source_nic).value]) return;
    const Route& route = network.routes[connection];
    Link& port = network.links[links.front().link.value];
    port.turn = std::max({port.turn, turn_of(route.framing, setup.config.transport.turn),
                          sent_during(forwarding_time(network, route, c.largest_message), port.bandwidth)});
  };
  for (uint32_t c = 0; c < network.routes.size(); ++c) give_turns(c, network.routes[c].links);
  for (const Reroute& reroute : network.reroutes) give_turns(reroute.connection, reroute.links);
}

void add_acknowledgements(const Setup& setup, Network& network) {
  const std::vector<Connection>& connections = setup.plan.transport.connections;
  std::vector<LinkId> out_of(setup.config.ports.size(), LinkId::invalid());  // by port
  const auto is_on_line = [&](const Connection& c) {
    return c.path != Path::kLocal && !network.routes[c.id.value].weightless;
  };
  for (const Connection& c : connections)
    if (is_on_line(c)) out_of[port_of(setup, c.source_nic).value] = network.routes[c.id.value].links.front().link;
  network.acknowledgements.resize(network.routes.size());
  for (const Connection& c : connections) {
    if (!is_on_line(c)) continue;
    network.acknowledgements[c.id.value] = {.link = out_of[port_of(setup, c.destination_nic).value],
                                            .frame = network.routes[c.id.value].framing.overhead_per_frame + kAeth,
                                            .every = *setup.config.transport.ack_every};
  }
}

}  // namespace

bool has_shared_ports(const Setup& setup) {
  return std::ranges::any_of(are_shared(setup), std::identity());
}

Network network_with(Nics nics, const Setup& setup, Network network) {
  if (nics == Nics::kTurns) add_turns(setup, network);
  if (nics != Nics::kIdeal && setup.config.transport.verb != VerbName::kRead) add_acknowledgements(setup, network);
  return network;
}

}  // namespace rankwire

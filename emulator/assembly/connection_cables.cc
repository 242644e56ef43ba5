#include "emulator/assembly/connection_cables.h"

#include <optional>
#include <string>
#include <utility>

#include "emulator/assembly/reference.h"

namespace rankwire {
namespace {

/// The first and the last cable of a route, whose first link is the source's and whose last one the destination's. Both
/// are the same where only one is between them; empty names where there is none. Absent where a hop has several.
std::optional<std::pair<std::string, std::string>> ends_of(const Network& network, const Route& route) {
  for (size_t i = 0; i < route.links.size(); ++i)
    if (route.links[i].hop != i) return std::nullopt;
  if (route.links.size() < 3) return std::pair<std::string, std::string>();
  const auto name = [&](const LinkUse& use) { return network.links[use.link.value].name; };
  return std::pair(name(route.links[1]), name(route.links[route.links.size() - 2]));
}

}  // namespace

std::vector<ConnectionCables> connection_cables(const Setup& setup) {
  const std::vector<Connection>& connections = setup.plan.transport.connections;
  if (!setup.config.fabric || connections.size() > kMostConnectionsWithCables) return {};
  const Network there = reference_network(setup), back = acknowledgement_network(setup);
  if (!there.reroutes.empty()) return {};
  std::vector<ConnectionCables> cables;
  for (const Connection& connection : connections) {
    if (connection.path == Path::kLocal) continue;
    auto out = ends_of(there, there.routes[connection.id.value]), in = ends_of(back, back.routes[connection.id.value]);
    if (!out || !in) return {};
    if (out->first.empty()) continue;
    cables.push_back({.connection = connection.id,
                      .out = std::move(out->first),
                      .into = std::move(out->second),
                      .back_out = std::move(in->first),
                      .back_into = std::move(in->second)});
  }
  return cables;
}

}  // namespace rankwire

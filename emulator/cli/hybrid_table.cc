#include "emulator/cli/hybrid_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace rankwire {
namespace {

/// What goes one way in an iteration.
struct WayShare {
  uint64_t messages = 0;
  Bytes bytes;

  void add(const Connection& c) {
    messages += c.messages_per_iteration;
    if (!c.control) bytes += c.bytes_per_iteration;
  }
  nlohmann::ordered_json json() const {
    return {{"messages_per_iteration", messages}, {"bytes_per_iteration", bytes.count}};
  }
};

void print_way(const char* what, const nlohmann::ordered_json& share) {
  fmt::print("  {:<58} {:>10} {:>18}\n", what, share["messages_per_iteration"].get<uint64_t>(),
             share["bytes_per_iteration"].get<int64_t>());
}

/// "0-3, 8".
std::string number_ranges(const std::vector<uint32_t>& ascending) {
  std::vector<std::string> parts;
  for (size_t i = 0; i < ascending.size();) {
    size_t end = i + 1;
    while (end < ascending.size() && ascending[end] == ascending[end - 1] + 1) ++end;
    parts.push_back(end - i == 1 ? fmt::to_string(ascending[i])
                                 : fmt::format("{}-{}", ascending[i], ascending[end - 1]));
    i = end;
  }
  return parts.empty() ? "none" : fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace

nlohmann::ordered_json checked_hybrid(const Setup& setup) {
  if (!setup.config.hybrid) return nullptr;
  const Placement& placement = setup.placement;
  std::vector<uint32_t> ranks;
  for (uint32_t rank = 0; rank < setup.workload.ranks.size(); ++rank)
    if (placement.is_wired(RankId(rank))) ranks.push_back(rank);
  std::vector<std::string> ports;
  for (const PortConfig& port : setup.config.ports)
    if (!port.modelled) ports.push_back(port.name);
  WayShare wire, to_modelled, to_wired, modelled, local;
  for (const Connection& c : setup.plan.transport.connections) {
    const bool from_wired = placement.is_wired(c.source), at_wired = placement.is_wired(c.destination);
    WayShare& share = c.path == Path::kWire    ? wire
                      : c.path == Path::kLocal ? local
                      : from_wired             ? to_modelled
                      : at_wired               ? to_wired
                                               : modelled;
    share.add(c);
  }
  std::vector<uint32_t> hosts = setup.config.hybrid->wired;
  std::ranges::sort(hosts);
  return {{"hosts", hosts},
          {"ranks", ranks},
          {"ports", ports},
          {"modelled_ranks", setup.workload.ranks.size() - ranks.size()},
          {"wire", wire.json()},
          {"wired_to_modelled", to_modelled.json()},
          {"modelled_to_wired", to_wired.json()},
          {"modelled", modelled.json()},
          {"local", local.json()}};
}

void print_hybrid(const nlohmann::ordered_json& hybrid) {
  if (hybrid.is_null()) return;
  fmt::print("\non wires: hosts {}, ranks {}, ports {}; {} ranks are modelled; an iteration:\n",
             number_ranges(hybrid["hosts"].get<std::vector<uint32_t>>()),
             number_ranges(hybrid["ranks"].get<std::vector<uint32_t>>()),
             fmt::join(hybrid["ports"].get<std::vector<std::string>>(), ", "),
             hybrid["modelled_ranks"].get<uint64_t>());
  fmt::print("  {:<58} {:>10} {:>18}\n", "", "messages", "bytes");
  print_way("on wires", hybrid["wire"]);
  print_way("modelled, from ranks on wires to others", hybrid["wired_to_modelled"]);
  print_way("modelled, from others to ranks on wires", hybrid["modelled_to_wired"]);
  print_way("modelled, between others", hybrid["modelled"]);
  print_way("local", hybrid["local"]);
  fmt::print(
      "what is modelled meets no queue, loss or pause: the error is what the run differs by from the twin of the whole "
      "(simulation.fidelity: [flow, twin])\n");
}

}  // namespace rankwire

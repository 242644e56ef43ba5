#include "emulator/assembly/what_if.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "base/name_pattern.h"
#include "base/on_threads.h"
#include "emulator/assembly/ensemble.h"
#include "emulator/assembly/jobs_alone.h"
#include "emulator/assembly/reference.h"
#include "emulator/assembly/unrecorded_run.h"

namespace rankwire {
namespace {

class NoComputation final : public NodeVariation {
 public:
  /// `own` (null: none), which says when ranks begin, outlives it.
  explicit NoComputation(const NodeVariation* own) : own_(own) {}
  VariedTime vary(RankId, uint32_t, uint32_t, Duration, Time start) const noexcept override {
    return {.end = start, .jitter = {}, .noise = {}, .slowed = {}};
  }
  Duration late(RankId rank, uint32_t iteration) const noexcept override {
    return own_ != nullptr ? own_->late(rank, iteration) : Duration();
  }

 private:
  const NodeVariation* const own_;
};

/// Of a link that nothing is drawn from.
constexpr Bandwidth kTerabit(1'000'000'000'000);

struct Freed {
  WhatIfRow what;                                                  // without a completion time
  std::function<bool(const Connection&)> takes_no_time = nullptr;  // null: nothing that is sent
  std::optional<Network> network = {};                             // instead of the reference's
  bool computation_takes_no_time = false;
  bool without_background = false;
};

/// The largest first, `most` at most.
template <class Key>
std::vector<Key> largest(const std::map<Key, int64_t>& bytes, size_t most) {
  std::vector<std::pair<int64_t, Key>> sorted;
  for (const auto& [key, count] : bytes) sorted.emplace_back(-count, key);
  std::ranges::sort(sorted);
  if (sorted.size() > most) sorted.resize(most);
  std::vector<Key> keys;
  for (auto& [count, key] : sorted) keys.push_back(std::move(key));
  return keys;
}

/// Absent for SENDs and RECVs.
std::optional<std::string> kind_of_group(const Setup& setup, const Connection& connection) {
  if (!connection.group.valid()) return std::nullopt;
  std::string kind;
  append_pattern(kind, setup.workload.groups[connection.group.value].name);
  return kind;
}

bool is_at(const Setup& setup, const Connection& connection, PortId port) {
  const std::vector<Nic>& nics = setup.placement.nics;
  return connection.path != Path::kLocal &&
         (nics[connection.source_nic.value].port == port || nics[connection.destination_nic.value].port == port);
}

std::vector<Freed> things_to_free(const Setup& setup) {
  bool has_local = false;
  std::map<std::optional<std::string>, int64_t> of_group;
  std::map<PortId, int64_t> of_port;
  for (const Connection& connection : setup.plan.transport.connections) {
    const int64_t bytes = connection.bytes_per_iteration.count;
    has_local |= connection.path == Path::kLocal;
    of_group[kind_of_group(setup, connection)] += bytes;
    if (connection.path == Path::kLocal) continue;
    of_port[setup.placement.nics[connection.source_nic.value].port] += bytes;
    of_port[setup.placement.nics[connection.destination_nic.value].port] += bytes;
  }
  std::vector<Freed> things;
  things.push_back({.what = {.kind = "compute", .name = {}, .completion = {}}, .computation_takes_no_time = true});
  things.push_back({.what = {.kind = "wires", .name = {}, .completion = {}},
                    .takes_no_time = [](const Connection& c) { return c.path != Path::kLocal; }});
  if (has_local)
    things.push_back({.what = {.kind = "local", .name = {}, .completion = {}},
                      .takes_no_time = [](const Connection& c) { return c.path == Path::kLocal; }});
  for (const std::optional<std::string>& kind : largest(of_group, kMostFreedGroups))
    things.push_back(
        {.what = {.kind = kind ? "group" : "point_to_point", .name = kind.value_or(""), .completion = {}},
         .takes_no_time = [&setup, kind](const Connection& c) { return kind_of_group(setup, c) == kind; }});
  for (const PortId port : largest(of_port, kMostFreedPorts))
    things.push_back({.what = {.kind = "port", .name = setup.config.ports[port.value].name, .completion = {}},
                      .takes_no_time = [&setup, port](const Connection& c) { return is_at(setup, c, port); }});
  return things;
}

/// Whether flows have other paths in one than in the other.
bool differ_in_paths(const Network& one, const Network& other) {
  for (size_t i = 0; i < one.routes.size(); ++i)
    if (one.routes[i].links.size() != other.routes[i].links.size()) return true;
  return false;
}

std::vector<Freed> disturbances(const Setup& setup, const Network& reference) {
  std::vector<Freed> things;
  if (setup.config.fabric)
    if (Network even = even_network(setup); differ_in_paths(even, reference))
      things.push_back({.what = {.kind = "collisions", .name = {}, .completion = {}}, .network = std::move(even)});
  if (has_failures(setup.config))
    things.push_back({.what = {.kind = "failures", .name = {}, .completion = {}}, .network = unharmed_network(setup)});
  if (!setup.background.empty())
    things.push_back({.what = {.kind = "background", .name = {}, .completion = {}}, .without_background = true});
  return things;
}

/// What the connections send goes over a link of its own and takes no time there.
Network without(const Setup& setup, Network network, const std::function<bool(const Connection&)>& takes_no_time) {
  const std::vector<Connection>& connections = setup.plan.transport.connections;
  const LinkId free(static_cast<uint32_t>(network.links.size()));
  network.links.push_back({.name = "free", .bandwidth = kTerabit, .latency = {}, .forwarding = {}});
  std::vector<bool> is_free(network.routes.size());
  for (size_t i = 0; i < network.routes.size(); ++i) {
    const size_t connection = network.connections ? (*network.connections)[i].value : i;
    is_free[i] = takes_no_time(connections[connection]);
    if (is_free[i]) network.routes[i] = {.links = {{.link = free}}, .framing = {}, .weightless = true};
  }
  std::erase_if(network.reroutes, [&](const Reroute& reroute) { return is_free[reroute.connection]; });
  return network;
}

}  // namespace

WhatIf run_what_if(const Setup& setup, WhatIfScope scope, const FlowVariant& variant, uint32_t threads,
                   const RunControl& control) {
  const Network network = reference_network(setup);
  const uint64_t most_work = scope == WhatIfScope::kAll ? UINT64_MAX : kWhatIfWork;
  if (least_member_work(setup) > most_work) return {};
  std::vector<Freed> things = disturbances(setup, network);
  if (scope == WhatIfScope::kAll) {
    std::vector<Freed> all = things_to_free(setup);
    std::ranges::move(things, std::back_inserter(all));
    things = std::move(all);
  }
  const uint64_t operations = planned_operations(setup.config, setup.workload);
  const NoComputation no_computation(variant.variation);
  std::vector<std::optional<Duration>> completions(things.size());
  WhatIf result;
  result.error = on_threads(threads, things.size(), [&](size_t i) {
    if (control.interrupted.load()) return;
    const Freed& freed = things[i];
    const auto ended = run_unrecorded(
        setup,
        {.label = fmt::format("without {}{}{}", freed.what.kind, freed.what.name.empty() ? "" : " ", freed.what.name),
         .operations = operations,
         .without_background = freed.without_background,
         .variation = freed.computation_takes_no_time ? &no_computation : variant.variation,
         .most_work = most_work},
        variant.network_of(setup, freed.network         ? *freed.network
                                  : freed.takes_no_time ? without(setup, network, freed.takes_no_time)
                                                        : network),
        control);
    if (ended) completions[i] = ended->completion;
  });
  for (size_t i = 0; i < things.size(); ++i) {
    if (!completions[i]) continue;
    result.rows.push_back(things[i].what);
    result.rows.back().completion = *completions[i];
  }
  return result;
}

}  // namespace rankwire

#include "emulator/cli/worker_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/affinity.h"
#include "emulator/assembly/workers.h"

namespace rankwire {
namespace {

/// Of an iteration, by worker: posts to others' ports, and events about others' ranks.
std::vector<uint64_t> handed_over(const Setup& setup, const WorkerShares& shares) {
  std::vector<uint64_t> items(shares.workers());
  for (const Connection& c : setup.plan.transport.connections) {
    const WorkerRoute& route = shares.route(c.id);
    // Nothing of other machines, which have the ranks behind their ports.
    if (route.source != route.sender) {
      items[route.source] += c.messages_per_iteration;
      items[route.sender] += c.messages_per_iteration;
    }
    if (route.receiver != route.destination) items[route.receiver] += c.messages_per_iteration;
  }
  return items;
}

std::vector<uint64_t> queue_pairs(const Setup& setup, const WorkerShares& shares) {
  std::vector<uint64_t> ends(shares.parts());
  for (const Connection& c : setup.plan.transport.connections) {
    if (c.path != Path::kWire || c.reverse_of.valid()) continue;
    ends[shares.route(c.id).sender] += setup.config.transport.queue_pairs;
    ends[shares.route(c.id).receiver] += setup.config.transport.queue_pairs;
  }
  return ends;
}

}  // namespace

nlohmann::ordered_json workers_json(const Setup& setup) {
  const WorkerThreads threads = worker_threads(setup.config, one_of_each_core(allowed_cpus()), setup.machine);
  const WorkerShares shares(setup, threads.count);
  const std::vector<uint64_t> items = handed_over(setup, shares), ends = queue_pairs(setup, shares);
  nlohmann::ordered_json workers = nlohmann::ordered_json::array();
  for (uint32_t worker = 0; worker < shares.workers(); ++worker) {
    nlohmann::ordered_json ports = nlohmann::ordered_json::array(), cpu;
    for (uint32_t p = 0; p < setup.config.ports.size(); ++p)
      if (shares.has_part(worker, PortId(p))) ports.push_back(setup.config.ports[p].name);
    if (!threads.cpus.empty()) cpu = threads.cpus[worker];
    // Ends of the background stand behind the ranks.
    const auto first = shares.ranks(worker).begin();
    const auto ranks = std::count(first, first + static_cast<ptrdiff_t>(setup.workload.ranks.size()), true);
    workers.push_back({{"worker", worker},
                       {"cpu", cpu},
                       {"ports", ports},
                       {"ranks", ranks},
                       {"queue_pairs", ends[worker]},
                       {"handed_over_per_iteration", items[worker]}});
  }
  return workers;
}

void print_workers(const nlohmann::ordered_json& workers) {
  if (workers.size() < 2) return;
  fmt::print("\n{:<8} {:>4} {:>6} {:>7} {:>12}  {}\n", "worker", "cpu", "ranks", "QPs", "handed over", "ports");
  for (const auto& w : workers) {
    const auto ports = w["ports"].get<std::vector<std::string>>();
    fmt::print("{:<8} {:>4} {:>6} {:>7} {:>12}  {}\n", w["worker"].get<uint32_t>(),
               w["cpu"].is_null() ? "any" : fmt::to_string(w["cpu"].get<uint32_t>()), w["ranks"].get<uint64_t>(),
               w["queue_pairs"].get<uint64_t>(), w["handed_over_per_iteration"].get<uint64_t>(), fmt::join(ports, " "));
  }
}

}  // namespace rankwire

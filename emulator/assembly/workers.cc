#include "emulator/assembly/workers.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "base/affinity.h"
#include "base/error.h"

namespace rankwire {
namespace {

/// Of the recorder and the system.
constexpr size_t kCoresForOthers = 2;

/// For each rank the lowest one that it shares links of the interconnect with.
std::vector<uint32_t> local_domains(const TransportPlan& plan) {
  std::vector<uint32_t> lowest(plan.ranks);
  std::iota(lowest.begin(), lowest.end(), 0u);
  const auto root = [&](uint32_t rank) {
    while (lowest[rank] != rank) rank = lowest[rank] = lowest[lowest[rank]];
    return rank;
  };
  for (const Connection& c : plan.connections) {
    if (c.path != Path::kLocal) continue;
    const uint32_t a = root(c.source.value), b = root(c.destination.value);
    lowest[std::max(a, b)] = std::min(a, b);
  }
  for (uint32_t rank = 0; rank < plan.ranks; ++rank) lowest[rank] = root(rank);
  return lowest;
}

uint32_t automatic_count(const RunConfig& config, size_t cores) {
  if (config.ports.front().embedded()) return 1;
  const size_t spare = cores > kCoresForOthers ? cores - kCoresForOthers : 1;
  return static_cast<uint32_t>(std::min({spare, config.ports.size(), size_t{kMostWorkers}}));
}

}  // namespace

WorkerThreads worker_threads(const RunConfig& config, std::span<const uint32_t> cores) {
  const WorkersConfig& workers = config.workers;
  if (!workers.cores.empty()) return {static_cast<uint32_t>(workers.cores.size()), workers.cores};
  WorkerThreads threads{.count = workers.count ? *workers.count : automatic_count(config, cores.size()), .cpus = {}};
  if (threads.count == 1 && config.run.cpu) threads.cpus = {*config.run.cpu};
  if (threads.count > 1 && threads.count < cores.size()) {
    const auto last = cores.last(threads.count);
    threads.cpus.assign(last.begin(), last.end());
  }
  return threads;
}

uint32_t run_threads(const SimulationConfig& simulation) {
  if (simulation.threads) return *simulation.threads;
  const auto cores = static_cast<uint32_t>(one_of_each_core(allowed_cpus()).size());
  return std::clamp(cores, 1u, kMostRunThreads);
}

std::optional<std::string> core_finding(const RunConfig& config, const WorkerThreads& threads, size_t cores) {
  const bool own_switch = config.ports.front().embedded() && config.embedded_switch.own_core;
  const size_t polling = threads.count + own_switch;
  if (threads.count == 1 || polling <= cores) return std::nullopt;
  return fmt::format(
      "{} threads poll without a break ({} workers{}), and this process may use {} cores: they will wait for each "
      "other",
      polling, threads.count, own_switch ? " and the switch" : "", cores);
}

void require_cpus(const RunConfig& config) {
  const auto require = [&](const char* key, uint32_t cpu) {
    try {
      const PinnedThread tried(cpu);
    } catch (const Error&) {
      fail_key(config.places, key, "{} is not a CPU that this process may use, such as {}", cpu,
               fmt::join(allowed_cpus(), ", "));
    }
  };
  if (config.run.cpu) require("run.cpu", *config.run.cpu);
  for (const uint32_t cpu : config.workers.cores) require("workers.cores", cpu);
}

WorkerShares::WorkerShares(const Setup& setup, uint32_t workers) : ranks_(workers) {
  const TransportPlan& plan = setup.plan.transport;
  const size_t ports = setup.config.ports.size();
  for (size_t port = 0; port < ports; ++port) of_port_.push_back(static_cast<uint16_t>(port * workers / ports));
  const auto of_nic = [&](NicId nic) { return of_port_[plan.nics[nic.value].port.value]; };
  for (const NicId nic : setup.placement.nic) of_rank_.push_back(of_nic(nic));
  for (uint32_t worker = 0; worker < workers; ++worker) {
    for (const uint16_t of_rank : of_rank_) ranks_[worker].push_back(of_rank == worker);
  }
  const std::vector<uint32_t> domains = local_domains(plan);
  for (const Connection& c : plan.connections) {
    WorkerRoute& route = routes_.emplace_back();
    route.source = of_rank_[c.source.value];
    route.destination = of_rank_[c.destination.value];
    if (c.path == Path::kLocal) {
      route.sender = route.receiver = of_rank_[domains[c.source.value]];
    } else {
      route.sender = of_nic(c.source_nic), route.receiver = of_nic(c.destination_nic);
    }
  }
}

TransportGroup::Routing WorkerShares::routing() const {
  return [this](const TransportPlan&) {
    std::vector<TransportGroup::Route> routes;
    for (const WorkerRoute& route : routes_) routes.push_back({route.sender, route.receiver});
    return routes;
  };
}

}  // namespace rankwire

#include "emulator/assembly/workers.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <utility>

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

/// The places of the ports that this machine drives, if it is one of several; else of all.
std::vector<uint32_t> own_ports(const RunConfig& config, const std::string& machine) {
  std::vector<uint32_t> own;
  for (uint32_t p = 0; p < config.ports.size(); ++p)
    if (machine.empty() || config.ports[p].on == machine) own.push_back(p);
  return own;
}

uint32_t automatic_count(const RunConfig& config, size_t cores, const std::string& machine) {
  if (config.ports.front().embedded() && config.embedded_switch.core != SwitchCore::kSharded) return 1;
  const size_t spare = cores > kCoresForOthers ? cores - kCoresForOthers : 1;
  return static_cast<uint32_t>(std::min({spare, own_ports(config, machine).size(), size_t{kMostWorkers}}));
}

}  // namespace

WorkerThreads worker_threads(const RunConfig& config, std::span<const uint32_t> cores, const std::string& machine) {
  const WorkersConfig& workers = config.workers;
  if (!workers.cores.empty()) return {static_cast<uint32_t>(workers.cores.size()), workers.cores};
  WorkerThreads threads{.count = workers.count ? *workers.count : automatic_count(config, cores.size(), machine),
                        .cpus = {}};
  if (threads.count == 1 && config.run.cpu) threads.cpus = {*config.run.cpu};
  if (threads.count > 1 && threads.count < cores.size()) {
    const auto last = cores.last(threads.count);
    threads.cpus.assign(last.begin(), last.end());
  }
  return threads;
}

uint32_t switch_shards(const RunConfig& config, uint32_t workers) {
  return config.embedded_switch.core == SwitchCore::kSharded ? workers : 1;
}

uint32_t run_threads(const SimulationConfig& simulation) {
  if (simulation.threads) return *simulation.threads;
  const auto cores = static_cast<uint32_t>(one_of_each_core(allowed_cpus()).size());
  return std::clamp(cores, 1u, kMostRunThreads);
}

std::optional<std::string> core_finding(const RunConfig& config, const WorkerThreads& threads, size_t cores) {
  const bool own_switch = config.ports.front().embedded() && config.embedded_switch.core == SwitchCore::kOwn;
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

WorkerShares::WorkerShares(const Setup& setup, uint32_t workers)
    : workers_(workers), ranks_(workers + (setup.machine.empty() ? 0 : 1)) {
  share_ports(setup);
  share_nics(setup);
  share_ranks(setup);
}

WorkerShares::WorkerShares(const Setup& setup, std::span<const uint32_t> machine_of_port, uint32_t machines)
    : workers_(machines), ranks_(machines) {
  for (uint32_t p = 0; p < machine_of_port.size(); ++p)
    of_port_.push_back({.first = machine_of_port[p], .queues = setup.config.ports[p].queues});
  for (const Nic& nic : setup.plan.transport.nics) ++of_port_[nic.port.value].nics;
  share_nics(setup);
  share_ranks(setup);
}

void WorkerShares::share_ranks(const Setup& setup) {
  const TransportPlan& plan = setup.plan.transport;
  const auto of_nic = [this](NicId nic) { return of_nic_[nic.value].worker; };
  for (const NicId nic : setup.placement.nic) of_rank_.push_back(of_nic(nic));
  for (uint32_t part = 0; part < parts(); ++part) {
    for (const uint16_t of_rank : of_rank_) ranks_[part].push_back(of_rank == part);
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

void WorkerShares::share_ports(const Setup& setup) {
  for (const PortConfig& port : setup.config.ports) of_port_.push_back({.first = workers_, .queues = port.queues});
  for (const Nic& nic : setup.plan.transport.nics) ++of_port_[nic.port.value].nics;
  const std::vector<uint32_t> own = own_ports(setup.config, setup.machine);
  const auto ports = static_cast<uint32_t>(own.size());
  if (workers_ <= ports) {
    for (uint32_t place = 0; place < ports; ++place) of_port_[own[place]].first = place * workers_ / ports;
  } else {
    add_workers(setup, own, workers_ - ports);
  }
}

void WorkerShares::share_nics(const Setup& setup) {
  const std::vector<Nic>& nics = setup.plan.transport.nics;
  std::vector<uint32_t> seen(of_port_.size());  // NICs of each port
  for (const Nic& nic : nics) {
    const PortShare& port = of_port_[nic.port.value];
    const uint32_t place = seen[nic.port.value]++;
    const uint32_t part = place * port.workers / port.nics;
    // The n-th part has the queues from ceil(n Q / W) on, by `of_queue`.
    const auto first_queue = [&](uint32_t n) { return (n * port.queues + port.workers - 1) / port.workers; };
    const uint32_t queues = first_queue(part + 1) - first_queue(part);
    of_nic_.push_back({.worker = static_cast<uint16_t>(port.first + part),
                       .queue = static_cast<uint16_t>(first_queue(part) + place % queues)});
  }
}

// One after the other to the port where each worker has most NICs.
void WorkerShares::add_workers(const Setup& setup, std::span<const uint32_t> own, uint32_t more) {
  const RunConfig& config = setup.config;
  const auto room = [](const PortShare& port) { return port.workers < std::min(port.queues, port.nics); };
  for (; more > 0; --more) {
    PortShare* most = nullptr;
    for (const uint32_t p : own) {
      PortShare& port = of_port_[p];
      if (room(port) && (most == nullptr || port.nics * most->workers > most->nics * port.workers)) most = &port;
    }
    if (most == nullptr)
      fail_key(config.places, config.workers.cores.empty() ? "workers.count" : "workers.cores",
               "{} more than ports{} can be shared by: of several workers on one port each needs a queue of it "
               "(ports[].queues) and a NIC behind it (hosts.count, hosts.nics)",
               more, setup.machine.empty() ? "" : fmt::format(" of machine '{}'", setup.machine));
    ++most->workers;
  }
  uint32_t first = 0;
  for (const uint32_t p : own) {
    of_port_[p].first = std::exchange(first, first + of_port_[p].workers);
    if (of_port_[p].workers == 1) continue;
    const PortConfig& port = config.ports[p];
    if (port.pfc == PfcChoice::kSoftware)
      fail_key(config.places, fmt::format("ports[{}].pfc", p),
               "'software' needs one worker: a pause arrives at one of the {} that port '{}' is shared by",
               of_port_[p].workers, port.name);
    if (port.drain_rate)
      fail_key(config.places, fmt::format("ports[{}].drain_rate", p),
               "needs one worker, which knows all that arrives; port '{}' is shared by {}", port.name,
               of_port_[p].workers);
  }
}

uint32_t WorkerShares::ports_of(uint32_t worker) const {
  return static_cast<uint32_t>(std::ranges::count(of_port_, worker, &PortShare::first));
}

uint32_t WorkerShares::of_queue(PortId port, uint32_t queue) const {
  const PortShare& share = of_port_[port.value];
  return share.first + queue * share.workers / share.queues;
}

std::vector<bool> WorkerShares::nics(uint32_t worker) const {
  std::vector<bool> nics;
  for (const NicShare& nic : of_nic_) nics.push_back(nic.worker == worker);
  return nics;
}

TransportGroup::Routing WorkerShares::routing() const {
  return [this](const TransportPlan&) {
    std::vector<TransportGroup::Route> routes;
    for (const WorkerRoute& route : routes_) routes.push_back({route.sender, route.receiver});
    return routes;
  };
}

}  // namespace rankwire

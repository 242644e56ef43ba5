#include "emulator/input/validate_hybrid.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "emulator/input/aggregators.h"
#include "emulator/input/validation_source.h"

namespace rankwire {
namespace {

bool is_wired(const RunConfig& config, uint32_t host) {
  return std::ranges::find(config.hybrid->wired, host) != config.hybrid->wired.end();
}

/// As placements have them.
struct Counts {
  explicit Counts(const RunConfig& config)
      : ports(rank_ports(config)),
        hosts(config.hosts.count.value_or(static_cast<uint32_t>(ports.size()))),
        nics(config.hosts.nics.value_or(std::max(1u, static_cast<uint32_t>(ports.size()) / hosts))) {}

  std::vector<uint32_t> ports;
  uint32_t hosts, nics;
};

void wire_listed(const RunConfig& config, const MappingConfig& mapping, std::vector<bool>& wired) {
  for (const PlacementEntry& place : mapping.ranks) {
    if (!is_wired(config, place.host)) continue;
    const auto port = std::ranges::find(config.ports, place.port, &PortConfig::name);
    if (port != config.ports.end()) wired[static_cast<size_t>(port - config.ports.begin())] = true;
  }
}

/// NIC n of the run stands behind the n-th port. Where it is not known how many NPUs a host has, all NICs of a host
/// have some.
void wire_in_order(const RunConfig& config, const Counts& counts, std::vector<bool>& wired) {
  for (const uint32_t host : config.hybrid->wired) {
    for (uint32_t i = 0; i < config.hosts.npus.value_or(counts.nics); ++i) {
      const uint64_t nic = config.hosts.npus ? uint64_t{i} * counts.nics / *config.hosts.npus : i;
      wired[counts.ports[(uint64_t{host} * counts.nics + nic) % counts.ports.size()]] = true;
    }
  }
}

/// By port.
std::vector<bool> wired_ports(const RunConfig& config) {
  std::vector<bool> wired(config.ports.size());
  const Counts counts(config);
  const auto add = [&](const MappingConfig& mapping) {
    if (mapping.policy == MappingPolicy::kExplicit)
      wire_listed(config, mapping, wired);
    else if (!counts.ports.empty())
      wire_in_order(config, counts, wired);
  };
  if (config.jobs.empty()) add(config.mapping);
  for (const JobConfig& job : config.jobs) add(job.mapping.value_or(config.mapping));
  return wired;
}

class HybridCheck {
 public:
  HybridCheck(const RunConfig& config, const Tree& root) : config_(config), source_{config, root} {}

  void run() const {
    if (!source_.has("hybrid", "wired"))
      source_.fail("hybrid",
                   "needs 'wired', the hosts whose ranks are on wires, such as [0, 1]; [] for none, where all is "
                   "modelled");
    if (config_.ports.empty())
      source_.fail("hybrid", "needs 'ports': also hosts that are not on wires stand behind one");
    check_hosts();
    check_others();
  }

 private:
  void check_hosts() const {
    const uint32_t hosts = Counts(config_).hosts;
    std::set<uint32_t> seen;
    for (size_t i = 0; i < config_.hybrid->wired.size(); ++i) {
      const uint32_t host = config_.hybrid->wired[i];
      const std::string key = fmt::format("hybrid.wired[{}]", i);
      if (host >= hosts) source_.fail(key, "there is no host {}; there are hosts 0 .. {}", host, hosts - 1);
      if (!seen.insert(host).second) source_.fail(key, "names host {} twice", host);
    }
  }

  void check_others() const {
    if (!config_.collectives.aggregators.empty())
      source_.fail("collectives.aggregators", "reduce what is on wires, and with 'hybrid' only part of it is");
    const WorkersConfig& workers = config_.workers;
    if (workers.several() || (workers.cores.empty() && !workers.count))
      source_.fail(workers.cores.empty() ? "workers.count" : "workers.cores",
                   "'hybrid' needs one worker: the model of the links is one");
    for (size_t p = 0; p < config_.ports.size(); ++p)
      if (!config_.ports[p].on.empty())
        source_.fail(fmt::format("ports[{}].on", p),
                     "'hybrid' is of one machine: the model of the links would be on each of several");
    if (config_.dilation.factor > 1 && !config_.ports.front().embedded())
      source_.fail("dilation.factor",
                   "with 'hybrid' needs the embedded switch: a device keeps its own time, and the links of the model "
                   "are those of the job");
  }

  const RunConfig& config_;
  const Source source_;
};

}  // namespace

void settle_hybrid(RunConfig& config) {
  if (!config.hybrid || config.ports.empty()) return;
  const std::vector<bool> wired = wired_ports(config);
  for (size_t p = 0; p < wired.size(); ++p) config.ports[p].modelled = !wired[p];
  const auto first = std::ranges::find(config.ports, false, &PortConfig::modelled);
  if (first == config.ports.end()) return;
  for (PortConfig& port : config.ports) {
    if (!port.modelled) continue;
    port.device = first->embedded() ? first->device : "";
    port.verbs.clear();
  }
}

void validate_hybrid(const RunConfig& config, const Tree& root) {
  if (config.hybrid) HybridCheck(config, root).run();
}

}  // namespace rankwire

#include "emulator/assembly/machine_shares.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace rankwire {

std::vector<std::string> machines_of(const RunConfig& config) {
  std::vector<std::string> machines;
  for (const PortConfig& port : config.ports)
    if (!port.on.empty() && std::ranges::find(machines, port.on) == machines.end()) machines.push_back(port.on);
  return machines;
}

void be_only_machine(RunConfig& config, const std::string& own) {
  const std::vector<std::string> machines = machines_of(config);
  if (machines.size() != 1) return;
  machine_of_ports(config, machines);
  if (machines.front() != own)
    fail_key(
        config.places, "ports[0].on",
        "all ports are on machine '{0}', and this one is called '{1}': run it there, or say by `--machine {0}` that "
        "this is it",
        machines.front(), own);
  for (PortConfig& port : config.ports) port.on.clear();
}

std::vector<uint32_t> machine_of_ports(const RunConfig& config, std::span<const std::string> machines) {
  std::vector<uint32_t> of_ports;
  for (size_t p = 0; p < config.ports.size(); ++p) {
    const PortConfig& port = config.ports[p];
    if (port.on.empty())
      fail_key(config.places, fmt::format("ports[{}]", p),
               "port '{}' needs 'on', the machine that drives it: other ports have one", port.name);
    const auto found = std::ranges::find(machines, port.on);
    if (found == machines.end())
      fail_key(config.places, fmt::format("ports[{}].on", p), "no process is on machine '{}'; those started are on {}",
               port.on, fmt::join(machines, ", "));
    of_ports.push_back(static_cast<uint32_t>(found - machines.begin()));
  }
  return of_ports;
}

void require_machines_can(const RunConfig& config) {
  const auto refuse = [&](const std::string& key, const char* what) {
    fail_key(config.places, key, "{}, which a run over several machines does not do", what);
  };
  for (size_t p = 0; p < config.ports.size(); ++p) {
    const PortConfig& port = config.ports[p];
    if (port.embedded())
      fail_key(config.places, fmt::format("ports[{}].device", p),
               "port '{}' is one of the embedded switch, which is in one process: ports with 'on' are DPDK or RDMA "
               "devices",
               port.name);
  }
  if (!config.impairments.empty()) refuse("impairments", "are counted over all ports");
  if (!config.background.empty()) refuse("background", "is traffic without a trace");
  if (config.dilation.factor > 1) refuse("dilation.factor", "stretches time");
  if (config.run.repeat > 1) refuse("run.repeat", "repeats the emulated run");
  if (config.run.certify == CertifyChoice::kOn) refuse("run.certify", "measures the generator first");
  if (config.run.continue_on_failure) refuse("run.on_failure", "'continue' goes on without what has failed");
}

WorkerShares machine_shares(const Setup& setup, std::span<const std::string> machines) {
  WorkerShares shares(setup, machine_of_ports(setup.config, machines), static_cast<uint32_t>(machines.size()));
  for (const Connection& c : setup.plan.transport.connections) {
    const WorkerRoute& route = shares.route(c.id);
    if (c.path == Path::kLocal && route.source != route.destination)
      fail_input(
          "{}: ranks {} and {} talk by the modelled interconnect of emulated host {}, but their ports are on machines "
          "'{}' and '{}': an emulated host is on one machine",
          setup.config.file, c.source.value, c.destination.value, setup.placement.ranks[c.source.value].host,
          machines[route.source], machines[route.destination]);
    if (route.sender != route.source || route.receiver != route.destination)
      fail_input("{}: rank {} sends by NICs whose ports are on several machines: those of a rank are on one",
                 setup.config.file, (route.sender != route.source ? c.source : c.destination).value);
  }
  return shares;
}

uint32_t messages_in_flight(const Plan& plan, const std::vector<bool>& ranks) {
  std::vector<bool> counted(plan.slot_steps.size());
  uint64_t sum = 0;
  for (size_t rank = 0; rank < plan.nodes.size(); ++rank) {
    if (!ranks[rank]) continue;
    for (const NodePlan& node : plan.nodes[rank]) {
      if (node.slot >= counted.size() || counted[node.slot]) continue;
      counted[node.slot] = true;
      sum += plan.slot_steps[node.slot];
    }
  }
  return static_cast<uint32_t>(std::min<uint64_t>(sum, plan.transport.messages_in_flight));
}

}  // namespace rankwire

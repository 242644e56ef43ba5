#include "emulator/cli/machine_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "base/system_memory.h"
#include "emulator/assembly/dpdk_demand.h"
#include "emulator/assembly/machine_shares.h"
#include "emulator/assembly/memory_demand.h"
#include "emulator/cli/worker_table.h"

namespace rankwire {
namespace {

/// What the ports of a machine carry in an iteration.
struct MachineLoad {
  uint64_t queue_pairs = 0, messages_tx = 0, messages_rx = 0;
  int64_t bytes_tx = 0, bytes_rx = 0;

  auto operator<=>(const MachineLoad&) const = default;
};

std::vector<MachineLoad> machine_loads(const Setup& setup, const WorkerShares& shares) {
  std::vector<MachineLoad> loads(shares.workers());
  for (const Connection& c : setup.plan.transport.connections) {
    if (c.path != Path::kWire) continue;
    const WorkerRoute& route = shares.route(c.id);
    MachineLoad &from = loads[route.sender], &to = loads[route.receiver];
    if (!c.reverse_of.valid()) {
      from.queue_pairs += setup.config.transport.queue_pairs;
      to.queue_pairs += setup.config.transport.queue_pairs;
    }
    from.messages_tx += c.messages_per_iteration, to.messages_rx += c.messages_per_iteration;
    from.bytes_tx += c.bytes_per_iteration.count, to.bytes_rx += c.bytes_per_iteration.count;
  }
  return loads;
}

/// Names of ports, a bar between those of one worker and those of the next.
std::string ports_of(const nlohmann::ordered_json& machine) {
  std::string text;
  for (const auto& worker : machine["workers"])
    text +=
        fmt::format("{}{}", text.empty() ? "" : " | ", fmt::join(worker["ports"].get<std::vector<std::string>>(), " "));
  return text;
}

/// Of the process of `setup.machine`.
int64_t memory_of_machine(const Setup& setup) {
  const MemoryDemand demand = memory_demand(setup, RunKind::kEmulated, resident_memory());
  return (demand.setup + demand.runs.front().total()).count;
}

}  // namespace

nlohmann::ordered_json machines_json(Setup& setup) {
  const std::vector<std::string> machines = machines_of(setup.config);
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  if (machines.size() < 2) return rows;  // ports that are all on one machine are those of a run of one process
  require_machines_can(setup.config);
  const WorkerShares shares = machine_shares(setup, machines);
  const std::vector<MachineLoad> loads = machine_loads(setup, shares);
  // Of hundreds most are alike, and each takes a look at the whole plan.
  std::map<std::tuple<MachineLoad, size_t, size_t, size_t>, int64_t> memory;
  for (uint32_t machine = 0; machine < machines.size(); ++machine) {
    nlohmann::ordered_json ports = nlohmann::ordered_json::array(), ranks = nlohmann::ordered_json::array();
    size_t rdma = 0;
    for (const PortConfig& port : setup.config.ports) {
      if (port.on != machines[machine]) continue;
      ports.push_back(port.name);
      rdma += port.is_rdma_device() ? 1 : 0;
    }
    for (uint32_t rank = 0; rank < setup.workload.ranks.size(); ++rank)
      if (shares.ranks(machine)[rank]) ranks.push_back(rank);
    setup.machine = machines[machine];
    const MachineLoad& load = loads[machine];
    require_room_in_dpdk(setup);
    const auto [alike, is_first] = memory.try_emplace({load, ports.size(), rdma, ranks.size()}, 0);
    if (is_first) alike->second = memory_of_machine(setup);
    rows.push_back({{"machine", machines[machine]},
                    {"ports", ports},
                    {"ranks", ranks},
                    {"workers", workers_json(setup)},
                    {"queue_pairs", load.queue_pairs},
                    {"messages_tx", load.messages_tx},
                    {"messages_rx", load.messages_rx},
                    {"bytes_tx", load.bytes_tx},
                    {"bytes_rx", load.bytes_rx},
                    {"memory_bytes", alike->second}});
  }
  setup.machine.clear();
  return rows;
}

void print_machines(const nlohmann::ordered_json& machines) {
  if (machines.empty()) return;
  fmt::print("\nmachines, an iteration:\n{:<16} {:>7} {:>6} {:>6} {:>12} {:>12} {:>15} {:>15} {:>11}  {}\n", "machine",
             "workers", "ranks", "QPs", "messages tx", "messages rx", "bytes tx", "bytes rx", "memory MiB",
             "ports, by worker");
  for (const auto& m : machines)
    fmt::print("{:<16} {:>7} {:>6} {:>6} {:>12} {:>12} {:>15} {:>15} {:>11.1f}  {}\n", m["machine"].get<std::string>(),
               m["workers"].size(), m["ranks"].size(), m["queue_pairs"].get<uint64_t>(),
               m["messages_tx"].get<uint64_t>(), m["messages_rx"].get<uint64_t>(), m["bytes_tx"].get<int64_t>(),
               m["bytes_rx"].get<int64_t>(), m["memory_bytes"].get<double>() / (1 << 20), ports_of(m));
}

}  // namespace rankwire

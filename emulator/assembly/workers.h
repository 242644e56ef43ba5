// How a run in real time is spread over threads: who has which ports, ranks and connections. And how many threads there
// are for runs in virtual time, which have one each.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/transport.h"
#include "emulator/assembly/setup.h"
#include "emulator/engine/transport_group.h"
#include "emulator/engine/worker_exchange.h"
#include "emulator/input/simulation_config.h"

namespace rankwire {

/// Threads that a run of the configuration in real time has, and the CPUs that they stay on: one each, or none.
struct WorkerThreads {
  uint32_t count = 1;
  std::vector<uint32_t> cpus;
};
/// `cores`: a CPU of each core that this process may use, ascending (one_of_each_core). With `workers.count: auto` and
/// ports of devices there are as many workers as cores but two, which the recorder and the system have, but no more
/// than ports; with the embedded switch one, unless it is sharded. Several workers whose CPUs are not named have the
/// last cores, one each, as long as one core is left. `machine` as Setup::machine has it: the ports that count are its.
WorkerThreads worker_threads(const RunConfig& config, std::span<const uint32_t> cores, const std::string& machine = "");

/// Into how many parts the embedded switch is divided where the run has so many workers.
uint32_t switch_shards(const RunConfig& config, uint32_t workers);

/// Runs in virtual time that go on at a time, where there are as many: `simulation.threads`, or one for each core that
/// the calling thread may use.
uint32_t run_threads(const SimulationConfig& simulation);

/// A warning when more threads poll without a break than there are cores, or nothing.
std::optional<std::string> core_finding(const RunConfig& config, const WorkerThreads& threads, size_t cores);

/// Throws Error(kInput), naming file, line and key, when `run.cpu`, or one of `workers.cores`, is not a CPU that this
/// process may use.
void require_cpus(const RunConfig& config);

/// The ports are shared out in their order, as evenly as goes. Of more workers than ports each has queues of one port,
/// and NICs behind it: what those are sent is steered to its queues. A rank is with its first NIC. Local traffic is
/// with the worker of the lowest rank of all that talk to each other locally, directly or by others: they share links.
///
/// Of a machine of several (Setup::machine) these are its own ports and what is behind them. All that is on other
/// machines is the others', who have the number behind the last worker.
class WorkerShares {
 public:
  /// 1 <= `workers` <= the ports that are here, or their queues. Throws Error(kInput), naming file, line and key, when
  /// ports have too few queues or NICs to be shared by so many, or one that is shared obeys pauses in software or
  /// drains slowly.
  WorkerShares(const Setup& setup, uint32_t workers);

  /// The machines of a run, in the place of workers: by PortId whose it is, below `machines`.
  WorkerShares(const Setup& setup, std::span<const uint32_t> machine_of_port, uint32_t machines);

  uint32_t workers() const { return workers_; }
  /// Whether there are other machines.
  bool has_others() const { return ranks_.size() > workers_; }
  /// The workers and, if there are any, the others: each has a share of the ranks.
  uint32_t parts() const { return static_cast<uint32_t>(ranks_.size()); }
  /// Of ports that are one worker's. Those of a worker follow each other.
  uint32_t ports_of(uint32_t worker) const;
  uint32_t of_port(PortId port) const { return of_port_[port.value].first; }
  bool is_shared(PortId port) const { return of_port_[port.value].workers > 1; }
  bool has_part(uint32_t worker, PortId port) const { return worker - of_port(port) < of_port_[port.value].workers; }
  uint32_t of_queue(PortId port, uint32_t queue) const;
  uint32_t of_nic(NicId nic) const { return of_nic_[nic.value].worker; }
  /// Of the NIC's port: the one that what it is sent must go to where the port is shared.
  uint16_t queue_of(NicId nic) const { return of_nic_[nic.value].queue; }
  /// By NIC: whether the worker has it.
  std::vector<bool> nics(uint32_t worker) const;
  uint32_t of_rank(RankId rank) const { return of_rank_[rank.value]; }
  const WorkerRoute& route(ConnectionId connection) const { return routes_[connection.value]; }
  /// By connection.
  const std::vector<WorkerRoute>& routes() const { return routes_; }
  /// By rank: whether the worker has it, or the others.
  const std::vector<bool>& ranks(uint32_t worker) const { return ranks_[worker]; }
  /// For a TransportGroup of the workers' transports, of which none is the others'.
  TransportGroup::Routing routing() const;

 private:
  /// A port's workers follow each other.
  struct PortShare {
    uint32_t first = 0, workers = 1;
    uint32_t queues = 1, nics = 0;  ///< of the port
  };
  struct NicShare {
    uint16_t worker = 0, queue = 0;
  };

  void share_ports(const Setup& setup);
  void share_nics(const Setup& setup);
  void share_ranks(const Setup& setup);
  void add_workers(const Setup& setup, std::span<const uint32_t> own, uint32_t more);

  const uint32_t workers_;
  std::vector<PortShare> of_port_;
  std::vector<NicShare> of_nic_;
  std::vector<uint16_t> of_rank_;
  std::vector<std::vector<bool>> ranks_;
  std::vector<WorkerRoute> routes_;
};

}  // namespace rankwire

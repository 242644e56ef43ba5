#include "emulator/assembly/ensemble.h"

#include <algorithm>
#include <optional>

#include "emulator/assembly/ensemble_members.h"
#include "emulator/assembly/ensemble_sharing.h"
#include "emulator/assembly/reference.h"
#include "emulator/simulator/network_model.h"

namespace rankwire {

uint64_t least_member_work(const Setup& setup) {
  if (std::ranges::any_of(setup.workload.ranks, [](const RankTrace& rank) { return rank.streamed.has_value(); }))
    return UINT64_MAX;
  const PlannedTraffic traffic = planned_traffic(setup.workload, setup.plan, setup.config.workload.iterations);
  return (planned_operations(setup.config, setup.workload) + traffic.messages) * NetworkModel::kWorkOfMessage;
}

namespace {

/// Such a hybrid run keeps the symmetry of the single run. Few messages on wires are enough to end that.
bool has_nothing_on_wires(const Setup& setup) {
  return setup.config.hybrid && std::ranges::none_of(setup.plan.transport.connections,
                                                     [](const Connection& c) { return c.path == Path::kWire; });
}

}  // namespace

uint32_t ensemble_members(const Setup& setup) {
  const SimulationConfig& simulation = setup.config.simulation;
  if (simulation.ensemble) return *simulation.ensemble;
  // The twin is no reference: it stands for the emulated run.
  const auto reference = std::ranges::find_if(
      simulation.fidelity, [](SimulationFidelity model) { return model != SimulationFidelity::kTwin; });
  const bool is_flow = reference != simulation.fidelity.end() && *reference == SimulationFidelity::kFlow;
  // Background traffic goes on as long as the jobs do, so the plan does not say how much there is.
  if (!is_flow || !setup.background.empty() || has_nothing_on_wires(setup)) return 0;
  return least_member_work(setup) > kAutoWork / kFewestAutoMembers ? 0 : kAutoMembers;
}

std::vector<Duration> mean_communication(const Setup& setup, const Network& network) {
  const size_t ranks = setup.workload.ranks.size();
  std::vector<__int128> out(ranks), in(ranks);  // picoseconds: of slow ports and large traces more than a Duration has
  for (const Connection& connection : setup.plan.transport.connections) {
    const Route& route = network.routes[connection.id.value];
    const int64_t messages = connection.messages_per_iteration;
    if (messages == 0 || route.links.empty() || setup.background.has(connection.id)) continue;
    const Bytes mean(connection.bytes_per_iteration.count / messages);
    const __int128 takes = static_cast<__int128>(undisturbed_time(network, route, mean).ps) * messages;
    out[connection.source.value] += takes;
    in[connection.destination.value] += takes;
  }
  std::vector<Duration> means;
  for (size_t rank = 0; rank < ranks; ++rank) {
    int64_t operations = 0;
    for (const NodePlan& node : setup.plan.nodes[rank]) operations += node.slot != NodePlan::kNone;
    const __int128 mean = std::max(out[rank], in[rank]) / std::max<int64_t>(operations, 1);
    means.emplace_back(static_cast<int64_t>(std::min<__int128>(mean, Duration::max().ps)));
  }
  return means;
}

Ensemble run_ensemble(const Setup& setup, uint32_t members, uint32_t threads, const RunControl& control,
                      Machines* machines) {
  EnsembleMembers all(setup, members, control);
  all.run_first();
  run_members(all, 1, members, threads, control, machines);
  Ensemble ensemble = all.take();
  ensemble.planned = members;
  return ensemble;
}

Ensemble run_affordable_ensemble(const Setup& setup, uint64_t most_work, uint32_t threads, const RunControl& control,
                                 Machines* machines) {
  EnsembleMembers all(setup, kAutoMembers, control);
  all.run_first(most_work / kFewestAutoMembers);
  const MemberOutcome& first = all.outcome(0);
  const uint64_t affordable = first.times ? most_work / std::max<uint64_t>(first.times->work, 1) : 0;
  if (affordable < kFewestAutoMembers) {
    Ensemble none;
    none.error = first.thrown;
    return none;
  }
  const auto members = static_cast<uint32_t>(std::min<uint64_t>(affordable, kAutoMembers));
  run_members(all, 1, members, threads, control, machines);
  Ensemble ensemble = all.take();
  ensemble.planned = members;
  return ensemble;
}

}  // namespace rankwire

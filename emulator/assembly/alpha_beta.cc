#include "emulator/assembly/alpha_beta.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "base/error.h"
#include "emulator/collective/cost.h"

namespace rankwire {
namespace {

/// The slowest connections among the members of a group; null where there is none.
struct GroupPaths {
  const Route* wire = nullptr;
  const Route* local = nullptr;
  int64_t sharing = 1;  ///< members behind the port that has most
};

class Formulas {
 public:
  Formulas(const Setup& setup, const Network& network)
      : setup_(setup),
        network_(network),
        reducing_(engine_options(setup.config).messages),
        paths_(setup.workload.groups.size()) {
    for (const Connection& connection : setup.plan.transport.connections) {
      if (connection.control) continue;
      const Route& route = network.routes[connection.id.value];
      if (!connection.group.valid()) {
        transfers_.try_emplace({connection.source, connection.destination}, &route);
        continue;
      }
      GroupPaths& paths = paths_[connection.group.value];
      keep_slowest(connection.path == Path::kLocal ? paths.local : paths.wire, route);
    }
    for (size_t g = 0; g < paths_.size(); ++g) count_sharing(setup.workload.groups[g], paths_[g]);
  }

  Duration collective(const Node& node) {
    const Bytes* const blocks = setup_.workload.blocks_of(node).data();
    const auto [known, added] =
        known_.try_emplace({node.group.value, operation_of(node), node.bytes, blocks}, Duration());
    if (added) known->second = sum_of(node);
    return known->second;
  }

  CommunicationTimes::Transfer transfer(RankId source, RankId destination, Bytes bytes) const {
    const Route& route = *transfers_.at({source, destination});
    const Duration delivered = undisturbed_time(network_, route, bytes);
    return {.rendezvous = false, .delivered = delivered, .sent = delivered + latency(network_, route)};
  }

 private:
  void keep_slowest(const Route*& slowest, const Route& route) const {
    constexpr Bytes kTypical(1 << 20);
    if (slowest == nullptr ||
        undisturbed_time(network_, route, kTypical) > undisturbed_time(network_, *slowest, kTypical))
      slowest = &route;
  }

  void count_sharing(const Group& group, GroupPaths& paths) const {
    std::map<PortId, int64_t> members;
    for (const RankId member : group.members) {
      const NicId nic = setup_.placement.nic[member.value];
      paths.sharing = std::max(paths.sharing, ++members[setup_.placement.nics[nic.value].port]);
    }
  }

  Duration sum_of(const Node& node) const {
    const Group& group = setup_.workload.groups[node.group.value];
    ScheduleRequest request{.operation = operation_of(node),
                            .members = static_cast<uint32_t>(group.members.size()),
                            .bytes = node.bytes,
                            .element = setup_.workload.element_of(group.job)};
    if (const auto blocks = setup_.workload.blocks_of(node); !blocks.empty()) request = with_blocks(request, blocks);
    for (const RankId member : group.members) request.hosts.push_back(setup_.placement.ranks[member.value].host);
    request.aggregation = group.aggregation;
    Duration sum;
    const ScheduleOptions& schedules = *setup_.schedules_of_job[setup_.workload.jobs.empty() ? 0 : group.job.value];
    for (const CostPhase& phase : phases_of(request, schedules)) {
      const Duration each = message_time(paths_[node.group.value], phase) + reduce_time(phase);
      sum += each * phase.messages;
    }
    return sum;
  }

  std::vector<CostPhase> phases_of(const ScheduleRequest& request, const ScheduleOptions& schedules) const {
    try {
      return cost_phases(request, schedules);
    } catch (const Error& error) {
      throw Error(error.kind(), setup_.config.places.located(error.what()));
    }
  }

  Duration message_time(const GroupPaths& paths, const CostPhase& phase) const {
    const bool local = paths.wire == nullptr || (phase.local && paths.local != nullptr);
    const Route& route = *(local ? paths.local : paths.wire);
    const Duration alone = undisturbed_time(network_, route, phase.bytes);
    if (local) return alone;
    const Bandwidth port = network_.links[route.links.front().link.value].bandwidth;
    return alone + serialization_time(line_size(phase.bytes, route.framing), port) * (paths.sharing - 1);
  }

  Duration reduce_time(const CostPhase& phase) const {
    if (!phase.reduces) return {};
    Duration time = reducing_.reduce_latency;
    if (reducing_.reduce_bandwidth) time += serialization_time(phase.bytes, *reducing_.reduce_bandwidth);
    return time;
  }

  const Setup& setup_;
  const Network& network_;
  const CommunicationOptions reducing_;
  std::vector<GroupPaths> paths_;                                // by group
  std::map<std::pair<RankId, RankId>, const Route*> transfers_;  // of SENDs, by source and destination
  std::map<std::tuple<uint32_t, Operation, Bytes, const Bytes*>, Duration> known_;
};

}  // namespace

CommunicationTimes alpha_beta_times(const Setup& setup, const Network& network) {
  CommunicationTimes times = number_operations(setup.workload);
  Formulas formulas(setup, network);
  for (uint32_t rank = 0; rank < setup.workload.ranks.size(); ++rank) {
    const std::vector<Node>& nodes = setup.workload.ranks[rank].nodes;
    if (setup.workload.ranks[rank].aggregates) continue;
    for (uint32_t n = 0; n < nodes.size(); ++n) {
      const Node& node = nodes[n];
      if (node.kind == NodeKind::kCollective) {
        // Inputs may differ: the root's of a scatter is the one that counts.
        Duration& time = times.collectives[node.group.value][node.run_order];
        time = std::max(time, formulas.collective(node));
      } else if (node.kind == NodeKind::kSend) {
        times.transfers[times.transfer_of[rank][n]] = formulas.transfer(RankId(rank), node.peer, node.bytes);
      }
    }
  }
  return times;
}

}  // namespace rankwire

#include "emulator/engine/communication_times.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "base/error.h"

namespace rankwire {
namespace {

Duration recorded(const RankTrace& trace, uint32_t rank, const Node& node) {
  if (!node.recorded) {
    fail_input(
        "simulation.fidelity: recorded: '{}' (node {} of rank {}, {}) has no recorded duration; take traces that were "
        "captured, or another fidelity",
        node.name, node.id, rank, trace.file);
  }
  return *node.recorded;
}

}  // namespace

CommunicationTimes number_operations(const Workload& workload) {
  CommunicationTimes times;
  times.collectives.resize(workload.groups.size());
  std::map<std::tuple<RankId, RankId, int64_t, uint32_t>, uint32_t> known;  // source, destination, tag, n-th
  for (uint32_t r = 0; r < workload.ranks.size(); ++r) {
    const std::vector<Node>& nodes = workload.ranks[r].nodes;
    std::vector<uint32_t>& transfer_of = times.transfer_of.emplace_back(nodes.size(), CommunicationTimes::kNone);
    for (uint32_t n = 0; n < nodes.size(); ++n) {
      const Node& node = nodes[n];
      if (node.kind == NodeKind::kCollective) {
        auto& collectives = times.collectives[node.group.value];
        collectives.resize(std::max<size_t>(collectives.size(), node.run_order + 1));
      }
      if (node.kind != NodeKind::kSend && node.kind != NodeKind::kReceive) continue;
      const bool sends = node.kind == NodeKind::kSend;
      const RankId source = sends ? RankId(r) : node.peer, destination = sends ? node.peer : RankId(r);
      const auto [entry, added] = known.try_emplace({source, destination, node.tag, node.sequence},
                                                    static_cast<uint32_t>(times.transfers.size()));
      if (added) times.transfers.push_back({});
      transfer_of[n] = entry->second;
    }
  }
  return times;
}

CommunicationTimes recorded_times(const Workload& workload) {
  CommunicationTimes times = number_operations(workload);
  for (auto& group : times.collectives) std::ranges::fill(group, Duration::max());
  for (CommunicationTimes::Transfer& transfer : times.transfers) transfer = {true, Duration::max(), Duration::max()};
  for (uint32_t r = 0; r < workload.ranks.size(); ++r) {
    const RankTrace& trace = workload.ranks[r];
    if (trace.aggregates) continue;
    for (uint32_t n = 0; n < trace.nodes.size(); ++n) {
      const Node& node = trace.nodes[n];
      if (node.kind == NodeKind::kCollective) {
        Duration& shortest = times.collectives[node.group.value][node.run_order];
        shortest = std::min(shortest, recorded(trace, r, node));
      } else if (const uint32_t transfer = times.transfer_of[r][n]; transfer != CommunicationTimes::kNone) {
        Duration& shortest = times.transfers[transfer].delivered;
        shortest = times.transfers[transfer].sent = std::min(shortest, recorded(trace, r, node));
      }
    }
  }
  return times;
}

}  // namespace rankwire

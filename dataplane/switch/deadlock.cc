#include "dataplane/switch/deadlock.h"

#include <algorithm>
#include <map>
#include <set>

namespace rankwire {
namespace {

struct BlockedQueue {
  std::vector<uint32_t> successors;  ///< queue numbers
};
using WaitGraph = std::map<uint32_t, BlockedQueue>;  // by queue number

/// Removes what waits for nothing that is blocked, until all that is left leads to a cycle.
void prune(WaitGraph& graph) {
  const auto leads_nowhere = [&](const auto& entry) {
    return std::ranges::none_of(entry.second.successors, [&](uint32_t next) { return graph.contains(next); });
  };
  for (auto found = std::ranges::find_if(graph, leads_nowhere); found != graph.end();
       found = std::ranges::find_if(graph, leads_nowhere)) {
    graph.erase(found);
  }
}

/// Follows first successors until a queue comes twice. `graph` is pruned and not empty.
std::vector<uint32_t> cycle_of(const WaitGraph& graph) {
  std::vector<uint32_t> path;
  uint32_t at = graph.begin()->first;
  for (auto seen = path.end(); seen == path.end(); seen = std::ranges::find(path, at)) {
    path.push_back(at);
    at = *std::ranges::find_if(graph.at(at).successors, [&](uint32_t next) { return graph.contains(next); });
  }
  path.erase(path.begin(), std::ranges::find(path, at));
  return path;
}

}  // namespace

std::vector<FabricQueueId> deadlocked_queues(const FabricTables& tables, const FabricPauses& pauses, Time now) {
  WaitGraph graph;
  for (uint32_t p = 0; p < tables.first_host_port; ++p) {
    const PrioritySet blocked = tables.ports[p].waiting & pauses.paused(p, now);
    for (uint32_t i = 0; i < kPriorities; ++i) {
      if ((blocked & priority_bit(i)) != 0 && tables.ingress(p ^ 1, i).group.paused)
        graph[FabricTables::queue_number(p, i)];
    }
  }
  for (const auto& [queue, blocked] : graph) {
    std::set<uint32_t> ingresses;
    const uint32_t port = queue / kPriorities, priority = queue % kPriorities;
    for (uint32_t h = tables.egress(port, priority).packets.head; h != FabricPacket::kNone;
         h = tables.packets[h].next) {
      ingresses.insert(tables.packets[h].ingress);
    }
    for (const uint32_t ingress : ingresses) {
      if (tables.is_host_port(ingress)) continue;
      const auto waiting = graph.find(FabricTables::queue_number(ingress ^ 1, priority));
      if (waiting != graph.end()) waiting->second.successors.push_back(queue);
    }
  }
  prune(graph);
  if (graph.empty()) return {};
  std::vector<FabricQueueId> cycle;
  for (const uint32_t queue : cycle_of(graph)) cycle.push_back({queue / kPriorities, queue % kPriorities});
  return cycle;
}

}  // namespace rankwire

#include "emulator/collective/edges.h"

#include <algorithm>
#include <unordered_map>

namespace rankwire {

Edges edges_of(const Schedule& schedule) {
  Edges result;
  const size_t steps = schedule.steps.size();
  result.edge_of.resize(steps);
  result.ordinal_of.resize(steps);
  std::unordered_map<uint64_t, uint32_t> known;
  uint32_t messages = 0;
  for (size_t i = 0; i < steps; ++i) {
    const Step& step = schedule.steps[i];
    if (step.kind == StepKind::kReduce) continue;
    ++messages;
    const uint64_t key = uint64_t{step.peer} << 10 | uint64_t{step.channel} << 2 | uint64_t{step.control} << 1 |
                         uint64_t{step.kind == StepKind::kReceive};
    const auto [entry, added] = known.try_emplace(key, static_cast<uint32_t>(result.edges.size()));
    if (added)
      result.edges.push_back({.peer = step.peer, .channel = step.channel, .control = step.control, .kind = step.kind});
    Edges::Edge& edge = result.edges[entry->second];
    result.edge_of[i] = entry->second;
    result.ordinal_of[i] = edge.count++;
    edge.bytes += step.message;
    edge.largest = std::max(edge.largest, step.message);
  }
  uint32_t offset = 0;
  for (Edges::Edge& edge : result.edges) offset += edge.count, edge.first_step = offset - edge.count;
  result.edge_steps.resize(messages);
  for (size_t i = 0; i < steps; ++i) {
    if (schedule.steps[i].kind == StepKind::kReduce) continue;
    result.edge_steps[result.edges[result.edge_of[i]].first_step + result.ordinal_of[i]] = static_cast<uint32_t>(i);
  }
  return result;
}

}  // namespace rankwire

// A plan of one operation, step by step.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "emulator/collective/schedule_builder.h"
#include "emulator/engine/plan.h"

namespace rankwire::testing {

inline Step step_of(StepKind kind, uint32_t peer, uint16_t step, int64_t bytes) {
  return {.kind = kind, .step = step, .peer = peer, .bytes = Bytes(bytes), .message = Bytes(bytes)};
}
inline Step send(uint32_t peer, uint16_t step, int64_t bytes) {
  return step_of(StepKind::kSend, peer, step, bytes);
}
inline Step receive(uint32_t peer, uint16_t step, int64_t bytes) {
  return step_of(StepKind::kReceive, peer, step, bytes);
}
inline Step reduce(uint32_t peer, uint16_t step, int64_t bytes) {
  return step_of(StepKind::kReduce, peer, step, bytes);
}

/// Node 0 of every rank runs in the slot with the rank's number.
class HandMadePlan {
 public:
  /// Within one host. Connections are numbered as they come.
  ConnectionId connect(uint32_t source, uint32_t destination, uint32_t messages) {
    const ConnectionId id(static_cast<uint32_t>(plan_.transport.connections.size()));
    plan_.transport.connections.push_back({.id = id,
                                           .source = RankId(source),
                                           .destination = RankId(destination),
                                           .path = Path::kLocal,
                                           .messages_per_iteration = messages});
    return id;
  }
  /// The next rank's steps, which start after others, and the connections of its edges in the order of their first
  /// steps.
  void add_rank(const std::vector<Step>& steps, const std::vector<StepEdge>& after,
                const std::vector<ConnectionId>& edges) {
    const uint32_t rank = plan_.transport.ranks++;
    plan_.schedules.push_back(planned_schedule(make_schedule(steps, after)));
    plan_.nodes.push_back({{.schedule = rank, .first_edge = static_cast<uint32_t>(plan_.edges.size()), .slot = rank}});
    for (const ConnectionId connection : edges) plan_.edges.push_back({connection, 0});
  }
  Plan build() {
    index_plan(plan_);
    return std::move(plan_);
  }

 private:
  Plan plan_;
};

}  // namespace rankwire::testing

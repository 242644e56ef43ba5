// What follows from a plan's edges: whose a message is, how large, and what a schedule's slot must have room for.
#include <algorithm>
#include <numeric>
#include <span>
#include <utility>

#include "emulator/engine/plan.h"

namespace rankwire {
namespace {

template <class With>
void for_each_edge(const Plan& plan, StepKind kind, With with) {
  for (const std::vector<NodePlan>& nodes : plan.nodes) {
    for (uint32_t n = 0; n < nodes.size(); ++n) {
      if (nodes[n].schedule == NodePlan::kNone) continue;
      const PlannedSchedule& planned = plan.schedules[nodes[n].schedule];
      for (uint32_t e = 0; e < planned.edges.size(); ++e) {
        if (planned.edges[e].kind != kind) continue;
        const EdgePlan& placed = plan.edges[nodes[n].first_edge + e];
        with(placed.connection, EdgeMessages{placed.first_index, n, nodes[n].slot, planned.edges[e].first_step});
      }
    }
  }
}

MessageOwners owners(const Plan& plan, StepKind kind) {
  MessageOwners result;
  result.begin.assign(plan.transport.connections.size() + 1, 0);
  for_each_edge(plan, kind, [&](ConnectionId c, const EdgeMessages&) { ++result.begin[c.value + 1]; });
  for (size_t c = 1; c < result.begin.size(); ++c) result.begin[c] += result.begin[c - 1];
  result.edges.resize(result.begin.back());
  std::vector<uint32_t> next(result.begin.begin(), result.begin.end() - 1);
  for_each_edge(plan, kind, [&](ConnectionId c, const EdgeMessages& edge) { result.edges[next[c.value]++] = edge; });
  for (size_t c = 0; c + 1 < result.begin.size(); ++c) {
    const std::span edges(result.edges.data() + result.begin[c], result.begin[c + 1] - result.begin[c]);
    if (!std::ranges::is_sorted(edges, {}, &EdgeMessages::first_index))
      std::ranges::sort(edges, {}, &EdgeMessages::first_index);
  }
  return result;
}

/// A slot has room for the longest schedule that runs in it, and all its sends may be in flight.
void size_slots(Plan& plan) {
  std::vector<uint32_t> sends;
  for (const std::vector<NodePlan>& nodes : plan.nodes) {
    for (const NodePlan& node : nodes) {
      if (node.schedule == NodePlan::kNone) continue;
      if (sends.size() <= node.slot) sends.resize(node.slot + 1), plan.slot_steps.resize(node.slot + 1);
      const PlannedSchedule& planned = plan.schedules[node.schedule];
      const auto steps = static_cast<uint32_t>(planned.schedule.steps.size());
      plan.slot_steps[node.slot] = std::max(plan.slot_steps[node.slot], steps);
      sends[node.slot] = std::max(sends[node.slot], planned.sends);
    }
  }
  const uint64_t sum = std::accumulate(sends.begin(), sends.end(), uint64_t{0});
  plan.transport.messages_in_flight = static_cast<uint32_t>(std::min<uint64_t>(sum, UINT32_MAX));
}

}  // namespace

PlannedSchedule planned_schedule(Schedule schedule) {
  PlannedSchedule result{edges_of(schedule)};
  result.join_of.resize(schedule.steps.size());
  for (uint32_t i = 0; i < schedule.steps.size(); ++i) {
    result.channels = std::max<uint32_t>(result.channels, schedule.steps[i].channel + 1u);
    result.sends += schedule.steps[i].kind == StepKind::kSend;
    if (schedule.predecessors[i] == 0) result.first_steps.push_back(i);
    if (schedule.predecessors[i] > 1) result.join_of[i] = result.joins++;
  }
  schedule.scattered = {};  // sizes are all that a run needs
  result.schedule = std::move(schedule);
  return result;
}

void index_plan(Plan& plan) {
  for (const Connection& c : plan.transport.connections) {
    plan.first_message.push_back(plan.messages_per_iteration);
    plan.messages_per_iteration += c.messages_per_iteration;
  }
  size_slots(plan);
  plan.senders = owners(plan, StepKind::kSend);
  plan.receivers = owners(plan, StepKind::kReceive);
}

void add_folded_slots(Plan& plan, const Workload& workload) {
  uint64_t in_flight = plan.transport.messages_in_flight;
  for (uint32_t rank = 0; rank < workload.ranks.size(); ++rank) {
    const RankTrace& trace = workload.ranks[rank];
    for (uint32_t n = 0; n < trace.nodes.size(); ++n) {
      if (trace.nodes[n].kind == NodeKind::kCollective) continue;
      const PlannedSchedule& planned = plan.schedules[plan.nodes[rank][n].schedule];
      const uint32_t others = trace.times_of(n) - 1;
      plan.slot_steps.insert(plan.slot_steps.end(), others, static_cast<uint32_t>(planned.schedule.steps.size()));
      in_flight += uint64_t{others} * planned.sends;
    }
  }
  plan.transport.messages_in_flight = static_cast<uint32_t>(std::min<uint64_t>(in_flight, UINT32_MAX));
}

MessageEnds Plan::ends(ConnectionId connection, uint32_t index) const {
  const Connection& c = transport.connections[connection.value];
  uint32_t at_source = 0, at_destination = 0;
  const EdgeMessages& sent = senders.find(connection, index, at_source);
  const EdgeMessages& received = receivers.find(connection, index, at_destination);
  const auto step_at = [&](RankId rank, const EdgeMessages& edge) {
    return schedules[nodes[rank.value][edge.node].schedule].edge_steps[edge.first_step + index - edge.first_index];
  };
  return {.source_node = sent.node,
          .source_step = step_at(c.source, sent),
          .destination_node = received.node,
          .destination_step = step_at(c.destination, received)};
}

Step Plan::step(const NodePlan& node, uint32_t step) const {
  const PlannedSchedule& planned = schedules[node.schedule];
  Step result = planned.schedule.steps[step];
  result.peer = planned.peer_of(result.peer, node.position);
  return result;
}

std::vector<uint32_t> message_bytes(const Plan& plan) {
  std::vector<uint32_t> sizes;
  sizes.reserve(plan.messages_per_iteration);
  for (const Connection& c : plan.transport.connections) {
    for (uint32_t i = plan.senders.begin[c.id.value]; i < plan.senders.begin[c.id.value + 1]; ++i) {
      const EdgeMessages& edge = plan.senders.edges[i];
      const bool last = i + 1 == plan.senders.begin[c.id.value + 1];
      const uint32_t end = last ? c.messages_per_iteration : plan.senders.edges[i + 1].first_index;
      const PlannedSchedule& planned = plan.schedules[plan.nodes[c.source.value][edge.node].schedule];
      for (uint32_t n = 0; n < end - edge.first_index; ++n) {
        const Step& step = planned.schedule.steps[planned.edge_steps[edge.first_step + n]];
        sizes.push_back(static_cast<uint32_t>(step.message.count));
      }
    }
  }
  return sizes;
}

}  // namespace rankwire

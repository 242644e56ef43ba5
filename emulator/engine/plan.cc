#include "emulator/engine/plan.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "base/error.h"

namespace rankwire {
namespace {

PlannedSchedule sort_by_edge(Schedule schedule) {
  PlannedSchedule planned;
  const size_t steps = schedule.steps.size();
  planned.edge_of.resize(steps);
  planned.ordinal_of.resize(steps);
  std::map<std::tuple<StepKind, uint32_t, uint8_t>, uint32_t> known;
  for (size_t i = 0; i < steps; ++i) {
    const Step& step = schedule.steps[i];
    planned.channels = std::max<uint32_t>(planned.channels, step.channel + 1u);
    if (step.kind == StepKind::kReduce) continue;
    auto [entry, added] =
        known.try_emplace({step.kind, step.peer, step.channel}, static_cast<uint32_t>(planned.edges.size()));
    if (added) planned.edges.push_back({.peer = step.peer, .channel = step.channel, .kind = step.kind});
    PlannedSchedule::Edge& edge = planned.edges[entry->second];
    planned.edge_of[i] = entry->second;
    planned.ordinal_of[i] = edge.count++;
    edge.bytes += step.bytes;
    edge.largest = std::max(edge.largest, step.bytes);
    planned.sends += step.kind == StepKind::kSend;
  }
  uint32_t offset = 0;
  for (PlannedSchedule::Edge& edge : planned.edges) offset += edge.count, edge.first_step = offset - edge.count;
  planned.edge_steps.resize(offset);
  for (size_t i = 0; i < steps; ++i) {
    if (schedule.steps[i].kind == StepKind::kReduce) continue;
    planned.edge_steps[planned.edges[planned.edge_of[i]].first_step + planned.ordinal_of[i]] = static_cast<uint32_t>(i);
  }
  planned.schedule = std::move(schedule);
  return planned;
}

class Planner {
 public:
  Planner(const Workload& workload, const Placement& placement, const ScheduleOptions& options)
      : workload_(workload), placement_(placement), options_(options) {
    plan_.transport.nics = placement.nics;
    plan_.transport.ranks = static_cast<uint32_t>(workload.ranks.size());
  }

  Plan run(uint32_t iterations) {
    for (uint32_t r = 0; r < workload_.ranks.size(); ++r) plan_rank(RankId(r));
    check_both_ends_agree();
    lay_out_messages();
    for (const Connection& c : plan_.transport.connections) {
      plan_.messages_per_iteration += c.messages_per_iteration;
      (c.path == Path::kWire ? plan_.bytes_wire : plan_.bytes_local) += c.bytes_per_iteration;
      if (uint64_t{c.messages_per_iteration} * iterations > UINT32_MAX) {
        fail_input(
            "workload.iterations: {} iterations of {} messages from rank {} to rank {} exceed the 2^32 that a "
            "connection can number; raise collectives.chunk or lower the iterations",
            iterations, c.messages_per_iteration, c.source.value, c.destination.value);
      }
    }
    plan_.transport.messages_in_flight = messages_in_flight();
    return std::move(plan_);
  }

 private:
  void plan_rank(RankId rank) {
    const RankTrace& trace = workload_.ranks[rank.value];
    std::vector<NodePlan>& nodes = plan_.nodes.emplace_back(trace.nodes.size());
    std::vector<uint32_t> point_to_point;
    for (uint32_t i = 0; i < trace.nodes.size(); ++i) {
      const NodeKind kind = trace.nodes[i].kind;
      if (kind == NodeKind::kCollective) {
        nodes[i] = plan_node(rank, trace.nodes[i]);
        // A group runs one collective at a time.
        const auto [slot, added] = collective_slots_.try_emplace({rank, trace.nodes[i].group}, next_slot());
        take_slot(nodes[i], slot->second);
      }
      if (kind == NodeKind::kSend || kind == NodeKind::kReceive) point_to_point.push_back(i);
    }
    std::sort(point_to_point.begin(), point_to_point.end(), [&](uint32_t a, uint32_t b) {
      const Node &x = trace.nodes[a], &y = trace.nodes[b];
      return std::tie(x.tag_ordinal, x.sequence, a) < std::tie(y.tag_ordinal, y.sequence, b);
    });
    for (uint32_t i : point_to_point) {
      nodes[i] = plan_node(rank, trace.nodes[i]);
      take_slot(nodes[i], next_slot());
    }
  }

  uint32_t next_slot() const { return static_cast<uint32_t>(plan_.slot_steps.size()); }

  void take_slot(NodePlan& node, uint32_t slot) {
    if (slot == next_slot()) {
      plan_.slot_steps.push_back(0);
      slot_sends_.push_back(0);
    }
    node.slot = slot;
    const PlannedSchedule& planned = plan_.schedules[node.schedule];
    plan_.slot_steps[slot] = std::max(plan_.slot_steps[slot], static_cast<uint32_t>(planned.schedule.steps.size()));
    slot_sends_[slot] = std::max(slot_sends_[slot], planned.sends);
  }

  uint32_t messages_in_flight() const {
    uint64_t sum = 0;
    for (uint32_t sends : slot_sends_) sum += sends;
    return static_cast<uint32_t>(std::min<uint64_t>(sum, UINT32_MAX));
  }

  void lay_out_messages() {
    uint64_t offset = 0;
    for (const Connection& c : plan_.transport.connections) {
      plan_.first_message.push_back(offset);
      offset += c.messages_per_iteration;
    }
    plan_.messages.resize(offset);
    for (uint32_t r = 0; r < plan_.nodes.size(); ++r) {
      for (uint32_t n = 0; n < plan_.nodes[r].size(); ++n) {
        if (plan_.nodes[r][n].schedule != NodePlan::kNone) lay_out_node(plan_.nodes[r][n], n);
      }
    }
  }

  void lay_out_node(const NodePlan& node, uint32_t index) {
    const PlannedSchedule& planned = plan_.schedules[node.schedule];
    for (uint32_t e = 0; e < planned.edges.size(); ++e) {
      const PlannedSchedule::Edge& edge = planned.edges[e];
      const EdgePlan& placed = plan_.edges[node.first_edge + e];
      for (uint32_t k = 0; k < edge.count; ++k) {
        MessageEnds& ends = plan_.messages[plan_.first_message[placed.connection.value] + placed.first_index + k];
        const uint32_t step = planned.edge_steps[edge.first_step + k];
        if (edge.kind == StepKind::kSend) {
          ends.source_node = index, ends.source_step = step;
        } else {
          ends.destination_node = index, ends.destination_step = step;
        }
      }
    }
  }

  NodePlan plan_node(RankId rank, const Node& node) {
    NodePlan result{.schedule = schedule_for(rank, node), .first_edge = static_cast<uint32_t>(plan_.edges.size())};
    for (const PlannedSchedule::Edge& edge : plan_.schedules[result.schedule].edges) {
      const RankId peer =
          node.kind == NodeKind::kCollective ? workload_.groups[node.group.value].members[edge.peer] : node.peer;
      const bool sends = edge.kind == StepKind::kSend;
      const ConnectionId id = connection(node.group, sends ? rank : peer, sends ? peer : rank, edge.channel);
      uint32_t& counter = sends ? plan_.transport.connections[id.value].messages_per_iteration : received_[id.value];
      plan_.edges.push_back({id, counter});
      counter += edge.count;
      if (!sends) continue;
      Connection& c = plan_.transport.connections[id.value];
      c.bytes_per_iteration += edge.bytes;
      c.largest_message = std::max(c.largest_message, edge.largest);
    }
    return result;
  }

  uint32_t schedule_for(RankId rank, const Node& node) {
    ScheduleRequest request{.operation = operation_of(node), .bytes = node.bytes, .element = workload_.element};
    if (node.kind == NodeKind::kCollective) {
      const std::vector<RankId>& members = workload_.groups[node.group.value].members;
      const auto position_of = [&](RankId r) {
        return static_cast<uint32_t>(std::find(members.begin(), members.end(), r) - members.begin());
      };
      request.members = static_cast<uint32_t>(members.size());
      request.position = position_of(rank);
      request.root = node.peer.valid() ? position_of(node.peer) : 0;
    } else {
      request.members = 2;
      request.position = node.kind == NodeKind::kSend ? 0 : 1;
    }
    const auto key = std::make_tuple(request.operation, request.members, request.position, request.root, request.bytes);
    auto [entry, added] = known_schedules_.try_emplace(key, static_cast<uint32_t>(plan_.schedules.size()));
    if (added) plan_.schedules.push_back(sort_by_edge(make_schedule(request, options_)));
    return entry->second;
  }

  ConnectionId connection(GroupId group, RankId source, RankId destination, uint8_t channel) {
    const auto key = std::make_tuple(group, source, destination, channel);
    auto [entry, added] =
        known_connections_.try_emplace(key, ConnectionId(static_cast<uint32_t>(known_connections_.size())));
    if (added) {
      plan_.transport.connections.push_back({.id = entry->second,
                                             .job = group.valid() ? workload_.groups[group.value].job : JobId(0),
                                             .group = group,
                                             .source = source,
                                             .destination = destination,
                                             .source_nic = placement_.nic[source.value],
                                             .destination_nic = placement_.nic[destination.value],
                                             .path = placement_.path(source, destination),
                                             .channel = channel});
      received_.push_back(0);
    }
    return entry->second;
  }

  void check_both_ends_agree() const {
    for (const Connection& c : plan_.transport.connections) {
      if (c.messages_per_iteration == received_[c.id.value]) continue;
      fail_input("rank {} sends {} messages to rank {} on one connection, which expects {}: their traces disagree",
                 c.source.value, c.messages_per_iteration, c.destination.value, received_[c.id.value]);
    }
  }

  const Workload& workload_;
  const Placement& placement_;
  const ScheduleOptions& options_;
  Plan plan_;
  std::vector<uint32_t> received_;  // by connection: messages that the destination expects an iteration
  std::map<std::tuple<Operation, uint32_t, uint32_t, uint32_t, Bytes>, uint32_t> known_schedules_;
  std::map<std::tuple<GroupId, RankId, RankId, uint8_t>, ConnectionId> known_connections_;
  std::map<std::pair<RankId, GroupId>, uint32_t> collective_slots_;
  std::vector<uint32_t> slot_sends_;  // by slot: the most sends of a schedule that runs in it
};

}  // namespace

Operation operation_of(const Node& node) {
  if (node.kind != NodeKind::kCollective) return Operation::kPointToPoint;
  switch (node.collective) {
    case CollectiveKind::kAllReduce:
      return Operation::kAllReduce;
    case CollectiveKind::kReduce:
      return Operation::kReduce;
    case CollectiveKind::kAllGather:
      return Operation::kAllGather;
    case CollectiveKind::kGather:
      return Operation::kGather;
    case CollectiveKind::kScatter:
      return Operation::kScatter;
    case CollectiveKind::kBroadcast:
      return Operation::kBroadcast;
    case CollectiveKind::kAllToAll:
      return Operation::kAllToAll;
    case CollectiveKind::kReduceScatter:
    case CollectiveKind::kReduceScatterBlock:
      return Operation::kReduceScatter;
    case CollectiveKind::kBarrier:
      return Operation::kBarrier;
  }
  fail_input("node {} '{}': collective kind {} is unknown", node.id, node.name, static_cast<int>(node.collective));
}

MessageId message_id(const Workload& workload, RankId rank, uint32_t node, const Step& step, uint32_t iteration) {
  const Node& n = workload.ranks[rank.value].nodes[node];
  const bool collective = n.kind == NodeKind::kCollective;
  const RankId peer = collective ? workload.groups[n.group.value].members[step.peer] : n.peer;
  const bool sends = step.kind == StepKind::kSend;
  MessageId id;
  id.group = collective ? n.group.value : MessageId::kPointToPoint;
  id.sequence = n.sequence;
  id.iteration = iteration;
  id.job = collective ? workload.groups[n.group.value].job.value : 0;
  id.channel = step.channel;
  id.source = sends ? rank.value : peer.value;
  id.destination = sends ? peer.value : rank.value;
  id.step = collective ? step.step : n.tag_ordinal;
  id.slice = step.slice;
  return id;
}

Plan make_plan(const Workload& workload, const Placement& placement, const ScheduleOptions& options,
               uint32_t iterations) {
  return Planner(workload, placement, options).run(iterations);
}

}  // namespace rankwire

// Everything that is decided before the run: schedules, connections, and the place of every message on its connection.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "base/message.h"
#include "base/transport.h"
#include "emulator/collective/edges.h"
#include "emulator/collective/schedule.h"
#include "emulator/collective/turning.h"
#include "emulator/workload/placement.h"
#include "emulator/workload/workload.h"

namespace rankwire {

/// A schedule with its messages sorted by connection.
struct PlannedSchedule : Edges {
  Schedule schedule;
  uint32_t sends = 0;
  uint32_t channels = 0;
  /// Members of the group when others share this schedule (see turning.h), else 0: NodePlan::position places further
  /// on the ring are the peers.
  uint32_t turns = 0;
  uint32_t turned_from = 0;           ///< whose schedule it is: of the member at this position
  std::vector<uint32_t> first_steps;  ///< those without predecessors
  /// By step with more than one predecessor, which must count them: its place among such. Meaningless for others.
  std::vector<uint32_t> join_of;
  uint32_t joins = 0;

  /// The peer's position in the group, of a step or an edge, for a node at `position`.
  uint32_t peer_of(uint32_t peer, uint32_t position) const {
    return turns == 0 ? peer : turned_peer(peer, position, turns);
  }
};

/// What the engine wants to know of a schedule.
PlannedSchedule planned_schedule(Schedule schedule);

/// Where an edge of one node's schedule stands on its connection.
struct EdgePlan {
  ConnectionId connection;
  uint32_t first_index = 0;  ///< index of the edge's first message within an iteration
};

/// One communication node. Its edges stand in Plan::edges from `first_edge` on, parallel to the schedule's. `slot` is
/// where its state stands while it runs: nodes that can never run at the same time share one.
struct NodePlan {
  static constexpr uint32_t kNone = UINT32_MAX;
  uint32_t schedule = kNone;
  uint32_t first_edge = 0;
  uint32_t slot = kNone;
  uint32_t position = 0;  ///< by which a shared schedule is turned, see PlannedSchedule::turns
};

/// The two ends of a message: node index and step at either rank.
struct MessageEnds {
  uint32_t source_node = 0, source_step = 0;
  uint32_t destination_node = 0, destination_step = 0;
};

/// Messages of one connection that one edge of one node sends or receives: consecutive ones from `first_index` on, up
/// to the next.
struct EdgeMessages {
  uint32_t first_index = 0;  ///< within an iteration
  uint32_t node = 0;
  uint32_t slot = 0;        ///< the node's
  uint32_t first_step = 0;  ///< offset into its schedule's `edge_steps`
};

/// Whose every message of every connection is, at one of its ends.
struct MessageOwners {
  std::vector<uint32_t> begin;      ///< connections + 1 offsets into `edges`
  std::vector<EdgeMessages> edges;  ///< by connection and first_index

  /// Of the index-th message of an iteration. `hint` is the caller's, for each connection: it begins as 0, and makes
  /// the search short where messages come in their order.
  const EdgeMessages& find(ConnectionId connection, uint32_t index, uint32_t& hint) const noexcept {
    const EdgeMessages* const first = edges.data() + begin[connection.value];
    const uint32_t count = begin[connection.value + 1] - begin[connection.value];
    const auto holds = [&](uint32_t i) {
      return first[i].first_index <= index && (i + 1 == count || index < first[i + 1].first_index);
    };
    if (holds(hint)) return first[hint];
    hint = hint + 1 < count && holds(hint + 1) ? hint + 1 : search(first, count, index);
    return first[hint];
  }

 private:
  static uint32_t search(const EdgeMessages* first, uint32_t count, uint32_t index) noexcept {
    const auto after = [](uint32_t i, const EdgeMessages& edge) { return i < edge.first_index; };
    return static_cast<uint32_t>(std::upper_bound(first, first + count, index, after) - first) - 1;
  }
};

struct Plan {
  TransportPlan transport;
  std::vector<PlannedSchedule> schedules;
  std::vector<std::vector<NodePlan>> nodes;  ///< by rank and node index
  std::vector<EdgePlan> edges;
  std::vector<uint64_t> first_message;  ///< by connection: the messages of an iteration on all those before it
  MessageOwners senders, receivers;
  std::vector<uint32_t> slot_steps;     ///< by slot: the most steps of a schedule that runs in it
  uint64_t messages_per_iteration = 0;  ///< clear-to-send included
  Bytes bytes_wire, bytes_local;        ///< payload an iteration, of data messages; local: that no wire carries
  uint64_t control_messages = 0;        ///< clear-to-send an iteration, always on the wire
  Bytes control_bytes;                  ///< their payload

  /// The index-th message of an iteration, looked up without a hint.
  MessageEnds ends(ConnectionId connection, uint32_t index) const;
  /// Of the node at its rank, with the peer's position in the group.
  Step step(const NodePlan& node, uint32_t step) const;
};

/// Where each slot's share begins of a table in which it has as many entries as `of(schedule)` says, of all schedules
/// that run in it the most: one offset a slot, and the size of the table.
template <class Of>
std::vector<uint64_t> offsets_by_slot(const Plan& plan, Of of) {
  std::vector<uint64_t> offsets(plan.slot_steps.size() + 1, 0);
  for (const std::vector<NodePlan>& nodes : plan.nodes) {
    for (const NodePlan& node : nodes) {
      if (node.slot == NodePlan::kNone) continue;
      uint64_t& most = offsets[node.slot + 1];
      most = std::max<uint64_t>(most, of(plan.schedules[node.schedule]));
    }
  }
  std::partial_sum(offsets.begin(), offsets.end(), offsets.begin());
  return offsets;
}

/// Fills in what follows from connections, schedules, nodes and edges: sizes of slots, messages in flight, and whose
/// each message is.
void index_plan(Plan& plan);
/// The slots of what the SENDs and RECVs of a folded workload stand for, each its own.
void add_folded_slots(Plan& plan, const Workload& workload);

/// What all iterations of all jobs send that are not idle. `iterations` are those of a workload without `jobs`.
struct PlannedTraffic {
  uint64_t messages = 0;  ///< clear-to-send included
  Bytes wire, local;      ///< payload of data messages
};
PlannedTraffic planned_traffic(const Workload& workload, const Plan& plan, uint32_t iterations);

/// TransportPlan::message_bytes of the plan: 4 bytes a message, so only for transports that need it.
std::vector<uint32_t> message_bytes(const Plan& plan);

/// Expands every communication node; of a folded workload it has connections with their counts, slots and schedules,
/// and nothing of the place of a message. A clear-to-send travels on a connection of its own that shares the queue
/// pairs of the data that it grants (Connection::reverse_of). Both ends number the messages of a connection alike:
/// collectives in the group's file order, point-to-point by (tag, n-th). `transport.message_bytes` is left empty.
/// Throws Error(kInput) when a MessageId cannot name what the trace asks for. `iterations` are those of a workload
/// without `jobs`.
Plan make_plan(const Workload& workload, const Placement& placement, const ScheduleOptions& options,
               uint32_t iterations);
/// The same with options for each job, not null; jobs of equal ones had better share what they point to.
Plan make_plan_by_job(const Workload& workload, const Placement& placement,
                      std::span<const ScheduleOptions* const> by_job, uint32_t iterations);

/// The id of the message that `step` (a send or a receive of the node, as Plan::step gives it) is one end of.
MessageId message_id(const Workload& workload, RankId rank, uint32_t node, const Step& step, uint32_t iteration);

/// The schedule's operation for a communication node.
Operation operation_of(const Node& node);

}  // namespace rankwire

// Everything that is decided before the run: schedules, connections, and the place of every message on its connection.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/message.h"
#include "base/transport.h"
#include "emulator/collective/edges.h"
#include "emulator/collective/schedule.h"
#include "emulator/workload/placement.h"
#include "emulator/workload/workload.h"

namespace rankwire {

/// A schedule with its messages sorted by connection.
struct PlannedSchedule : Edges {
  Schedule schedule;
  uint32_t sends = 0;
  uint32_t channels = 0;
};

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
};

/// The two ends of a message: node index and step at either rank.
struct MessageEnds {
  uint32_t source_node = 0, source_step = 0;
  uint32_t destination_node = 0, destination_step = 0;
};

struct Plan {
  TransportPlan transport;
  std::vector<PlannedSchedule> schedules;
  std::vector<std::vector<NodePlan>> nodes;  ///< by rank and node index
  std::vector<EdgePlan> edges;
  std::vector<uint64_t> first_message;  ///< by connection: offset of its messages in `messages`
  std::vector<MessageEnds> messages;    ///< of one iteration, connection by connection, in index order
  std::vector<uint32_t> slot_steps;     ///< by slot: the most steps of a schedule that runs in it
  uint64_t messages_per_iteration = 0;  ///< clear-to-send included
  Bytes bytes_wire, bytes_local;        ///< payload an iteration, of data messages
  uint64_t control_messages = 0;        ///< clear-to-send an iteration, always on the wire
  Bytes control_bytes;                  ///< their payload
};

/// Expands every communication node. A clear-to-send travels on a connection of its own that shares the queue pairs of
/// the data that it grants (Connection::reverse_of). Both ends number the messages of a connection alike: collectives
/// in the group's file order, point-to-point by (tag, n-th). Throws Error(kInput) when a MessageId cannot name what the
/// trace asks for.
Plan make_plan(const Workload& workload, const Placement& placement, const ScheduleOptions& options,
               uint32_t iterations);

/// The id of the message that `step` (a send or a receive of the node's schedule) is one end of.
MessageId message_id(const Workload& workload, RankId rank, uint32_t node, const Step& step, uint32_t iteration);

/// The schedule's operation for a communication node.
Operation operation_of(const Node& node);

}  // namespace rankwire

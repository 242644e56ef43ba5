#include "emulator/engine/plan.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "base/error.h"

namespace rankwire {
namespace {

/// Where the other members of a group stand, seen from one of them. What nobody asks for is empty.
struct Surroundings {
  uint32_t nodes = 0;                 ///< hosts, all together
  std::vector<bool> local;            ///< by position
  std::vector<uint32_t> hosts;        ///< by position, numbered as they appear
  std::vector<uint32_t> ring;         ///< positions in the order of the ring
  std::vector<uint32_t> aggregation;  ///< as Group::aggregation
  /// `local` by distance from the member; equal ones are one object. Null where nobody asks for `local`.
  const std::vector<bool>* local_by_distance = nullptr;

  auto operator<=>(const Surroundings&) const = default;
};

struct ConnectionKey {
  GroupId group;
  RankId source, destination;
  uint8_t channel;
  bool control;

  bool operator==(const ConnectionKey&) const = default;
};

struct ConnectionHash {
  size_t operator()(const ConnectionKey& key) const noexcept {
    const uint64_t ends = uint64_t{key.source.value} << 32 | key.destination.value;
    const uint64_t owner = uint64_t{key.group.value} << 16 | uint64_t{key.channel} << 1 | uint64_t{key.control};
    return mix64(ends + 0x9E3779B97F4A7C15u * owner);
  }
};

class Planner {
 public:
  /// `by_job`: of each job, or of all of a workload without `jobs`.
  Planner(const Workload& workload, const Placement& placement, std::span<const ScheduleOptions* const> by_job)
      : workload_(workload), placement_(placement), by_job_(by_job) {
    plan_.transport.nics = placement.nics;
    plan_.transport.ranks = static_cast<uint32_t>(workload.ranks.size());
  }

  Plan run(uint32_t iterations) {
    for (uint32_t r = 0; r < workload_.ranks.size(); ++r) {
      options_ = by_job_[workload_.jobs.empty() ? 0 : workload_.ranks[r].job.value];
      plan_rank(RankId(r));
    }
    check_both_ends_agree();
    index_plan(plan_);
    if (workload_.folded) add_folded_slots(plan_, workload_);
    for (const Connection& c : plan_.transport.connections) {
      plan_.control_messages += c.control ? c.messages_per_iteration : 0;
      (c.control               ? plan_.control_bytes
       : c.path == Path::kWire ? plan_.bytes_wire
                               : plan_.bytes_local) += c.bytes_per_iteration;
      const uint32_t times = workload_.iterations_of(c.job, iterations);
      if (uint64_t{c.messages_per_iteration} * times > UINT32_MAX) fail_too_many(c, c.messages_per_iteration, times);
    }
    return std::move(plan_);
  }

 private:
  [[noreturn]] void fail_too_many(const Connection& c, uint64_t messages, uint32_t iterations) const {
    const ScheduleOptions& options = *by_job_[workload_.jobs.empty() ? 0 : c.job.value];
    fail_input(
        "{}: {} iterations of {} messages from rank {} to rank {} exceed the 2^32 that a connection can number; raise "
        "{} or lower the iterations",
        options.chunk_key, iterations, messages, c.source.value, c.destination.value,
        options.nccl ? "buffer and p2p_chunk" : "the chunk");
  }

  /// Whose options and in which elements.
  using Manner = std::pair<const ScheduleOptions*, Bytes>;

  /// Operation, members, position, root, bytes, blocks, surroundings.
  using ScheduleKey =
      std::tuple<Manner, Operation, uint32_t, uint32_t, uint32_t, Bytes, const Bytes*, const Surroundings*>;

  /// Operation, members, root, bytes, blocks, nodes, local members by their distance.
  using TurningKey =
      std::tuple<Manner, Operation, uint32_t, uint32_t, Bytes, const Bytes*, uint32_t, const std::vector<bool>*>;

  void plan_rank(RankId rank) {
    const RankTrace& trace = workload_.ranks[rank.value];
    std::vector<NodePlan>& nodes = plan_.nodes.emplace_back(trace.nodes.size());
    std::vector<uint32_t> point_to_point;
    for (uint32_t i = 0; i < trace.nodes.size(); ++i) {
      const NodeKind kind = trace.nodes[i].kind;
      if (kind == NodeKind::kCollective) {
        nodes[i] = plan_node(rank, trace.nodes[i], trace.times_of(i));
        // A group runs one collective at a time.
        const auto [slot, added] = collective_slots_.try_emplace({rank, trace.nodes[i].group}, slots_);
        slots_ += added;
        nodes[i].slot = slot->second;
      }
      if (kind == NodeKind::kSend || kind == NodeKind::kReceive) point_to_point.push_back(i);
    }
    std::sort(point_to_point.begin(), point_to_point.end(), [&](uint32_t a, uint32_t b) {
      const Node &x = trace.nodes[a], &y = trace.nodes[b];
      return std::tie(x.tag_ordinal, x.sequence, a) < std::tie(y.tag_ordinal, y.sequence, b);
    });
    for (uint32_t i : point_to_point) {
      nodes[i] = plan_node(rank, trace.nodes[i], trace.times_of(i));
      nodes[i].slot = slots_++;
    }
  }

  /// A node that stands for so many.
  NodePlan plan_node(RankId rank, const Node& node, uint32_t times) {
    const Role role = role_of(rank, node);
    NodePlan result{.schedule = schedule_for(rank, node, role),
                    .first_edge = static_cast<uint32_t>(plan_.edges.size())};
    const PlannedSchedule& planned = plan_.schedules[result.schedule];
    if (planned.turns > 0) result.position = (role.position + planned.turns - planned.turned_from) % planned.turns;
    for (const PlannedSchedule::Edge& edge : planned.edges) {
      const RankId peer =
          node.kind == NodeKind::kCollective ? role.members[planned.peer_of(edge.peer, result.position)] : node.peer;
      const bool sends = edge.kind == StepKind::kSend;
      const ConnectionId id =
          connection({node.group, sends ? rank : peer, sends ? peer : rank, edge.channel, edge.control});
      uint32_t& counter = sends ? plan_.transport.connections[id.value].messages_per_iteration : received_[id.value];
      plan_.edges.push_back({id, counter});
      const uint64_t count = counter + uint64_t{edge.count} * times;
      if (count > UINT32_MAX) fail_too_many(plan_.transport.connections[id.value], count, 1);
      counter = static_cast<uint32_t>(count);
      if (!sends) continue;
      Connection& c = plan_.transport.connections[id.value];
      c.bytes_per_iteration += Bytes(edge.bytes.count * times);
      c.largest_message = std::max(c.largest_message, edge.largest);
    }
    return result;
  }

  /// Among whom a rank runs a node, and where it and the root stand there.
  struct Role {
    std::span<const RankId> members;  ///< and, behind them, aggregators
    uint32_t count = 0;               ///< of members
    uint32_t position = 0, root = 0;
  };

  Role role_of(RankId rank, const Node& node) {
    Role role;
    if (node.kind == NodeKind::kCollective) {
      const Group& group = workload_.groups[node.group.value];
      role.members = group.positions();
      role.count = static_cast<uint32_t>(group.members.size());
    } else {
      const bool sends = node.kind == NodeKind::kSend;
      pair_ = {sends ? rank : node.peer, sends ? node.peer : rank};
      role.members = pair_;
      role.count = 2;
    }
    const auto position_of = [&](RankId r) {
      return static_cast<uint32_t>(std::find(role.members.begin(), role.members.end(), r) - role.members.begin());
    };
    role.position = position_of(rank);
    if (node.kind == NodeKind::kCollective && node.peer.valid()) role.root = position_of(node.peer);
    return role;
  }

  uint32_t schedule_for(RankId rank, const Node& node, const Role& role) {
    ScheduleRequest request{.operation = operation_of(node),
                            .members = role.count,
                            .root = role.root,
                            .bytes = node.bytes,
                            .element = workload_.element_of(workload_.ranks[rank.value].job)};
    if (const auto blocks = workload_.blocks_of(node); !blocks.empty()) request = with_blocks(request, blocks);
    const bool asks = asks_for_surroundings(request.operation);
    const Surroundings& around = asks ? surroundings(node.group, rank, role.members.first(role.count)) : nowhere_;
    request.nodes = around.nodes;
    request.hosts = around.hosts;
    request.ring = around.ring;
    request.aggregation = around.aggregation;
    const Manner manner(options_, request.element);
    const auto [turning, met] = turning_schedules_.try_emplace(
        std::make_tuple(manner, request.operation, request.members, request.root, request.bytes, request.blocks.data(),
                        around.nodes, around.local_by_distance),
        NodePlan::kNone);
    if (met && turns(request)) turning->second = add_turning(request, around, role.position);
    if (turning->second != NodePlan::kNone) return turning->second;

    const auto [known, added] =
        known_schedules_.try_emplace(std::make_tuple(manner, request.operation, request.members, role.position,
                                                     request.root, request.bytes, request.blocks.data(), &around),
                                     static_cast<uint32_t>(plan_.schedules.size()));
    if (added) plan_.schedules.push_back(expanded(request, around, role.position));
    return known->second;
  }

  /// Whether one schedule serves all positions that see local members at the same distances.
  bool turns(const ScheduleRequest& request) const {
    return may_turn(request, *options_) && rankwire::turns(request, *options_, make_schedule(request, *options_));
  }

  uint32_t add_turning(const ScheduleRequest& request, const Surroundings& around, uint32_t position) {
    PlannedSchedule& planned = plan_.schedules.emplace_back(expanded(request, around, position));
    planned.turns = request.members;
    planned.turned_from = position;
    return static_cast<uint32_t>(plan_.schedules.size() - 1);
  }

  PlannedSchedule expanded(ScheduleRequest request, const Surroundings& around, uint32_t position) const {
    request.position = position;
    request.local = around.local;
    return planned_schedule(make_schedule(request, *options_));
  }

  bool asks_for_surroundings(Operation operation) const {
    return options_->nccl || options_->ring_order == RingOrder::kListed ||
           asks_for_hosts(options_->algorithm(operation)) || options_->algorithm(operation) == Algorithm::kInNetwork;
  }

  /// Members in the order of ring_ranks, which are ranks of the job; those that it does not name follow in their own.
  std::vector<uint32_t> listed_ring(std::span<const RankId> members) const {
    const JobId job = workload_.ranks[members.front().value].job;
    const uint32_t first = workload_.jobs.empty() ? 0 : workload_.jobs[job.value].first_rank;
    std::vector<std::pair<size_t, uint32_t>> places;
    for (uint32_t position = 0; position < members.size(); ++position) {
      const auto named = std::ranges::find(options_->ring_ranks, members[position].value - first);
      places.emplace_back(named - options_->ring_ranks.begin(), position);
    }
    std::sort(places.begin(), places.end());
    std::vector<uint32_t> ring;
    for (const auto& place : places) ring.push_back(place.second);
    return ring;
  }

  /// Equal ones are one object, so that members who see the same share a schedule.
  const Surroundings& surroundings(GroupId group, RankId rank, std::span<const RankId> members) {
    if (group.valid()) {
      const auto known = surroundings_of_.find({group, rank});
      if (known != surroundings_of_.end()) return *known->second;
    }
    Surroundings around;
    std::unordered_map<uint32_t, uint32_t> hosts;
    for (const RankId member : members) {
      if (options_->nccl) around.local.push_back(placement_.path(rank, member) == Path::kLocal);
      const uint32_t next = static_cast<uint32_t>(hosts.size());
      around.hosts.push_back(hosts.try_emplace(placement_.ranks[member.value].host, next).first->second);
    }
    around.nodes = static_cast<uint32_t>(hosts.size());
    if (options_->nccl) around.local_by_distance = by_distance(around.local, rank, members);
    if (options_->ring_order == RingOrder::kListed) around.ring = listed_ring(members);
    if (group.valid()) around.aggregation = workload_.groups[group.value].aggregation;
    const Surroundings& result = *known_surroundings_.insert(std::move(around)).first;
    if (group.valid()) surroundings_of_[{group, rank}] = &result;
    return result;
  }

  const std::vector<bool>* by_distance(std::vector<bool> local, RankId rank, std::span<const RankId> members) {
    std::rotate(local.begin(), local.begin() + (std::ranges::find(members, rank) - members.begin()), local.end());
    return &*known_local_.insert(std::move(local)).first;
  }

  ConnectionId connection(const ConnectionKey& key) {
    if (const auto known = known_connections_.find(key); known != known_connections_.end()) return known->second;
    ConnectionId reverse_of;
    if (key.control) reverse_of = connection({key.group, key.destination, key.source, key.channel, false});
    const ConnectionId id(static_cast<uint32_t>(known_connections_.size()));
    known_connections_.emplace(key, id);
    plan_.transport.connections.push_back(
        {.id = id,
         .job = key.group.valid() ? workload_.groups[key.group.value].job : workload_.ranks[key.source.value].job,
         .group = key.group,
         .source = key.source,
         .destination = key.destination,
         .source_nic = placement_.nic[key.source.value],
         .destination_nic = placement_.nic[key.destination.value],
         .path = placement_.path(key.source, key.destination),
         .channel = key.channel,
         .reverse_of = reverse_of,
         .control = key.control});
    received_.push_back(0);
    return id;
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
  const std::span<const ScheduleOptions* const> by_job_;
  const ScheduleOptions* options_ = nullptr;  // of the rank at hand
  Plan plan_;
  std::vector<uint32_t> received_;  // by connection: messages that the destination expects an iteration
  std::map<ScheduleKey, uint32_t> known_schedules_;
  std::map<TurningKey, uint32_t> turning_schedules_;  // NodePlan::kNone where each position has its own
  std::set<std::vector<bool>> known_local_;           // by distance
  std::array<RankId, 2> pair_;                        // of the point-to-point operation at hand
  const Surroundings nowhere_;                        // what schedules of no profile know of it
  std::set<Surroundings> known_surroundings_;
  std::map<std::pair<GroupId, RankId>, const Surroundings*> surroundings_of_;
  std::unordered_map<ConnectionKey, ConnectionId, ConnectionHash> known_connections_;
  std::map<std::pair<RankId, GroupId>, uint32_t> collective_slots_;
  uint32_t slots_ = 0;
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
  const RankId peer = collective ? workload.groups[n.group.value].positions()[step.peer] : n.peer;
  const bool sends = step.kind == StepKind::kSend;
  MessageId id;
  id.group = collective ? n.group.value : MessageId::kPointToPoint;
  id.sequence = n.sequence;
  id.iteration = iteration;
  id.job = collective ? workload.groups[n.group.value].job.value : workload.ranks[rank.value].job.value;
  id.channel = step.channel;
  id.source = sends ? rank.value : peer.value;
  id.destination = sends ? peer.value : rank.value;
  id.step = collective ? step.step : n.tag_ordinal;
  id.slice = step.slice;
  id.control = step.control;
  return id;
}

Plan make_plan(const Workload& workload, const Placement& placement, const ScheduleOptions& options,
               uint32_t iterations) {
  const std::vector<const ScheduleOptions*> by_job(std::max<size_t>(workload.jobs.size(), 1), &options);
  return make_plan_by_job(workload, placement, by_job, iterations);
}

Plan make_plan_by_job(const Workload& workload, const Placement& placement,
                      std::span<const ScheduleOptions* const> by_job, uint32_t iterations) {
  return Planner(workload, placement, by_job).run(iterations);
}

PlannedTraffic planned_traffic(const Workload& workload, const Plan& plan, uint32_t iterations) {
  PlannedTraffic traffic;
  for (const Connection& c : plan.transport.connections) {
    if (c.messages_per_iteration == 0) continue;  // no job's, perhaps
    if (workload.is_idle(c.job)) continue;
    const uint32_t times = workload.iterations_of(c.job, iterations);
    traffic.messages += uint64_t{c.messages_per_iteration} * times;
    if (c.control) continue;
    (c.path == Path::kWire ? traffic.wire : traffic.local) += Bytes(c.bytes_per_iteration.count * times);
  }
  return traffic;
}

}  // namespace rankwire

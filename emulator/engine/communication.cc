#include "emulator/engine/communication.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace rankwire {
namespace {

constexpr uint16_t kDone = UINT16_MAX;  // of pending_: no schedule has that many predecessors of one step

}  // namespace

Communication::Communication(const Workload& workload, const Plan& plan, const CommunicationOptions& options,
                             TimerQueue& timers, RecordSink& sink)
    : workload_(workload), plan_(plan), options_(options), timers_(timers), sink_(sink) {
  std::vector<uint32_t> channels(plan.slot_steps.size(), 0);
  for (const auto& nodes : plan.nodes) {
    for (const NodePlan& node : nodes) {
      if (node.slot == NodePlan::kNone) continue;
      channels[node.slot] = std::max(channels[node.slot], plan.schedules[node.schedule].channels);
    }
  }
  uint64_t pending = 0, channel = 0;
  for (size_t i = 0; i < plan.slot_steps.size(); ++i) {
    slots_.push_back({.first_pending = pending, .first_channel = channel});
    pending += plan.slot_steps[i];
    channel += channels[i];
  }
  pending_.resize(pending);
  channel_free_.resize(channel);
  arrivals_.resize(2 * plan.messages.size(), Arrival::kNone);
  incoming_.resize(workload.ranks.size());
  for (const Connection& c : plan.transport.connections) incoming_[c.destination.value].push_back(c.id);
  outgoing_.reserve(plan.transport.messages_in_flight + 1);
  finished_.reserve(slots_.size() + 1);
  failures_.reserve(kMostFailures);
}

uint64_t Communication::place_of(ConnectionId connection, uint32_t index) const noexcept {
  const uint32_t messages = plan_.transport.connections[connection.value].messages_per_iteration;
  return plan_.first_message[connection.value] + index % messages;
}

void Communication::start(RankId rank, uint32_t node, uint32_t iteration, Time now) noexcept {
  const NodePlan& planned = plan_.nodes[rank.value][node];
  const PlannedSchedule& schedule = plan_.schedules[planned.schedule];
  const uint32_t steps = static_cast<uint32_t>(schedule.schedule.steps.size());
  if (steps == 0) {
    finished_.push_back({rank, node, now, now});
    return;
  }
  Slot& slot = slots_[planned.slot];
  slot.rank = rank, slot.node = node, slot.iteration = iteration;
  slot.remaining = steps;
  slot.start = slot.end = now;
  std::copy(schedule.schedule.predecessors.begin(), schedule.schedule.predecessors.end(),
            pending_.begin() + static_cast<ptrdiff_t>(slot.first_pending));
  std::fill_n(channel_free_.begin() + static_cast<ptrdiff_t>(slot.first_channel), schedule.channels, now);
  // A step without predecessors may complete at once and start others; those have predecessors and are skipped here.
  for (uint32_t i = 0; i < steps; ++i) {
    if (schedule.schedule.predecessors[i] == 0) start_step(planned.slot, i, now);
  }
}

void Communication::start_step(uint32_t slot, uint32_t step, Time now) noexcept {
  switch (schedule_of(slots_[slot]).schedule.steps[step].kind) {
    case StepKind::kSend:
      return send(slots_[slot], step);
    case StepKind::kReceive:
      return expect(slot, step, now);
    case StepKind::kReduce:
      return reduce(slot, step, now);
  }
}

void Communication::send(const Slot& slot, uint32_t step) noexcept {
  const PlannedSchedule& schedule = schedule_of(slot);
  const EdgePlan& edge = plan_.edges[plan_of(slot).first_edge + schedule.edge_of[step]];
  const uint32_t messages = plan_.transport.connections[edge.connection.value].messages_per_iteration;
  outgoing_.push_back({.id = message_id(workload_, slot.rank, slot.node, schedule.schedule.steps[step], slot.iteration),
                       .bytes = schedule.schedule.steps[step].message,
                       .connection = edge.connection,
                       .index = slot.iteration * messages + edge.first_index + schedule.ordinal_of[step]});
}

void Communication::expect(uint32_t slot, uint32_t step, Time now) noexcept {
  const PlannedSchedule& schedule = schedule_of(slots_[slot]);
  const EdgePlan& edge = plan_.edges[plan_of(slots_[slot]).first_edge + schedule.edge_of[step]];
  const uint64_t place = plan_.first_message[edge.connection.value] + edge.first_index + schedule.ordinal_of[step];
  Arrival& state = arrival(place, slots_[slot].iteration);
  if (state != Arrival::kNone) return complete_step(slot, step, now);
  state = Arrival::kExpected;
}

void Communication::reduce(uint32_t slot, uint32_t step, Time now) noexcept {
  const Step& reduced = schedule_of(slots_[slot]).schedule.steps[step];
  Duration takes = options_.reduce_latency;
  if (options_.reduce_bandwidth) takes += serialization_time(reduced.bytes, *options_.reduce_bandwidth);
  if (takes == Duration(0)) return complete_step(slot, step, now);
  Time& free = channel_free_[slots_[slot].first_channel + reduced.channel];
  free = std::max(free, now) + takes;
  timers_.push({free, TimerQueue::Kind::kReduce, slot, step});
}

void Communication::reduced(uint32_t slot, uint32_t step, Time now) noexcept {
  complete_step(slot, step, now);
}

void Communication::complete_step(uint32_t slot_index, uint32_t step, Time at) noexcept {
  Slot& slot = slots_[slot_index];
  const Schedule& schedule = schedule_of(slot).schedule;
  slot.end = std::max(slot.end, at);
  pending_[slot.first_pending + step] = kDone;
  if (--slot.remaining == 0) {
    finished_.push_back({slot.rank, slot.node, slot.start, slot.end});
    return;
  }
  for (uint32_t successor : schedule.successors_of(step)) {
    if (--pending_[slot.first_pending + successor] == 0) start_step(slot_index, successor, at);
  }
}

void Communication::posted(size_t count) noexcept {
  counters_.posted += count;
  outgoing_.erase(outgoing_.begin(), outgoing_.begin() + static_cast<ptrdiff_t>(count));
}

void Communication::handle(Time now, const Event& event) noexcept {
  switch (event.kind) {
    case EventKind::kSent:
      return on_sent(event);
    case EventKind::kReceived:
      return on_received(event);
    case EventKind::kFailed:
      return on_failed(event, now);
  }
}

void Communication::on_sent(const Event& event) noexcept {
  ++counters_.sent;
  record(event, event.sent.posted, event.sent.acked);
  acknowledge(event, event.sent.acked);
}

void Communication::acknowledge(const Event& event, Time at) noexcept {
  const Connection& connection = plan_.transport.connections[event.connection.value];
  const MessageEnds& ends = plan_.messages[place_of(event.connection, event.index)];
  complete_step(plan_.nodes[connection.source.value][ends.source_node].slot, ends.source_step, at);
}

Communication::Arrival& Communication::arrival(const Event& event) noexcept {
  const uint32_t messages = plan_.transport.connections[event.connection.value].messages_per_iteration;
  return arrival(place_of(event.connection, event.index), event.index / messages);
}

void Communication::on_received(const Event& event) noexcept {
  if (arrival(event) == Arrival::kArrived) {
    ++counters_.duplicated;
    return;
  }
  ++counters_.delivered;
  // The payload of a clear-to-send begins with its index, by which it has been recognised, not with a key.
  const bool control = plan_.transport.connections[event.connection.value].control;
  if (!control) counters_.bytes_delivered += event.bytes;
  if (options_.payload_keys == PayloadKeys::kCompared && event.bytes.count > 0 && !control) {
    const uint64_t mask = event.bytes.count >= 8 ? ~uint64_t{0} : (uint64_t{1} << (8 * event.bytes.count)) - 1;
    const uint64_t difference = event.received.payload_key ^ payload_key(destination_id(event));
    counters_.payload_errors += (difference & mask) != 0;
  }
  record(event, event.received.first_rx, event.received.delivered);
  deliver(event, Arrival::kArrived, event.received.delivered);
}

void Communication::deliver(const Event& event, Arrival how, Time at) noexcept {
  if (std::exchange(arrival(event), how) != Arrival::kExpected) return;
  const Connection& connection = plan_.transport.connections[event.connection.value];
  const MessageEnds& ends = plan_.messages[place_of(event.connection, event.index)];
  complete_step(plan_.nodes[connection.destination.value][ends.destination_node].slot, ends.destination_step, at);
}

void Communication::on_failed(const Event& event, Time now) noexcept {
  ++counters_.failed;
  keep_failure(event);
  if (event.at_source) record(event, event.sent.posted, Time::never());
  if (options_.on_failure == OnFailure::kStop || !event.at_source) return;
  acknowledge(event, now);
  // The receiver may never hear of the message: it must not wait for it either.
  if (arrival(event) != Arrival::kArrived) deliver(event, Arrival::kAbandoned, now);
}

// What fails on a connection after its first message says less of the reason: it is flushed, as a rule.
void Communication::keep_failure(const Event& event) noexcept {
  if (failures_.size() == kMostFailures) return;
  for (const Event& known : failures_) {
    if (known.connection == event.connection) return;
  }
  failures_.push_back(event);
}

MessageId Communication::destination_id(const Event& event) const noexcept {
  const Connection& connection = plan_.transport.connections[event.connection.value];
  const MessageEnds& ends = plan_.messages[place_of(event.connection, event.index)];
  const NodePlan& node = plan_.nodes[connection.destination.value][ends.destination_node];
  return message_id(workload_, connection.destination, ends.destination_node,
                    plan_.schedules[node.schedule].schedule.steps[ends.destination_step],
                    event.index / connection.messages_per_iteration);
}

void Communication::record(const Event& event, Time first, Time last) noexcept {
  const bool delivery = event.kind == EventKind::kReceived;
  const MessageRecord row{.id = destination_id(event),  // the same at both ends
                          .bytes = event.bytes,
                          .at_source = !delivery,
                          .failed = event.kind == EventKind::kFailed,
                          .retransmissions = event.retransmissions,
                          .marks = delivery ? static_cast<uint32_t>(event.received.marks) : 0,
                          .first = first,
                          .last = last};
  sink_.messages({&row, 1});
}

void Communication::end_iteration(RankId rank, uint32_t iteration) noexcept {
  for (ConnectionId connection : incoming_[rank.value]) {
    const uint64_t first = plan_.first_message[connection.value];
    const uint32_t messages = plan_.transport.connections[connection.value].messages_per_iteration;
    std::fill_n(&arrival(first, iteration), messages, Arrival::kNone);
  }
}

std::string Communication::message_text(const Event& event) const {
  return to_string(destination_id(event));
}

std::string Communication::operation_name(const Event& event) const {
  const Connection& c = plan_.transport.connections[event.connection.value];
  const MessageEnds& ends = plan_.messages[place_of(event.connection, event.index)];
  return std::string(workload_.ranks[c.source.value].nodes[ends.source_node].name);
}

std::string Communication::failure_text() const {
  if (!failed()) return "";
  const Event& first = failures_.front();
  return fmt::format("{}: {} ({})", message_text(first), to_string(first.failure), operation_name(first));
}

std::vector<Waiting> Communication::waiting(size_t most) const {
  std::vector<Waiting> result;
  for (const Slot& slot : slots_) {
    if (slot.remaining == 0 || result.size() == most) continue;
    const PlannedSchedule& planned = schedule_of(slot);
    for (uint32_t i = 0; i < planned.schedule.steps.size(); ++i) {
      const Step& step = planned.schedule.steps[i];
      if (pending_[slot.first_pending + i] != 0 || step.kind == StepKind::kReduce) continue;
      result.push_back({slot.rank, slot.node, slot.iteration, step.kind,
                        message_id(workload_, slot.rank, slot.node, step, slot.iteration),
                        plan_.edges[plan_of(slot).first_edge + planned.edge_of[i]].connection});
      break;
    }
  }
  return result;
}

}  // namespace rankwire

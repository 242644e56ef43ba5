#include "emulator/engine/communication.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace rankwire {
namespace {

constexpr uint32_t kBits = 64;  // of a word of started_

}  // namespace

Communication::Communication(const Workload& workload, const Plan& plan, const CommunicationOptions& options,
                             TimerQueue& timers, RecordSink& sink)
    : workload_(workload), plan_(plan), options_(options), timers_(timers), sink_(sink) {
  std::vector<uint32_t> channels(plan.slot_steps.size(), 0), joins(channels), edges(channels);
  for (const auto& nodes : plan.nodes) {
    for (const NodePlan& node : nodes) {
      if (node.slot == NodePlan::kNone) continue;
      channels[node.slot] = std::max(channels[node.slot], plan.schedules[node.schedule].channels);
      joins[node.slot] = std::max(joins[node.slot], plan.schedules[node.schedule].joins);
      edges[node.slot] = std::max(edges[node.slot], static_cast<uint32_t>(plan.schedules[node.schedule].edges.size()));
    }
  }
  uint64_t pending = 0, started = 0, channel = 0, cause = 0;
  for (size_t i = 0; i < plan.slot_steps.size(); ++i) {
    slots_.push_back(
        {.first_pending = pending, .first_started = started, .first_channel = channel, .first_cause = cause});
    pending += joins[i];
    started += (plan.slot_steps[i] + kBits - 1) / kBits;
    channel += channels[i];
    cause += edges[i];
  }
  pending_.resize(pending);
  started_.resize(started);
  channel_free_.resize(channel);
  if (sink.wants_causes()) causes_.resize(cause);
  arrivals_.resize(2 * plan.messages_per_iteration, Arrival::kNone);
  sender_hints_.resize(plan.transport.connections.size());
  receiver_hints_.resize(plan.transport.connections.size());
  if (options.watch_ties) {
    causes_of_sends_.resize(plan.transport.connections.size());
    causes_of_reduces_.resize(channel);
  }
  incoming_.resize(workload.ranks.size());
  for (const Connection& c : plan.transport.connections) incoming_[c.destination.value].push_back(c.id);
  outgoing_.reserve(plan.transport.messages_in_flight + 1);
  finished_.reserve(slots_.size() + 1);
  failures_.reserve(kMostFailures);
}

Communication::Place Communication::place_of(const Event& event) const noexcept {
  const Connection& connection = plan_.transport.connections[event.connection.value];
  const uint32_t messages = connection.messages_per_iteration;
  if (event.index < messages) return {connection, event.index, 0};
  return {connection, event.index % messages, event.index / messages};
}

const EdgeMessages& Communication::sender_of(const Place& place) noexcept {
  const ConnectionId connection = place.connection.id;
  return plan_.senders.find(connection, place.index, sender_hints_[connection.value]);
}

const EdgeMessages& Communication::receiver_of(const Place& place) noexcept {
  const ConnectionId connection = place.connection.id;
  return plan_.receivers.find(connection, place.index, receiver_hints_[connection.value]);
}

/// The step of the operation that runs in the edge's slot.
uint32_t Communication::step_of(const EdgeMessages& edge, const Place& place) const noexcept {
  return slots_[edge.slot].schedule->edge_steps[edge.first_step + place.index - edge.first_index];
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
  slot.position = planned.position;
  slot.schedule = &schedule;
  slot.edges = plan_.edges.data() + planned.first_edge;
  slot.start = slot.end = now;
  for (uint32_t i = 0; schedule.joins > 0 && i < steps; ++i) {
    const uint16_t predecessors = schedule.schedule.predecessors[i];
    if (predecessors > 1) pending_[slot.first_pending + schedule.join_of[i]] = predecessors;
  }
  std::fill_n(channel_free_.begin() + static_cast<ptrdiff_t>(slot.first_channel), schedule.channels, now);
  // A step may complete at once and start others; those have predecessors and are not among these.
  for (const uint32_t step : schedule.first_steps) start_step(planned.slot, step, now);
}

void Communication::start_step(uint32_t slot, uint32_t step, Time now) noexcept {
  started_[slots_[slot].first_started + step / kBits] |= uint64_t{1} << step % kBits;
  switch (slots_[slot].schedule->schedule.steps[step].kind) {
    case StepKind::kSend:
      return send(slots_[slot], step);
    case StepKind::kReceive:
      return expect(slot, step, now);
    case StepKind::kReduce:
      return reduce(slot, step, now);
  }
}

void Communication::send(const Slot& slot, uint32_t step) noexcept {
  const PlannedSchedule& schedule = *slot.schedule;
  const EdgePlan& edge = slot.edges[schedule.edge_of[step]];
  const uint32_t messages = plan_.transport.connections[edge.connection.value].messages_per_iteration;
  note_cause(causes_of_sends_, edge.connection.value);
  Step sent = schedule.schedule.steps[step];
  sent.peer = schedule.peer_of(sent.peer, slot.position);
  outgoing_.push_back({.id = message_id(workload_, slot.rank, slot.node, sent, slot.iteration),
                       .bytes = sent.message,
                       .connection = edge.connection,
                       .index = slot.iteration * messages + edge.first_index + schedule.ordinal_of[step]});
}

void Communication::expect(uint32_t slot_index, uint32_t step, Time now) noexcept {
  const Slot& slot = slots_[slot_index];
  const EdgePlan& edge = slot.edges[slot.schedule->edge_of[step]];
  Arrival& state = arrival(edge.connection, edge.first_index + slot.schedule->ordinal_of[step], slot.iteration);
  if (state != Arrival::kNone) return complete_step(slot_index, step, now);
  state = Arrival::kExpected;
}

void Communication::reduce(uint32_t slot, uint32_t step, Time now) noexcept {
  const Step& reduced = slots_[slot].schedule->schedule.steps[step];
  Duration takes = options_.reduce_latency;
  if (options_.reduce_bandwidth) takes += serialization_time(reduced.bytes, *options_.reduce_bandwidth);
  if (takes == Duration(0)) return complete_step(slot, step, now);
  note_cause(causes_of_reduces_, slots_[slot].first_channel + reduced.channel);
  Time& free = channel_free_[slots_[slot].first_channel + reduced.channel];
  free = std::max(free, now) + takes;
  timers_.push({free, TimerQueue::Kind::kReduce, slot, step});
}

void Communication::reduced(uint32_t slot, uint32_t step, Time now) noexcept {
  complete_step(slot, step, now);
}

void Communication::complete_step(uint32_t slot_index, uint32_t step, Time at) noexcept {
  Slot& slot = slots_[slot_index];
  const Schedule& schedule = slot.schedule->schedule;
  slot.end = std::max(slot.end, at);
  started_[slot.first_started + step / kBits] &= ~(uint64_t{1} << step % kBits);
  if (--slot.remaining == 0) {
    finished_.push_back({slot.rank, slot.node, slot.start, slot.end});
    return;
  }
  for (uint32_t successor : schedule.successors_of(step)) {
    const bool joins = schedule.predecessors[successor] > 1;
    if (joins && --pending_[slot.first_pending + slot.schedule->join_of[successor]] > 0) continue;
    start_step(slot_index, successor, at);
  }
}

void Communication::posted(size_t count) noexcept {
  counters_.posted += count;
  outgoing_.erase(outgoing_.begin(), outgoing_.begin() + static_cast<ptrdiff_t>(count));
}

void Communication::note_cause(std::vector<Cause>& causes, uint64_t of) noexcept {
  if (causes.empty() || event_ == kNoEvent) return;
  Cause& last = causes[of];
  tied_ |= last.round == round_ && last.event != kNoEvent && last.event != event_;
  last = {round_, event_};
}

void Communication::handle(Time now, const Event& event) noexcept {
  event_ = uint64_t{event.connection.value} << 1 | uint64_t{event.at_source};
  switch (event.kind) {
    case EventKind::kSent:
      on_sent(event);
      break;
    case EventKind::kReceived:
      on_received(event);
      break;
    case EventKind::kFailed:
      on_failed(event, now);
      break;
  }
  event_ = kNoEvent;
}

void Communication::on_sent(const Event& event) noexcept {
  ++counters_.sent;
  const Place place = place_of(event);
  record(event, place, event.sent.posted, event.sent.acked);
  add_causes(event, place);
  acknowledge(place, event.sent.acked);
}

// Before the operation's last step completes.
void Communication::add_causes(const Event& event, const Place& place) noexcept {
  if (event.causes == nullptr || causes_.empty()) return;
  const EdgeMessages& edge = sender_of(place);
  const Slot& slot = slots_[edge.slot];
  causes_[slot.first_cause + slot.schedule->edge_of[step_of(edge, place)]] += *event.causes;
}

void Communication::record_causes(const Finished& operation, uint32_t place) noexcept {
  if (causes_.empty()) return;
  const NodePlan& planned = plan_.nodes[operation.rank.value][operation.node];
  const Slot& slot = slots_[planned.slot];
  for (uint32_t i = 0; i < plan_.schedules[planned.schedule].edges.size(); ++i) {
    const TimeByCause spent = std::exchange(causes_[slot.first_cause + i], TimeByCause());
    if (spent == TimeByCause()) continue;
    const CauseRecord row{.rank = operation.rank,
                          .node = place,
                          .iteration = slot.iteration,
                          .connection = slot.edges[i].connection,
                          .causes = spent};
    sink_.causes({&row, 1});
  }
}

void Communication::acknowledge(const Place& place, Time at) noexcept {
  const EdgeMessages& edge = sender_of(place);
  complete_step(edge.slot, step_of(edge, place), at);
}

void Communication::on_received(const Event& event) noexcept {
  const Place place = place_of(event);
  if (arrival(event.connection, place.index, place.iteration) == Arrival::kArrived) {
    ++counters_.duplicated;
    return;
  }
  ++counters_.delivered;
  // The payload of a clear-to-send begins with its index, by which it has been recognised, not with a key.
  const bool control = place.connection.control;
  if (!control) counters_.bytes_delivered += event.bytes;
  if (options_.payload_keys == PayloadKeys::kCompared && event.bytes.count > 0 && !control) {
    const uint64_t mask = event.bytes.count >= 8 ? ~uint64_t{0} : (uint64_t{1} << (8 * event.bytes.count)) - 1;
    const uint64_t difference = event.received.payload_key ^ payload_key(destination_id(place));
    counters_.payload_errors += (difference & mask) != 0;
  }
  record(event, place, event.received.first_rx, event.received.delivered);
  deliver(place, Arrival::kArrived, event.received.delivered);
}

void Communication::deliver(const Place& place, Arrival how, Time at) noexcept {
  Arrival& state = arrival(place.connection.id, place.index, place.iteration);
  if (std::exchange(state, how) != Arrival::kExpected) return;
  const EdgeMessages& edge = receiver_of(place);
  complete_step(edge.slot, step_of(edge, place), at);
}

void Communication::on_failed(const Event& event, Time now) noexcept {
  ++counters_.failed;
  keep_failure(event);
  const Place place = place_of(event);
  if (event.at_source) {
    record(event, place, event.sent.posted, Time::never());
    add_causes(event, place);
  }
  if (options_.on_failure == OnFailure::kStop || !event.at_source) return;
  acknowledge(place, now);
  // The receiver may never hear of the message: it must not wait for it either.
  if (arrival(event.connection, place.index, place.iteration) != Arrival::kArrived)
    deliver(place, Arrival::kAbandoned, now);
}

// What fails on a connection after its first message says less of the reason: it is flushed, as a rule.
void Communication::keep_failure(const Event& event) noexcept {
  if (failures_.size() == kMostFailures) return;
  for (const Event& known : failures_) {
    if (known.connection == event.connection) return;
  }
  failures_.push_back(event);
  failures_.back().causes = nullptr;  // they do not last
}

// A message may arrive before its receiver has begun the operation: its slot may hold another one.
MessageId Communication::destination_id(const Place& place) noexcept {
  const RankId rank = place.connection.destination;
  const EdgeMessages& edge = receiver_of(place);
  const NodePlan& node = plan_.nodes[rank.value][edge.node];
  const uint32_t step = plan_.schedules[node.schedule].edge_steps[edge.first_step + place.index - edge.first_index];
  return message_id(workload_, rank, edge.node, plan_.step(node, step), place.iteration);
}

void Communication::record(const Event& event, const Place& place, Time first, Time last) noexcept {
  if (!sink_.wants_messages()) return;
  const bool delivery = event.kind == EventKind::kReceived;
  const MessageRecord row{.id = destination_id(place),  // the same at both ends
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
    const uint32_t messages = plan_.transport.connections[connection.value].messages_per_iteration;
    if (messages > 0) std::fill_n(&arrival(connection, 0, iteration), messages, Arrival::kNone);
  }
}

std::string Communication::message_text(const Event& event) const {
  const Place place = place_of(event);
  const MessageEnds ends = plan_.ends(event.connection, place.index);
  const RankId rank = place.connection.destination;
  const Step step = plan_.step(plan_.nodes[rank.value][ends.destination_node], ends.destination_step);
  return to_string(message_id(workload_, rank, ends.destination_node, step, place.iteration));
}

std::string Communication::operation_name(const Event& event) const {
  const Place place = place_of(event);
  const uint32_t node = plan_.ends(event.connection, place.index).source_node;
  return std::string(workload_.ranks[place.connection.source.value].nodes[node].name);
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
    const PlannedSchedule& planned = *slot.schedule;
    for (uint32_t i = 0; i < planned.schedule.steps.size(); ++i) {
      Step step = planned.schedule.steps[i];
      step.peer = planned.peer_of(step.peer, slot.position);
      const bool started = started_[slot.first_started + i / kBits] >> i % kBits & 1;
      if (!started || step.kind == StepKind::kReduce) continue;
      result.push_back({slot.rank, slot.node, slot.iteration, step.kind,
                        message_id(workload_, slot.rank, slot.node, step, slot.iteration),
                        slot.edges[planned.edge_of[i]].connection});
      break;
    }
  }
  return result;
}

}  // namespace rankwire

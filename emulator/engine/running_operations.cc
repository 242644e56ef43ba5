#include "emulator/engine/running_operations.h"

#include <algorithm>

namespace rankwire {
namespace {

constexpr uint32_t kBits = 64;  // of a word of started_

}  // namespace

RunningOperations::RunningOperations(const Workload& workload, const Plan& plan, const ReduceTimes& reduces,
                                     TimerQueue& timers, MessageArrivals& arrivals, TieWatch& ties)
    : workload_(workload), plan_(plan), reduces_(reduces), timers_(timers), arrivals_(arrivals), ties_(ties) {
  const std::vector<uint64_t> pending = offsets_by_slot(plan, [](const PlannedSchedule& s) { return s.joins; });
  const std::vector<uint64_t> channels = channel_offsets(plan);
  uint64_t started = 0;
  slots_.reserve(plan.slot_steps.size());
  for (size_t i = 0; i < plan.slot_steps.size(); ++i) {
    slots_.push_back({.first_pending = pending[i], .first_started = started, .first_channel = channels[i]});
    started += (plan.slot_steps[i] + kBits - 1) / kBits;
  }
  pending_.resize(pending.back());
  started_.resize(started);
  channel_free_.resize(channels.back());
  outgoing_.reserve(plan.transport.messages_in_flight + 1);
  finished_.reserve(slots_.size() + 1);
}

void RunningOperations::start(RankId rank, uint32_t node, uint32_t iteration, Time now) noexcept {
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
  ++in_progress_;
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

void RunningOperations::start_step(uint32_t slot, uint32_t step, Time now) noexcept {
  started_[slots_[slot].first_started + step / kBits] |= uint64_t{1} << step % kBits;
  switch (slots_[slot].schedule->schedule.steps[step].kind) {
    case StepKind::kSend:
      return send(slots_[slot], step);
    case StepKind::kReceive:
      return receive(slot, step, now);
    case StepKind::kReduce:
      return reduce(slot, step, now);
  }
}

void RunningOperations::send(const Slot& slot, uint32_t step) noexcept {
  const PlannedSchedule& schedule = *slot.schedule;
  const EdgePlan& edge = slot.edges[schedule.edge_of[step]];
  const uint32_t messages = plan_.transport.connections[edge.connection.value].messages_per_iteration;
  ties_.note_send(edge.connection);
  Step sent = schedule.schedule.steps[step];
  sent.peer = schedule.peer_of(sent.peer, slot.position);
  outgoing_.push_back({.id = message_id(workload_, slot.rank, slot.node, sent, slot.iteration),
                       .bytes = sent.message,
                       .connection = edge.connection,
                       .index = slot.iteration * messages + edge.first_index + schedule.ordinal_of[step]});
}

void RunningOperations::receive(uint32_t slot_index, uint32_t step, Time now) noexcept {
  const Slot& slot = slots_[slot_index];
  const EdgePlan& edge = slot.edges[slot.schedule->edge_of[step]];
  const uint32_t index = edge.first_index + slot.schedule->ordinal_of[step];
  if (!arrivals_.expect(edge.connection, index, slot.iteration)) complete(slot_index, step, now);
}

void RunningOperations::reduce(uint32_t slot, uint32_t step, Time now) noexcept {
  const Step& reduced = slots_[slot].schedule->schedule.steps[step];
  Duration takes = reduces_.latency;
  if (reduces_.bandwidth) takes += serialization_time(reduced.bytes, *reduces_.bandwidth);
  if (takes == Duration(0)) return complete(slot, step, now);
  const uint64_t channel = slots_[slot].first_channel + reduced.channel;
  ties_.note_reduce(channel);
  Time& free = channel_free_[channel];
  free = std::max(free, now) + takes;
  timers_.push({free, TimerQueue::Kind::kReduce, slot, step});
}

void RunningOperations::complete(uint32_t slot_index, uint32_t step, Time at) noexcept {
  Slot& slot = slots_[slot_index];
  const Schedule& schedule = slot.schedule->schedule;
  slot.end = std::max(slot.end, at);
  started_[slot.first_started + step / kBits] &= ~(uint64_t{1} << step % kBits);
  if (--slot.remaining == 0) {
    --in_progress_;
    finished_.push_back({slot.rank, slot.node, slot.start, slot.end});
    return;
  }
  for (const uint32_t successor : schedule.successors_of(step)) {
    const bool joins = schedule.predecessors[successor] > 1;
    if (joins && --pending_[slot.first_pending + slot.schedule->join_of[successor]] > 0) continue;
    start_step(slot_index, successor, at);
  }
}

std::vector<Waiting> RunningOperations::waiting(size_t most) const {
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

#include "emulator/engine/engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>

namespace rankwire {
namespace {

constexpr uint32_t kNone = UINT32_MAX;

/// The end of what takes longer than time can tell is still an event, behind every deadline.
Time bounded_end(Time start, Duration takes) {
  constexpr Time kLatest(Time::never().ps - 1);
  return takes < kLatest - start ? start + takes : kLatest;
}

}  // namespace

Engine::Engine(const Workload& workload, const Plan& plan, const EngineOptions& options, RecordSink& sink)
    : workload_(workload),
      plan_(plan),
      options_(options),
      sink_(sink),
      communication_(workload, plan, options.messages, timers_, sink),
      ended_(2, 0) {
  if (options.times != nullptr) timed_.emplace(workload, *options.times, timers_);
  size_t timers = 0;
  for (uint32_t steps : plan.slot_steps) timers += steps;
  std::map<std::pair<uint32_t, GroupId>, uint32_t> known;
  for (uint32_t r = 0; r < workload.ranks.size(); ++r) {
    const RankTrace& trace = workload.ranks[r];
    const size_t count = trace.nodes.size();
    Rank& rank = ranks_.emplace_back();
    rank.source = make_source(workload, RankId(r));
    rank.compute = ReadyQueue(rank.source->expected_at_once());
    rank.host = ReadyQueue(rank.source->expected_at_once());
    const uint32_t at_once = options.compute + options.host;
    timers += at_once;
    rank.running.resize(at_once);
    for (uint32_t i = 0; i < at_once; ++i) rank.unused.push_back(i);
    std::vector<uint32_t>& membership_of = membership_of_.emplace_back(count, kNone);
    for (uint32_t n = 0; n < count; ++n) {
      const Node& node = trace.nodes[n];
      if (node.kind != NodeKind::kCollective) continue;
      const auto [entry, added] = known.try_emplace({r, node.group}, static_cast<uint32_t>(memberships_.size()));
      if (added) {
        memberships_.push_back({.rank = RankId(r)});
        rank.memberships.push_back(entry->second);
      }
      Membership& membership = memberships_[entry->second];
      if (membership.node_at.size() <= node.run_order) membership.node_at.resize(node.run_order + 1, kNone);
      membership.node_at[node.run_order] = n;
      membership_of[n] = entry->second;
    }
  }
  for (Membership& membership : memberships_) membership.ready.resize(membership.node_at.size());
  timers_.reserve(timers);
  touched_.reserve(ranks_.size());
  for (uint32_t r = 0; r < ranks_.size(); ++r) touch(RankId(r));
}

void Engine::touch(RankId id) noexcept {
  Rank& rank = ranks_[id.value];
  if (rank.touched || rank.finished) return;
  rank.touched = true;
  touched_.push_back(id);
  std::push_heap(touched_.begin(), touched_.end(), std::greater<>());
}

void Engine::advance(Time now) noexcept {
  communication_.begin_round();
  settle(now);  // what messages have made ready
  // What follows a compute starts when that ended, not when a late loop noticed, or lateness adds up along a chain.
  while (timers_.next() <= now) {
    const Time at = timers_.next();
    while (timers_.next() == at) expire(timers_.pop());
    settle(at);
  }
}

void Engine::expire(const TimerQueue::Timer& timer) noexcept {
  if (timer.kind == TimerQueue::Kind::kReduce) return communication_.reduced(timer.owner, timer.item, timer.at);
  if (timer.kind != TimerQueue::Kind::kNode) return timed_->expire(timer);
  Rank& rank = ranks_[timer.owner];
  const Running ended = rank.running[timer.running];
  rank.unused.push_back(timer.running);
  const bool host = rank.source->lookup(ended.node).kind == NodeKind::kHost;
  --(host ? rank.host_running : rank.compute_running);
  complete(RankId(timer.owner), ended.node, ended.start, timer.at);
}

void Engine::settle(Time now) noexcept {
  collect_finished();
  while (!touched_.empty()) {
    // Ranks are visited in the order of their ids, whatever touched them first.
    std::pop_heap(touched_.begin(), touched_.end(), std::greater<>());
    const RankId rank = touched_.back();
    touched_.pop_back();
    ranks_[rank.value].touched = false;
    visit(rank, now);
    collect_finished();
  }
}

void Engine::visit(RankId id, Time now) noexcept {
  take_ready(id, now);
  start_timed(id, now);
  start_collectives(id, now);
  collect_finished();
  Rank& rank = ranks_[id.value];
  if (!rank.finished && !rank.awaits_iteration && rank.source->finished()) end_iteration(id);
}

void Engine::take_ready(RankId id, Time now) noexcept {
  Rank& rank = ranks_[id.value];
  for (uint32_t n = rank.source->next(); n != NodeSource::kNone; n = rank.source->next()) {
    const Node& node = rank.source->lookup(n);
    switch (node.kind) {
      case NodeKind::kNone:
        rank.source->complete(n);
        break;
      case NodeKind::kHost:
        rank.host.push(node.id, n);
        break;
      case NodeKind::kCompute:
      case NodeKind::kMemory:
        rank.compute.push(node.id, n);
        break;
      case NodeKind::kCollective:
        memberships_[membership_of_[id.value][n]].ready[node.run_order] = 1;
        break;
      case NodeKind::kSend:
      case NodeKind::kReceive:
        start_communication(id, n, now);
        break;
    }
  }
  if (!rank.source->can_go_on()) cannot_read_ = true;
}

void Engine::start_timed(RankId id, Time now) noexcept {
  Rank& rank = ranks_[id.value];
  const auto start = [&](ReadyQueue& queue, uint32_t& running, uint32_t limit) {
    while (running < limit && !queue.empty()) {
      const uint32_t n = queue.pop();
      const Time end = end_of(id, n, now);
      if (end == now) {
        complete(id, n, now, now);
        continue;
      }
      ++running;
      const uint32_t at = rank.unused.back();
      rank.unused.pop_back();
      rank.running[at] = {n, now};
      timers_.push({end, TimerQueue::Kind::kNode, id.value, rank.source->place(n), at});
    }
  };
  start(rank.compute, rank.compute_running, options_.compute);
  start(rank.host, rank.host_running, options_.host);
}

Time Engine::end_of(RankId id, uint32_t n, Time start) noexcept {
  Rank& rank = ranks_[id.value];
  const Node& node = rank.source->lookup(n);
  ComputeTimes::OfModel& model = rank.times.models[static_cast<size_t>(node.timed_by)];
  ++model.nodes;
  const Time end = bounded_end(start, node.duration);
  // A sum that does not fit is of a run that cannot end.
  model.time = end - start < Duration::max() - model.time ? model.time + (end - start) : Duration::max();
  if (options_.variation == nullptr || end == start) return end;
  const VariedTime varied = options_.variation->vary(id, rank.source->place(n), rank.iteration, node.duration, start);
  rank.times.jitter += varied.jitter;
  rank.times.noise += varied.noise;
  rank.times.slowed += varied.slowed;
  return varied.end;
}

void Engine::start_collectives(RankId id, Time now) noexcept {
  Rank& rank = ranks_[id.value];
  const bool unlimited = options_.communication == 0 || workload_.ranks[id.value].aggregates;
  while (unlimited || rank.collectives_running < options_.communication) {
    Membership* first = nullptr;
    uint32_t node = kNone;
    for (uint32_t m : rank.memberships) {
      Membership& membership = memberships_[m];
      if (membership.running || membership.next == membership.node_at.size() || !membership.ready[membership.next]) {
        continue;
      }
      const uint32_t candidate = membership.node_at[membership.next];
      if (first == nullptr || rank.source->lookup(candidate).id < rank.source->lookup(node).id) {
        first = &membership;
        node = candidate;
      }
    }
    if (first == nullptr) return;
    first->running = true;
    ++rank.collectives_running;
    start_communication(id, node, now);
    collect_finished();
  }
}

void Engine::start_communication(RankId id, uint32_t node, Time now) noexcept {
  const uint32_t iteration = ranks_[id.value].iteration;
  if (timed_) {
    timed_->start(id, node, iteration, now);
  } else {
    communication_.start(id, node, iteration, now);
  }
}

void Engine::collect_finished() noexcept {
  for (const Communication::Finished& operation : communication_.finished()) end_operation(operation);
  communication_.clear_finished();
  if (!timed_) return;
  for (const Communication::Finished& operation : timed_->finished()) end_operation(operation);
  timed_->clear_finished();
}

void Engine::end_operation(const Communication::Finished& operation) noexcept {
  const uint32_t m = membership_of_[operation.rank.value][operation.node];
  if (m != kNone) {
    memberships_[m].running = false;
    ++memberships_[m].next;
    --ranks_[operation.rank.value].collectives_running;
  }
  communication_.record_causes(operation, ranks_[operation.rank.value].source->place(operation.node));
  complete(operation.rank, operation.node, operation.start, operation.end);
}

void Engine::complete(RankId id, uint32_t node, Time start, Time end) noexcept {
  Rank& rank = ranks_[id.value];
  rank.last_end = std::max(rank.last_end, end);
  const uint32_t place = rank.source->place(node);
  rank.source->complete(node);
  nodes_completed_.store(nodes_completed() + 1, std::memory_order_relaxed);
  const OperationRecord row{.rank = id, .node = place, .iteration = rank.iteration, .start = start, .end = end};
  sink_.operations({&row, 1});
  touch(id);
}

void Engine::end_iteration(RankId id) noexcept {
  Rank& rank = ranks_[id.value];
  if (!timed_) communication_.end_iteration(id, rank.iteration);
  uint32_t& ended = ended_[rank.iteration & 1];
  ++rank.iteration;
  if (rank.iteration == options_.iterations) {
    rank.finished = true;
    ++ranks_finished_;
  } else {
    rank.awaits_iteration = true;
  }
  if (++ended == ranks_.size()) {
    ended = 0;
    ++iterations_ended_;
    for (uint32_t r = 0; r < ranks_.size(); ++r) begin_iteration(RankId(r));
  } else {
    begin_iteration(id);
  }
}

void Engine::begin_iteration(RankId id) noexcept {
  Rank& rank = ranks_[id.value];
  if (!rank.awaits_iteration || iterations_ended_ + 1 < rank.iteration) return;
  rank.awaits_iteration = false;
  rank.source->reset();
  for (uint32_t m : rank.memberships) {
    memberships_[m].next = 0;
    std::fill(memberships_[m].ready.begin(), memberships_[m].ready.end(), 0);
  }
  touch(id);
}

void Engine::handle(Time now, std::span<const Event> events) noexcept {
  for (const Event& event : events) communication_.handle(now, event);
  messages_handled_ += events.size();
}

std::string Engine::failure_text() const {
  for (const Rank& rank : ranks_) {
    if (!rank.source->can_go_on()) return rank.source->problem();
  }
  return communication_.failure_text();
}

std::vector<Duration> Engine::rank_times() const {
  std::vector<Duration> times;
  for (const Rank& rank : ranks_) times.push_back(rank.last_end - Time());
  return times;
}

std::string Engine::describe_waiting(const Waiting& w) const {
  const Node& node = workload_.ranks[w.rank.value].nodes[w.node];
  const bool sends = w.kind == StepKind::kSend;
  const uint64_t peer = sends ? w.message.destination : w.message.source;
  const std::string what =
      node.kind == NodeKind::kCollective
          ? fmt::format("{} of group '{}'", to_string(node.collective), workload_.groups[node.group.value].name)
          : std::string(to_string(node.kind));
  return fmt::format("rank {} in '{}' (node {}, {}, iteration {}) waits for rank {} {} {}step {} slice {}",
                     w.rank.value, node.name, node.id, what, w.iteration, peer, sends ? "to acknowledge" : "to send",
                     w.message.control ? "the clear-to-send of " : "", static_cast<uint64_t>(w.message.step),
                     static_cast<uint64_t>(w.message.slice));
}

std::vector<std::string> Engine::idle_reasons() const {
  std::vector<std::string> lines;
  for (const Membership& m : memberships_) {
    if (m.running || m.next == m.node_at.size()) continue;
    const auto later = std::find(m.ready.begin() + m.next, m.ready.end(), 1);
    if (later == m.ready.end()) continue;
    const auto& nodes = workload_.ranks[m.rank.value].nodes;
    const Node& blocked = nodes[m.node_at[static_cast<size_t>(later - m.ready.begin())]];
    lines.push_back(later == m.ready.begin() + m.next
                        ? fmt::format("rank {} holds '{}' (node {}) back: concurrency.communication is reached",
                                      m.rank.value, blocked.name, blocked.id)
                        : fmt::format("rank {} holds '{}' (node {}) back: '{}' of the same group comes first and is "
                                      "not ready",
                                      m.rank.value, blocked.name, blocked.id, nodes[m.node_at[m.next]].name));
  }
  for (uint32_t r = 0; r < ranks_.size(); ++r) {
    if (!ranks_[r].awaits_iteration) continue;
    lines.push_back(fmt::format("rank {} waits to begin iteration {}: not all ranks have ended iteration {}", r,
                                ranks_[r].iteration, iterations_ended_));
  }
  return lines;
}

}  // namespace rankwire

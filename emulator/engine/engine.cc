#include "emulator/engine/engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "emulator/workload/jobs.h"

namespace rankwire {
namespace {

/// The end of what takes longer than time can tell is still an event, behind every deadline.
Time bounded_end(Time start, Duration takes) {
  constexpr Time kLatest(Time::never().ps - 1);
  return takes < kLatest - start ? start + takes : kLatest;
}

uint32_t ranks_in(const Workload& workload, const Shard& shard) {
  uint32_t count = 0;
  for (uint32_t r = 0; r < workload.ranks.size(); ++r) count += shard.has(RankId(r));
  return count;
}

}  // namespace

Engine::Engine(const Workload& workload, const Plan& plan, const EngineOptions& options, RecordSink& sink)
    : workload_(workload),
      options_(options),
      sink_(sink),
      communication_(workload, plan, options.messages, options_.shard, timers_, sink),
      place_(workload.ranks.size()),
      touched_(workload.ranks.size()),
      gates_(workload, options.iterations, options.only, options_.shard, timers_) {
  if (options.times != nullptr) timed_.emplace(workload, *options.times, timers_);
  const uint32_t own = ranks_in(workload, options.shard);
  size_t timers = own * (size_t{options.compute} + options.host + 1) + workload.jobs.size();
  for (const uint32_t steps : plan.slot_steps) timers += steps;
  timers_.reserve(timers);
  ranks_.reserve(own);
  for (uint32_t r = 0; r < workload.ranks.size(); ++r) {
    if (!options.shard.has(RankId(r))) continue;
    const RankTrace& trace = workload.ranks[r];
    std::unique_ptr<NodeSource> source = make_source(workload, RankId(r));
    const size_t expected = source->expected_at_once();
    place_[r] = static_cast<uint32_t>(ranks_.size());
    ranks_.push_back({.id = RankId(r),
                      .source = std::move(source),
                      .places = NodePlaces(options.compute, options.host, expected),
                      .collectives = CollectiveOrder(trace, trace.aggregates ? 0 : options.communication)});
  }
  for (const RankId rank : gates_.first_ranks()) start(rank, Time());
}

void Engine::touch(RankId id) noexcept {
  if (!at(id).finished) touched_.push(id);
}

/// Its iteration.
void Engine::start(RankId id, Time now) noexcept {
  Rank& rank = at(id);
  const Duration late = options_.variation == nullptr ? Duration() : options_.variation->late(id, rank.iteration);
  if (late == Duration()) return touch(id);
  rank.is_late = true;
  timers_.push({.at = bounded_end(now, late), .kind = TimerQueue::Kind::kRank, .owner = id.value, .item = 0});
}

void Engine::advance(Time now) noexcept {
  communication_.begin_round();
  if (gates_.has_others()) gates_.look([&](std::span<const RankId> free) { begin_iterations(free, now); });
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
  if (timer.kind == TimerQueue::Kind::kJob) {
    for (const RankId rank : gates_.begin(timer.owner, timer.at)) start(rank, timer.at);
    return;
  }
  if (timer.kind == TimerQueue::Kind::kRank) {
    at(RankId(timer.owner)).is_late = false;
    return touch(RankId(timer.owner));
  }
  if (timer.kind != TimerQueue::Kind::kNode) return timed_->expire(timer);
  const NodePlaces::Running ended = at(RankId(timer.owner)).places.leave(timer.place);
  computed_ps_.store(computed_ps_.load(std::memory_order_relaxed) + (timer.at - ended.start).ps,
                     std::memory_order_relaxed);
  complete(RankId(timer.owner), ended.node, ended.start, timer.at);
}

void Engine::settle(Time now) noexcept {
  collect_finished();
  // Ranks are visited in the order of their ids, whatever touched them first.
  while (!touched_.empty()) {
    visit(touched_.pop(), now);
    collect_finished();
  }
}

void Engine::visit(RankId id, Time now) noexcept {
  if (at(id).is_late) return;
  take_ready(id, now);
  start_timed(id, PlaceKind::kCompute, now);
  start_timed(id, PlaceKind::kHost, now);
  start_collectives(id, now);
  collect_finished();
  Rank& rank = at(id);
  if (!rank.finished && !rank.awaits_iteration && rank.source->finished()) end_iteration(id, now);
}

void Engine::take_ready(RankId id, Time now) noexcept {
  Rank& rank = at(id);
  for (uint32_t n = rank.source->next(); n != NodeSource::kNone; n = rank.source->next()) {
    const Node& node = rank.source->lookup(n);
    switch (node.kind) {
      case NodeKind::kNone:
        rank.source->complete(n);
        break;
      case NodeKind::kHost:
        rank.places.push(PlaceKind::kHost, node.id, n);
        break;
      case NodeKind::kCompute:
      case NodeKind::kMemory:
        rank.places.push(PlaceKind::kCompute, node.id, n);
        break;
      case NodeKind::kCollective:
        rank.collectives.make_ready(n);
        break;
      case NodeKind::kSend:
      case NodeKind::kReceive:
        start_communication(id, n, now);
        break;
    }
  }
  if (!rank.source->can_go_on()) cannot_read_ = true;
}

void Engine::start_timed(RankId id, PlaceKind kind, Time now) noexcept {
  Rank& rank = at(id);
  for (uint32_t n = rank.places.next(kind); n != NodePlaces::kNone; n = rank.places.next(kind)) {
    const Time end = end_of(id, n, now);
    if (end == now) {
      complete(id, n, now, now);
      continue;
    }
    const uint32_t place = rank.places.enter({.node = n, .kind = kind, .start = now});
    timers_.push({end, TimerQueue::Kind::kNode, id.value, rank.source->place(n), place});
  }
}

Time Engine::end_of(RankId id, uint32_t n, Time start) noexcept {
  Rank& rank = at(id);
  const Node& node = rank.source->lookup(n);
  const Time end = bounded_end(start, node.duration);
  rank.times.add(node.timed_by, end - start);
  if (options_.variation == nullptr || end == start) return end;
  const VariedTime varied = options_.variation->vary(id, rank.source->place(n), rank.iteration, node.duration, start);
  rank.times.add(varied);
  return varied.end;
}

void Engine::start_collectives(RankId id, Time now) noexcept {
  CollectiveOrder& collectives = at(id).collectives;
  for (uint32_t n = collectives.begin(); n != CollectiveOrder::kNone; n = collectives.begin()) {
    start_communication(id, n, now);
    collect_finished();
  }
}

void Engine::start_communication(RankId id, uint32_t node, Time now) noexcept {
  const uint32_t iteration = at(id).iteration;
  if (timed_) {
    timed_->start(id, node, iteration, now);
  } else {
    communication_.start(id, node, iteration, now);
  }
}

void Engine::collect_finished() noexcept {
  for (const FinishedOperation& operation : communication_.finished()) end_operation(operation);
  communication_.clear_finished();
  if (!timed_) return;
  for (const FinishedOperation& operation : timed_->finished()) end_operation(operation);
  timed_->clear_finished();
}

void Engine::end_operation(const FinishedOperation& operation) noexcept {
  Rank& rank = at(operation.rank);
  rank.collectives.end(operation.node);
  communication_.record_causes(operation, rank.source->place(operation.node), rank.iteration);
  complete(operation.rank, operation.node, operation.start, operation.end);
}

void Engine::complete(RankId id, uint32_t node, Time start, Time end) noexcept {
  Rank& rank = at(id);
  const uint32_t place = rank.source->place(node);
  rank.progress = {rank.progress.ended + 1, std::max(rank.progress.last_end, end), place};
  rank.source->complete(node);
  nodes_completed_.store(nodes_completed() + 1, std::memory_order_relaxed);
  const OperationRecord row{.rank = id, .node = place, .iteration = rank.iteration, .start = start, .end = end};
  sink_.operations({&row, 1});
  touch(id);
}

void Engine::end_iteration(RankId id, Time now) noexcept {
  Rank& rank = at(id);
  if (!timed_) communication_.end_iteration(id, rank.iteration);
  const std::span<const RankId> free = gates_.end(id, rank.iteration++, rank.progress.last_end);
  rank.finished = gates_.past_last(id, rank.iteration);
  rank.awaits_iteration = !rank.finished;
  begin_iteration(id, now);
  begin_iterations(free, now);
}

void Engine::begin_iteration(RankId id, Time now) noexcept {
  Rank& rank = at(id);
  if (!rank.awaits_iteration || !gates_.open(id, rank.iteration)) return;
  rank.awaits_iteration = false;
  rank.source->reset();
  rank.collectives.reset();
  start(id, now);
}

void Engine::begin_iterations(std::span<const RankId> ranks, Time now) noexcept {
  for (const RankId rank : ranks) begin_iteration(rank, now);
}

void Engine::handle(Time now, std::span<const Event> events) noexcept {
  for (const Event& event : events) communication_.handle(now, event);
  messages_handled_ += events.size();
  const CommunicationCounters& messages = communication_.counters();
  wire_bytes_.store((messages.bytes_delivered - messages.bytes_local).count, std::memory_order_relaxed);
  local_bytes_.store(messages.bytes_local.count, std::memory_order_relaxed);
}

std::string Engine::failure_text() const {
  for (const Rank& rank : ranks_) {
    if (!rank.source->can_go_on()) return rank.source->problem();
  }
  return communication_.failure_text();
}

std::vector<Duration> Engine::rank_times() const {
  std::vector<Duration> times(place_.size());
  for (const Rank& rank : ranks_) times[rank.id.value] = rank.progress.last_end - Time();
  return times;
}

void Engine::tell_progress(std::span<RankProgress> ranks) const noexcept {
  for (const Rank& rank : ranks_) ranks[rank.id.value] = rank.progress;
}

std::vector<RankWait> Engine::network_waits(size_t most) const {
  std::vector<RankWait> waits;
  for (const Waiting& w : communication_.waiting(most)) {
    const bool sends = w.kind == StepKind::kSend;
    // Of ranks that stand for others messages have names that are not theirs.
    const Connection& connection = communication_.connection(w.connection);
    waits.push_back({.kind = sends ? WaitKind::kAnswer : WaitKind::kMessage,
                     .rank = w.rank,
                     .peer = sends ? connection.destination : connection.source,
                     .node = w.node,
                     .iteration = w.iteration,
                     .connection = w.connection,
                     .message = w.message});
  }
  return waits;
}

std::vector<RankWait> Engine::idle_waits() const {
  std::vector<RankWait> waits;
  for (const Rank& rank : ranks_) {
    for (const auto [node, behind] : rank.collectives.held_back())
      waits.push_back({.kind = behind == CollectiveOrder::kNone ? WaitKind::kPlace : WaitKind::kOrder,
                       .rank = rank.id,
                       .node = node,
                       .behind = behind,
                       .iteration = rank.iteration});
  }
  for (const Rank& rank : ranks_)
    if (rank.awaits_iteration)
      waits.push_back({.kind = WaitKind::kIteration, .rank = rank.id, .iteration = rank.iteration});
  return waits;
}

std::vector<RankWait> Engine::waits() const {
  std::vector<RankWait> waits = network_waits(SIZE_MAX);
  for (const RankWait& wait : idle_waits()) waits.push_back(wait);
  return waits;
}

std::vector<RankId> Engine::finished_ranks() const {
  std::vector<RankId> finished;
  for (const Rank& rank : ranks_)
    if (rank.finished) finished.push_back(rank.id);
  return finished;
}

std::pair<std::vector<RankWait>, std::vector<Failure>> Engine::broken_connections() const {
  std::pair<std::vector<RankWait>, std::vector<Failure>> broken;
  for (const Event& event : communication_.failures()) {
    const Connection& connection = communication_.connection(event.connection);
    broken.first.push_back({.kind = WaitKind::kAnswer,
                            .rank = connection.source,
                            .peer = connection.destination,
                            .connection = connection.id});
    broken.second.push_back(event.failure);
  }
  return broken;
}

std::string Engine::describe(const RankWait& wait) const {
  const std::string rank = rank_text(workload_, wait.rank);
  if (wait.kind == WaitKind::kIteration)
    return fmt::format("{} waits to begin iteration {}: not all ranks have ended iteration {}", rank, wait.iteration,
                       gates_.ended_by_all(wait.rank));
  const std::vector<Node>& nodes = workload_.ranks[wait.rank.value].nodes;
  const Node& node = nodes[wait.node];
  if (wait.kind == WaitKind::kPlace)
    return fmt::format("{} holds '{}' (node {}) back: concurrency.communication is reached", rank, node.name, node.id);
  if (wait.kind == WaitKind::kOrder)
    return fmt::format("{} holds '{}' (node {}) back: '{}' of the same group comes first and is not ready", rank,
                       node.name, node.id, nodes[wait.behind].name);
  const bool sends = wait.kind == WaitKind::kAnswer;
  const std::string what =
      node.kind == NodeKind::kCollective
          ? fmt::format("{} of group '{}'", to_string(node.collective), workload_.groups[node.group.value].name)
          : std::string(to_string(node.kind));
  return fmt::format("{} in '{}' (node {}, {}, iteration {}) waits for {} {} {}step {} slice {}", rank, node.name,
                     node.id, what, wait.iteration, rank_text(workload_, wait.peer),
                     sends ? "to acknowledge" : "to send", wait.message.control ? "the clear-to-send of " : "",
                     static_cast<uint64_t>(wait.message.step), static_cast<uint64_t>(wait.message.slice));
}

}  // namespace rankwire

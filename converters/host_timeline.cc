#include "converters/host_timeline.h"

#include <algorithm>
#include <utility>

namespace rankwire {
namespace {

/// A thread that is idle for so long waits for another (mlcommons/chakra, trace_linker.py).
constexpr int64_t kIdle = 1'000'000;

}  // namespace

HostTimeline::HostTimeline(const KinetoTrace& trace, const OperatorTree& tree, const DeviceQueue& queue, bool dense)
    : dense_(dense) {
  for (const auto& [id, operators] : tree.threads()) {
    threads_[id].spans.reserve(operators.size());
    for (const uint32_t index : operators) {
      const KinetoOperator& recorded = trace.operators[index];
      threads_[id].spans.push_back({recorded.begin, recorded.end, recorded.name, index, nullptr});
    }
  }
  for (const HostWait& wait : queue.waits()) {
    threads_[wait.thread].spans.push_back({wait.begin, wait.end, wait.name, OperatorTree::kNone, &wait});
  }
  for (auto& [id, thread] : threads_) {
    std::ranges::stable_sort(thread.spans, [](const Span& a, const Span& b) {
      return a.begin != b.begin ? a.begin < b.begin : a.end > b.end;
    });
    divide_time(thread);
    for (size_t i = 0; i < thread.segments.size(); ++i) {
      const Segment& segment = thread.segments[i];
      const HostWait* wait = segment.span == kNone ? nullptr : thread.spans[segment.span].wait;
      if (wait == nullptr) continue;
      int64_t done = segment.begin + 1;
      for (const uint32_t operation : wait->on) {
        done = std::max(done, queue.operations()[operation].recorded->end);
      }
      thread.divisions[i].push_back({segment.begin, std::min(done, std::max(segment.end, segment.begin + 1)), wait});
    }
  }
  find_bursts();
  for (uint32_t i = 0; i < bursts_.size(); ++i) connect_burst(i);
  size_t segments = 0;
  for (const auto& [id, thread] : threads_) segments += thread.segments.size();
  steps_.reserve(segments);
  for (auto& [id, thread] : threads_) {
    add_steps(id, thread);
    thread = {.steps = std::move(thread.steps)};
  }
  connect_threads();
}

void HostTimeline::divide_time(Thread& thread) {
  std::vector<uint32_t> open;
  std::vector<bool> seen(thread.spans.size(), false);
  thread.segments.reserve(2 * thread.spans.size());  // a begin and an end each
  int64_t cursor = 0;
  const auto take = [&](int64_t end) {
    if (open.empty()) {
      if (end > cursor && !thread.segments.empty()) thread.segments.push_back({cursor, end, kNone});
    } else if (end > cursor || !seen[open.back()]) {
      thread.segments.push_back({cursor, end, open.back()});
      seen[open.back()] = true;
    }
    cursor = std::max(cursor, end);
  };
  for (uint32_t i = 0; i < thread.spans.size(); ++i) {
    Span& span = thread.spans[i];
    if (i == 0) cursor = span.begin;
    while (!open.empty() && thread.spans[open.back()].end <= span.begin) {
      take(thread.spans[open.back()].end);
      open.pop_back();
    }
    if (!open.empty()) span.end = std::min(span.end, thread.spans[open.back()].end);
    take(span.begin);
    open.push_back(i);
  }
  for (; !open.empty(); open.pop_back()) take(thread.spans[open.back()].end);
}

void HostTimeline::find_bursts() {
  for (auto& [id, thread] : threads_) {
    const std::vector<Segment>& segments = thread.segments;
    for (size_t i = 0; i < segments.size(); ++i) {
      const bool idle = segments[i].span == kNone && segments[i].end - segments[i].begin >= kIdle;
      if (i > 0 && !idle) {
        bursts_.back().end = segments[i].end;
        continue;
      }
      const size_t first = idle ? i + 1 : i;  // time without a span is never the last
      thread.bursts[first] = static_cast<uint32_t>(bursts_.size());
      bursts_.push_back(
          {.thread = id, .begin = segments[first].begin, .end = segments[first].end, .idle_since = segments[i].begin});
    }
  }
}

/// Finds what the burst follows: the operator that another thread began last before it.
void HostTimeline::connect_burst(uint32_t index) {
  Burst& burst = bursts_[index];
  const Span* latest = nullptr;
  for (const auto& [id, thread] : threads_) {
    if (id == burst.thread) continue;
    const auto after = std::ranges::lower_bound(thread.spans, burst.begin, {}, &Span::begin);
    if (after == thread.spans.begin()) continue;
    const Span& span = *std::prev(after);
    if (latest != nullptr && span.begin <= latest->begin) continue;
    latest = &span;
    burst.follows = id;
  }
  burst.gap = burst.begin - burst.idle_since;
  if (latest == nullptr) return;
  Thread& other = threads_[burst.follows];
  const auto after = std::ranges::upper_bound(other.segments, burst.begin, {}, &Segment::begin);
  auto segment = std::prev(after);
  if (segment->span != kNone && segment->end > burst.begin) {
    burst.gap = 0;
    divide_at(other, index, static_cast<size_t>(segment - other.segments.begin()));
    return;
  }
  burst.after_thread = true;
  const int64_t ended = segment->span == kNone ? segment->begin : segment->end;
  const bool follows_itself = burst.idle_since < burst.begin && burst.idle_since > ended;
  burst.gap = burst.begin - (follows_itself ? burst.idle_since : ended);
}

void HostTimeline::divide_at(Thread& thread, uint32_t burst, size_t segment) {
  const bool waits = bursts_[burst].end < thread.segments[segment].end;
  const int64_t until = waits ? bursts_[burst].end : bursts_[burst].begin;
  thread.divisions[segment].push_back({bursts_[burst].begin, until, nullptr, burst});
}

/// Turns the segments of one thread into steps.
class HostTimeline::Builder {
 public:
  Builder(HostTimeline& timeline, int64_t id, Thread& thread)
      : timeline_(timeline), id_(id), thread_(thread), step_of_(thread.spans.size(), {kNone, 0}) {}

  /// The span's time goes to its step, unless the thread has waited since, or in a dense timeline done something else:
  /// then it takes a new one.
  void spend(uint32_t span, int64_t begin, int64_t duration) {
    auto& [step, era] = step_of_[span];
    if (step == kNone || era != era_ || (timeline_.dense_ && step != last())) {
      if (step != kNone && duration == 0) return;
      step = add(begin, thread_.spans[span].name, thread_.spans[span].operation);
      era = era_;
    }
    timeline_.steps_[step].duration += duration;
  }
  void pause(int64_t begin, int64_t duration) {
    if (duration > 0) timeline_.steps_[add(begin, HostStep::kGap, OperatorTree::kNone)].duration = duration;
  }
  /// The span goes on in a step of its own.
  uint32_t resume(uint32_t span, int64_t begin) {
    ++era_;
    const uint32_t step = add(begin, thread_.spans[span].name, thread_.spans[span].operation);
    step_of_[span] = {step, era_};
    return step;
  }
  uint32_t last() const { return thread_.steps.empty() ? kNone : thread_.steps.back(); }

 private:
  uint32_t add(int64_t begin, uint32_t name, uint32_t operation) {
    HostStep step{.begin = begin, .name = name, .operation = operation, .thread = id_};
    if (last() != kNone) {
      step.begin = std::max(begin, timeline_.steps_[last()].begin);
      step.previous = last();
    }
    thread_.steps.push_back(static_cast<uint32_t>(timeline_.steps_.size()));
    timeline_.steps_.push_back(step);
    return last();
  }

  HostTimeline& timeline_;
  const int64_t id_;
  Thread& thread_;
  std::vector<std::pair<uint32_t, uint32_t>> step_of_;  ///< by span: its step, and the era that it is of
  uint32_t era_ = 0;                                    ///< counts the waits
};

void HostTimeline::add_steps(int64_t id, Thread& thread) {
  Builder builder(*this, id, thread);
  uint32_t burst = kNone;
  for (size_t i = 0; i < thread.segments.size(); ++i) {
    const Segment& segment = thread.segments[i];
    if (const auto begins = thread.bursts.find(i); begins != thread.bursts.end()) {
      if (burst != kNone) bursts_[burst].last = builder.last();
      burst = begins->second;
      const size_t before = thread.steps.size();
      builder.pause(bursts_[burst].begin - bursts_[burst].gap, bursts_[burst].gap);
      if (segment.span != kNone) builder.spend(segment.span, segment.begin, 0);
      if (thread.steps.size() > before) bursts_[burst].first = thread.steps[before];
    }
    int64_t cursor = segment.begin;
    if (const auto found = thread.divisions.find(i); found != thread.divisions.end()) {
      std::ranges::sort(found->second, {}, &Division::at);
      for (const Division& division : found->second) {
        if (division.wait == nullptr) builder.spend(segment.span, cursor, std::max<int64_t>(division.at - cursor, 0));
        if (division.burst != kNone) bursts_[division.burst].after_step = builder.last();
        cursor = std::max({cursor, division.at, division.until});
        const uint32_t step = builder.resume(segment.span, cursor);
        if (division.wait != nullptr) after_device_.set(step, division.wait->on);
        if (division.burst != kNone && division.until > division.at) returns_.emplace_back(step, division.burst);
      }
    }
    const bool explained = segment.span == kNone && segment.end - segment.begin >= kIdle;
    const int64_t rest = std::max<int64_t>(segment.end - cursor, 0);
    if (segment.span != kNone) {
      builder.spend(segment.span, cursor, rest);
    } else if (!explained) {
      builder.pause(cursor, rest);
    }
  }
  if (burst != kNone) bursts_[burst].last = builder.last();
}

void HostTimeline::connect_threads() {
  for (const Burst& burst : bursts_) {
    if (burst.first == kNone) continue;
    if (burst.after_step != kNone) after_threads_.add(burst.first, burst.after_step);
    if (!burst.after_thread) continue;
    const uint32_t step = step_at(burst.follows, burst.begin - 1);
    if (step != kNone && steps_[step].begin <= steps_[burst.first].begin) {
      after_threads_.add(burst.first, step);
    }
  }
  for (const auto& [step, burst] : returns_) {
    if (bursts_[burst].last != kNone) after_threads_.add(step, bursts_[burst].last);
  }
}

uint32_t HostTimeline::step_at(int64_t thread, int64_t time) const {
  const auto found = threads_.find(thread);
  if (found == threads_.end()) return kNone;
  const std::vector<uint32_t>& steps = found->second.steps;
  const auto after = std::ranges::upper_bound(steps, time, {}, [&](uint32_t step) { return steps_[step].begin; });
  return after == steps.begin() ? kNone : *std::prev(after);
}

}  // namespace rankwire

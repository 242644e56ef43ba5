#include "emulator/traces/rank_times.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

namespace rankwire {
namespace {

/// The time that at least one of the spans covers, which come in the order of their starts.
class Coverage {
 public:
  void add(const Span& span) {
    const Time from = std::max(span.start, until_);
    if (span.end <= from) return;
    sum_ += span.end - from;
    until_ = span.end;
  }
  Duration sum() const { return sum_; }

 private:
  Duration sum_;
  Time until_ = Time::long_ago();
};

/// What does one thing at a time: a stream, or a group without one.
struct LaneState {
  StreamTimes times;
  Coverage busy;
  std::optional<Time> until;
};

bool has_kernels(const RankFacts& facts) {
  return std::ranges::any_of(facts.nodes, [](const NodeFacts& node) {
    return node.kind == NodeKind::kCompute || node.kind == NodeKind::kMemory;
  });
}

class Sweep {
 public:
  Sweep(const RankFacts& facts, std::span<const Span> spans, bool recorded)
      : facts_(facts), spans_(spans), recorded_(recorded), kernels_(has_kernels(facts)) {}

  RankTimes run(std::vector<NodeArrival>* arrivals) {
    const std::vector<uint32_t> order = in_order_of_start();
    for (const uint32_t node : order) add(node, arrivals);
    if (order.empty()) return {};
    times_.end = until_;
    times_.compute = compute_.sum();
    times_.communication = communication_.sum();
    times_.both = times_.compute + times_.communication - computes_or_communicates_.sum();
    times_.memory = all_.sum() - computes_or_communicates_.sum();
    for (auto& [key, lane] : lanes_) {
      if (!key.first) continue;
      lane.times.busy = lane.busy.sum();
      times_.streams.push_back(lane.times);
    }
    if (arrivals != nullptr) std::ranges::sort(*arrivals, {}, &NodeArrival::node);
    return std::move(times_);
  }

 private:
  /// (is a stream, which: of what has none, its group)
  using LaneKey = std::pair<bool, int64_t>;

  std::vector<uint32_t> in_order_of_start() const {
    std::vector<uint32_t> order;
    for (uint32_t i = 0; i < facts_.nodes.size(); ++i) {
      const NodeKind kind = facts_.nodes[i].kind;
      if (kind != NodeKind::kNone && (kind != NodeKind::kHost || !kernels_)) order.push_back(i);
    }
    const auto by_start = [&](uint32_t a, uint32_t b) { return spans_[a].start < spans_[b].start; };
    if (!std::ranges::is_sorted(order, by_start)) std::ranges::stable_sort(order, by_start);
    return order;
  }

  void add(uint32_t i, std::vector<NodeArrival>* arrivals) {
    const NodeFacts& node = facts_.nodes[i];
    const Span& span = spans_[i];
    if (!began_) times_.begin = until_ = span.start;
    began_ = true;
    if (span.start > until_) times_.idle[cause(i, until_)] += span.start - until_;
    LaneState* const lane = lane_of(node);
    if (arrivals != nullptr && node.communicates()) arrivals->push_back({i, arrival(i, lane)});
    if (lane != nullptr) add_to(*lane, i);
    until_ = std::max(until_, span.end);
    all_.add(span);
    if (moves_memory(node)) return;
    (node.communicates() ? communication_ : compute_).add(span);
    computes_or_communicates_.add(span);
  }

  void add_to(LaneState& lane, uint32_t i) {
    const Span& span = spans_[i];
    if (lane.until && span.start > *lane.until) lane.times.idle[cause(i, *lane.until)] += span.start - *lane.until;
    lane.until = std::max(lane.until.value_or(span.end), span.end);
    lane.busy.add(span);
    ++lane.times.operations;
  }

  LaneState* lane_of(const NodeFacts& node) {
    if (node.on_cpu || (!node.stream && node.group == NodeFacts::kNoName)) return nullptr;
    const LaneKey key{node.stream.has_value(), node.stream.value_or(node.group)};
    if (last_lane_ != nullptr && key == last_key_) return last_lane_;
    last_key_ = key;
    last_lane_ = &lanes_[key];
    last_lane_->times.stream = key.second;
    return last_lane_;
  }

  Time arrival(uint32_t i, const LaneState* lane) const {
    if (recorded_) return spans_[i].start;
    Time time = lane != nullptr && lane->until ? *lane->until : Time(0);
    for (const uint64_t id : facts_.carried().of(i)) {
      const std::optional<uint32_t> parent = facts_.find(id);
      if (parent && *parent != i) time = std::max(time, spans_[*parent].end);
    }
    return std::min(time, spans_[i].start);
  }

  /// Nothing was at work from `since` until the node began.
  IdleCause cause(uint32_t i, Time since) const {
    const NodeFacts& node = facts_.nodes[i];
    bool host = false, communication = false, stream = false;
    for (const uint64_t id : facts_.carried().of(i)) {
      const std::optional<uint32_t> index = facts_.find(id);
      if (!index || *index == i) continue;
      const NodeFacts& parent = facts_.nodes[*index];
      const Span& span = spans_[*index];
      if (kernels_ && parent.on_cpu) {
        // Kernels are launched while the host operation that launches them is at work; in a schedule behind it.
        host = host || (recorded_ ? span.start : span.end) > since;
      } else if (span.end > since) {
        (parent.communicates() ? communication : stream) = true;
      }
    }
    if (host) return IdleCause::kHost;
    if (communication) return IdleCause::kCommunication;
    if (stream) return IdleCause::kStream;
    // An ideal schedule leaves it no other reason to wait.
    if (!recorded_ && node.communicates()) return IdleCause::kCommunication;
    return spans_[i].start - since < kLaunchGap ? IdleCause::kLaunch : IdleCause::kOther;
  }

  const RankFacts& facts_;
  const std::span<const Span> spans_;
  const bool recorded_, kernels_;
  RankTimes times_;
  bool began_ = false;
  Time until_;
  Coverage compute_, communication_, computes_or_communicates_, all_;
  std::map<LaneKey, LaneState> lanes_;
  LaneKey last_key_;
  LaneState* last_lane_ = nullptr;
};

}  // namespace

Duration IdleTimes::sum() const {
  Duration sum;
  for (const Duration time : by_cause) sum += time;
  return sum;
}

IdleTimes& IdleTimes::operator+=(const IdleTimes& other) {
  for (size_t i = 0; i < by_cause.size(); ++i) by_cause[i] += other.by_cause[i];
  return *this;
}

bool moves_memory(const NodeFacts& node) {
  if (node.kind == NodeKind::kMemory) return true;
  std::string_view name = node.name;
  if (node.kind != NodeKind::kCompute) return false;
  if (name.starts_with("hip")) name.remove_prefix(3);
  return name.starts_with("Memcpy") || name.starts_with("Memset") || name == "dma_request";
}

RankTimes rank_times(const RankFacts& facts, std::span<const Span> spans, bool recorded,
                     std::vector<NodeArrival>* arrivals) {
  return Sweep(facts, spans, recorded).run(arrivals);
}

}  // namespace rankwire

#include "emulator/traces/timing.h"

#include <algorithm>
#include <functional>
#include <map>
#include <queue>
#include <set>
#include <tuple>
#include <utility>

#include "emulator/traces/recorded_path.h"

namespace rankwire {
namespace {

constexpr uint32_t kNone = UINT32_MAX;

Duration quotient(int64_t count, int64_t per_second) {
  const __int128 ps = (static_cast<__int128>(count) * 1'000'000'000'000 + per_second - 1) / per_second;
  return Duration(static_cast<int64_t>(std::min<__int128>(ps, Duration::max().ps / 4)));
}

/// What a node takes by itself; nothing where a longer time than any run would follow.
Duration duration_of(const NodeFacts& node, const TimingOptions& options) {
  constexpr Duration kMost = seconds(1'000'000);
  if (node.kind == NodeKind::kNone) return Duration();
  if (node.duration > 0) return std::min(node.recorded(), kMost);
  const int64_t element = options.element_size.count;
  const int64_t size = std::clamp<int64_t>(node.communicates() ? node.size.value_or(0) : node.tensor.value_or(0), 0,
                                           kMaxOperationBytes / element);
  const bool sends = node.kind == NodeKind::kCollective || node.kind == NodeKind::kSend;
  if (sends) return std::min(serialization_time(Bytes(size * element), options.rate), kMost);
  if (node.kind == NodeKind::kReceive) return Duration();
  return std::min(quotient(std::max<int64_t>(node.operations.value_or(0), 0), options.peak_flops), kMost);
}

/// All ranks in one graph: a vertex is a node, or a collective with all its members.
class Schedule {
 public:
  Schedule(const RankSet& set, const Matches& matches, const TimingOptions& options) : set_(set), options_(options) {
    number_vertices(matches);
    link(matches);
  }

  bool run();
  void write(Timing& timing) const;

 private:
  /// (place, what kind of resource, which)
  using LaneKey = std::tuple<uint32_t, int, int64_t>;
  struct Vertex {
    std::vector<NodeRef> members;
    std::vector<uint32_t> lanes;
    Duration duration;
    Span span;
    uint32_t waiting = 0;    ///< for so many dependencies
    uint32_t cause = kNone;  ///< what it waited for last
  };
  struct Lane {
    uint32_t holder = kNone, last = kNone;
    std::set<std::pair<uint64_t, uint32_t>> queue;  ///< (id, vertex)
  };
  using End = std::pair<Time, uint32_t>;

  void number_vertices(const Matches& matches);
  void add_vertex(std::vector<NodeRef> members);
  void link(const Matches& matches);
  void take_lane(Vertex& vertex, NodeRef at);
  uint64_t id_of(uint32_t vertex) const { return set_.node(vertices_[vertex].members.front()).id; }
  void attempt(uint32_t vertex, Time now);
  void finish(uint32_t vertex, Time now);

  const RankSet& set_;
  const TimingOptions& options_;
  std::vector<Vertex> vertices_;
  std::vector<std::vector<uint32_t>> vertex_of_;  ///< by place and node
  Graph graph_;
  std::map<LaneKey, uint32_t> lane_of_;
  std::vector<Lane> lanes_;
  std::priority_queue<End, std::vector<End>, std::greater<>> ends_;
  uint32_t finished_ = 0;
};

void Schedule::number_vertices(const Matches& matches) {
  for (const RankFacts& facts : set_.ranks) vertex_of_.emplace_back(facts.nodes.size(), kNone);
  for (const auto& numbered : matches.collectives) {
    for (const std::vector<NodeRef>& members : numbered) add_vertex(members);
  }
  for (uint32_t place = 0; place < set_.ranks.size(); ++place) {
    for (uint32_t i = 0; i < set_.ranks[place].nodes.size(); ++i) {
      if (vertex_of_[place][i] == kNone) add_vertex({{place, i}});
    }
  }
}

void Schedule::add_vertex(std::vector<NodeRef> members) {
  Vertex vertex;
  vertex.duration = Duration::max();
  for (const NodeRef at : members) {
    vertex_of_[at.place][at.node] = static_cast<uint32_t>(vertices_.size());
    vertex.duration = std::min(vertex.duration, duration_of(set_.node(at), options_));
    take_lane(vertex, at);
  }
  vertex.members = std::move(members);
  vertices_.push_back(std::move(vertex));
}

void Schedule::take_lane(Vertex& vertex, NodeRef at) {
  enum Resource { kHostThread, kStream, kGroup, kAccelerator };
  const NodeFacts& node = set_.node(at);
  const bool message = node.kind == NodeKind::kSend || node.kind == NodeKind::kReceive;
  if (node.kind == NodeKind::kNone || (message && !node.stream)) return;
  LaneKey key{at.place, kAccelerator, 0};
  if (node.on_cpu) {
    key = {at.place, kHostThread, node.stream.value_or(0)};
  } else if (node.stream) {
    key = {at.place, kStream, *node.stream};
  } else if (node.communicates()) {
    key = {at.place, kGroup, set_.group_of[at.place][at.node]};
  }
  const auto [lane, added] = lane_of_.try_emplace(key, static_cast<uint32_t>(lanes_.size()));
  if (added) lanes_.emplace_back();
  if (std::ranges::find(vertex.lanes, lane->second) == vertex.lanes.end()) vertex.lanes.push_back(lane->second);
}

void Schedule::link(const Matches& matches) {
  std::vector<Edge> edges;
  for (uint32_t place = 0; place < set_.ranks.size(); ++place) {
    const Graph graph = dependency_graph(set_.ranks[place]);
    for (uint32_t i = 0; i < graph.vertices(); ++i) {
      for (const uint32_t next : graph.next_of(i)) edges.push_back({vertex_of_[place][i], vertex_of_[place][next]});
    }
  }
  for (const auto& [send, receive] : matches.messages) {
    edges.push_back({vertex_of_[send.place][send.node], vertex_of_[receive.place][receive.node]});
  }
  graph_ = make_graph(static_cast<uint32_t>(vertices_.size()), edges);
  for (const uint32_t next : graph_.next) ++vertices_[next].waiting;
}

bool Schedule::run() {
  std::set<std::pair<uint64_t, uint32_t>> ready;
  for (uint32_t v = 0; v < vertices_.size(); ++v) {
    if (vertices_[v].waiting == 0) ready.emplace(id_of(v), v);
  }
  for (const auto& [id, vertex] : ready) attempt(vertex, Time(0));
  while (!ends_.empty()) {
    const auto [now, vertex] = ends_.top();
    ends_.pop();
    finish(vertex, now);
  }
  return finished_ == vertices_.size();
}

void Schedule::attempt(uint32_t v, Time now) {
  Vertex& vertex = vertices_[v];
  for (const uint32_t lane : vertex.lanes) {
    if (lanes_[lane].holder == kNone) continue;
    lanes_[lane].queue.emplace(id_of(v), v);
    return;
  }
  for (const uint32_t lane : vertex.lanes) lanes_[lane].holder = v;
  vertex.span = {now, now + vertex.duration};
  ends_.emplace(vertex.span.end, v);
}

void Schedule::finish(uint32_t v, Time now) {
  ++finished_;
  std::vector<uint32_t> ready;
  for (const uint32_t next : graph_.next_of(v)) {
    vertices_[next].cause = v;
    if (--vertices_[next].waiting == 0) ready.push_back(next);
  }
  std::ranges::sort(ready, {}, [&](uint32_t next) { return std::pair(id_of(next), next); });
  for (const uint32_t next : ready) attempt(next, now);
  for (const uint32_t l : vertices_[v].lanes) lanes_[l].holder = kNone;
  for (const uint32_t l : vertices_[v].lanes) {
    while (lanes_[l].holder == kNone && !lanes_[l].queue.empty()) {
      const uint32_t next = lanes_[l].queue.begin()->second;
      lanes_[l].queue.erase(lanes_[l].queue.begin());
      vertices_[next].cause = v;
      attempt(next, now);
    }
  }
}

void Schedule::write(Timing& timing) const {
  uint32_t last = kNone;
  for (uint32_t v = 0; v < vertices_.size(); ++v) {
    for (const NodeRef at : vertices_[v].members) timing.spans[at.place][at.node] = vertices_[v].span;
    if (last == kNone || vertices_[v].span.end > vertices_[last].span.end) last = v;
  }
  if (last == kNone) return;
  timing.end = vertices_[last].span.end;
  for (uint32_t v = last; v != kNone; v = vertices_[v].cause) {
    if (vertices_[v].duration > Duration())
      timing.critical.push_back({vertices_[v].members.front(), vertices_[v].span});
  }
  std::ranges::reverse(timing.critical);
}

/// The first start of the set; nothing unless all files have one.
std::optional<Time> first_start(const RankSet& set) {
  std::optional<Time> first;
  for (const RankFacts& facts : set.ranks) {
    const bool takes_part =
        std::ranges::any_of(facts.nodes, [](const NodeFacts& node) { return node.kind != NodeKind::kNone; });
    if (!takes_part) continue;
    const std::optional<Time> of_rank = first_start(facts);
    if (!of_rank) return std::nullopt;
    first = std::min(first.value_or(*of_rank), *of_rank);
  }
  return first;
}

void write_recorded(const RankSet& set, const Matches& matches, Time first, Timing& timing) {
  timing.recorded = true;
  for (uint32_t place = 0; place < set.ranks.size(); ++place) {
    timing.spans[place] = recorded_spans(set.ranks[place], first);
    for (const Span& span : timing.spans[place]) timing.end = std::max(timing.end, span.end);
  }
  timing.critical = recorded_path(set, matches, timing.spans);
}

}  // namespace

Timing time_operations(const RankSet& set, const Matches& matches, const TimingOptions& options) {
  Timing timing;
  for (const RankFacts& facts : set.ranks) timing.spans.emplace_back(facts.nodes.size());
  if (const std::optional<Time> first = options.scheduled ? std::nullopt : first_start(set)) {
    write_recorded(set, matches, *first, timing);
    return timing;
  }
  Schedule schedule(set, matches, options);
  if (schedule.run()) {
    schedule.write(timing);
  } else {
    timing.problem = "some nodes wait for each other: rankwire trace check says which";
  }
  return timing;
}

std::optional<Time> first_start(const RankFacts& facts) {
  std::optional<Time> first;
  for (const NodeFacts& node : facts.nodes) {
    if (node.kind == NodeKind::kNone) continue;
    const std::optional<Time> start = node.started();
    if (!start || node.recorded() == Duration::max()) return std::nullopt;
    first = std::min(first.value_or(*start), *start);
  }
  return first;
}

std::vector<Span> recorded_spans(const RankFacts& facts, Time first) {
  std::vector<Span> spans(facts.nodes.size());
  for (size_t i = 0; i < facts.nodes.size(); ++i) {
    const NodeFacts& node = facts.nodes[i];
    if (node.kind == NodeKind::kNone) continue;
    const Time start = Time(0) + (*node.started() - first);
    spans[i] = {start, start + node.recorded()};
  }
  return spans;
}

}  // namespace rankwire

#include "emulator/workload/run_order.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <tuple>
#include <utility>

#include "emulator/workload/graph.h"
#include "emulator/workload/timeless_run.h"
#include "emulator/workload/tolerated.h"

namespace rankwire {
namespace {

constexpr int64_t kPicosecondsPerByte = 80;

/// All ranks in one graph. A vertex is a node of one rank, or one collective of a group.
class MergedGraph {
 public:
  MergedGraph(const Workload& workload, std::span<const Exchange> exchanges) : workload_(workload) {
    number_vertices();
    add_edges(exchanges);
  }

  /// The graph by dependencies and messages alone.
  Graph by_dependencies() const { return make_graph(vertices(), edges_); }
  /// The same with every group's collectives one after the other in file order.
  Graph in_file_order() const;

  uint32_t vertices() const { return static_cast<uint32_t>(first_.size()); }
  /// The lowest rank's node of a vertex.
  NodePlace first(uint32_t vertex) const { return first_[vertex]; }
  const Node& node(uint32_t vertex) const { return workload_.ranks[first_[vertex].rank].nodes[first_[vertex].node]; }
  uint32_t vertex_of(uint32_t rank, uint32_t node) const { return vertex_of_[begin_[rank] + node]; }
  std::string describe(std::span<const uint32_t> cycle) const;

 private:
  void number_vertices();
  void add_edges(std::span<const Exchange> exchanges);

  const Workload& workload_;
  std::vector<size_t> begin_;                    ///< of each rank in `vertex_of_`
  std::vector<uint32_t> vertex_of_;              ///< by rank and node
  std::vector<NodePlace> first_;                 ///< by vertex
  std::vector<std::vector<uint32_t>> of_group_;  ///< by group and sequence
  std::vector<Edge> edges_;
};

void MergedGraph::number_vertices() {
  of_group_.resize(workload_.groups.size());
  for (uint32_t rank = 0; rank < workload_.ranks.size(); ++rank) {
    begin_.push_back(vertex_of_.size());
    const std::vector<Node>& nodes = workload_.ranks[rank].nodes;
    for (uint32_t i = 0; i < nodes.size(); ++i) {
      const bool collective = nodes[i].kind == NodeKind::kCollective;
      std::vector<uint32_t>* group = collective ? &of_group_[nodes[i].group.value] : nullptr;
      // Members have equally many, so a sequence is new exactly when the lowest rank of the group comes to it.
      if (collective && nodes[i].sequence < group->size()) {
        vertex_of_.push_back((*group)[nodes[i].sequence]);
        continue;
      }
      if (collective) group->push_back(vertices());
      vertex_of_.push_back(vertices());
      first_.push_back({rank, i});
    }
  }
}

void MergedGraph::add_edges(std::span<const Exchange> exchanges) {
  for (uint32_t rank = 0; rank < workload_.ranks.size(); ++rank) {
    const RankTrace& trace = workload_.ranks[rank];
    for (uint32_t i = 0; i < trace.nodes.size(); ++i) {
      for (const uint32_t next : trace.successors_of(i)) edges_.push_back({vertex_of(rank, i), vertex_of(rank, next)});
    }
  }
  for (const Exchange& exchange : exchanges) {
    edges_.push_back(
        {vertex_of(exchange.send.rank, exchange.send.node), vertex_of(exchange.receive.rank, exchange.receive.node)});
  }
}

Graph MergedGraph::in_file_order() const {
  std::vector<Edge> edges = edges_;
  for (const std::vector<uint32_t>& collectives : of_group_) {
    for (size_t n = 1; n < collectives.size(); ++n) edges.push_back({collectives[n - 1], collectives[n]});
  }
  return make_graph(vertices(), edges);
}

std::string MergedGraph::describe(std::span<const uint32_t> cycle) const {
  constexpr size_t kShown = 6;
  std::string text;
  for (size_t i = 0; i < cycle.size() && i < kShown; ++i) {
    const Node& at = node(cycle[i]);
    text += fmt::format("rank {} node {} \"{}\"", first(cycle[i]).rank, at.id, at.name);
    if (at.kind == NodeKind::kCollective) {
      text += fmt::format(" ({} {} of group \"{}\")", to_string(at.collective), at.sequence,
                          workload_.groups[at.group.value].name);
    }
    text += " -> ";
  }
  if (cycle.size() > kShown) text += fmt::format("{} more -> ", cycle.size() - kShown);
  return text + fmt::format("rank {} node {}", first(cycle.front()).rank, node(cycle.front()).id);
}

/// When a vertex could start at the earliest, and what breaks ties.
struct Candidate {
  int64_t start_ps = 0;
  uint64_t id = 0;
  uint32_t vertex = 0;

  friend bool operator>(const Candidate& a, const Candidate& b) {
    return std::tie(a.start_ps, a.id, a.vertex) > std::tie(b.start_ps, b.id, b.vertex);
  }
};

int64_t saturating_sum(int64_t a, int64_t b) {
  return a > INT64_MAX - b ? INT64_MAX : a + b;
}

int64_t weight_ps(const Node& node) {
  const bool communicates = node.kind == NodeKind::kCollective || node.kind == NodeKind::kSend;
  if (!communicates) return node.duration.ps;
  return node.bytes.count > INT64_MAX / kPicosecondsPerByte ? INT64_MAX : node.bytes.count * kPicosecondsPerByte;
}

/// The vertices of an acyclic graph in the order of their earliest start.
std::vector<uint32_t> walk_by_start(const MergedGraph& merged, const Graph& graph) {
  std::vector<uint32_t> waiting(graph.vertices(), 0);
  for (const uint32_t next : graph.next) ++waiting[next];
  std::vector<int64_t> start(graph.vertices(), 0);
  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> ready;
  for (uint32_t v = 0; v < graph.vertices(); ++v) {
    if (waiting[v] == 0) ready.push({0, merged.node(v).id, v});
  }
  std::vector<uint32_t> order;
  order.reserve(graph.vertices());
  while (!ready.empty()) {
    const uint32_t vertex = ready.top().vertex;
    ready.pop();
    order.push_back(vertex);
    const int64_t end = saturating_sum(start[vertex], weight_ps(merged.node(vertex)));
    for (const uint32_t next : graph.next_of(vertex)) {
      start[next] = std::max(start[next], end);
      if (--waiting[next] == 0) ready.push({start[next], merged.node(next).id, next});
    }
  }
  return order;
}

/// By vertex: the place of a collective in the walk's order of its group.
std::vector<uint32_t> places_in_groups(const Workload& workload, const MergedGraph& merged,
                                       std::span<const uint32_t> walk) {
  std::vector<uint32_t> places(merged.vertices(), 0);
  std::vector<uint32_t> count(workload.groups.size(), 0);
  for (const uint32_t vertex : walk) {
    const Node& node = merged.node(vertex);
    if (node.kind == NodeKind::kCollective) places[vertex] = count[node.group.value]++;
  }
  return places;
}

template <class Order>
void set_run_order(Workload& workload, const Order& order) {
  for (uint32_t rank = 0; rank < workload.ranks.size(); ++rank) {
    std::vector<Node>& nodes = workload.ranks[rank].nodes;
    for (const uint32_t i : workload.ranks[rank].communicating) {
      if (nodes[i].kind == NodeKind::kCollective) nodes[i].run_order = order(rank, i);
    }
  }
}

}  // namespace

void order_collectives(Workload& workload, std::span<const Exchange> exchanges, Warnings& warnings) {
  // Most traces need no graph.
  if (runs_one_by_one(workload, exchanges)) {
    set_run_order(workload, [&](uint32_t rank, uint32_t i) { return workload.ranks[rank].nodes[i].sequence; });
    return;
  }
  const MergedGraph merged(workload, exchanges);
  const std::vector<uint32_t> file_cycle = find_cycle(merged.in_file_order());
  if (file_cycle.empty()) {
    set_run_order(workload, [&](uint32_t rank, uint32_t i) { return workload.ranks[rank].nodes[i].sequence; });
    return;
  }
  const Graph graph = merged.by_dependencies();
  const std::vector<uint32_t> cycle = find_cycle(graph);
  if (!cycle.empty()) {
    const std::string& file = workload.ranks[merged.first(cycle.front()).rank].file;
    fail_input("{}: the ranks wait for each other: {}", place(file, merged.node(cycle.front())),
               merged.describe(cycle));
  }
  const std::vector<uint32_t> places = places_in_groups(workload, merged, walk_by_start(merged, graph));
  set_run_order(workload, [&](uint32_t rank, uint32_t i) { return places[merged.vertex_of(rank, i)]; });
  warnings.push_back(fmt::format(
      "collectives run in the order of their dependencies, because the order of the files cannot be run: {}",
      merged.describe(file_cycle)));
}

}  // namespace rankwire

#include "emulator/workload/graph.h"

#include <algorithm>
#include <numeric>

namespace rankwire {

namespace {

/// Edges as `visit(take)` hands them to `take(from, to)`, the same ones at both calls.
template <class Visit>
Graph make_rows(size_t vertices, size_t edges, Visit visit) {
  Graph graph;
  // Counted two places behind, so that when the edges are entered the offsets of rows become those of the next ones.
  graph.begin.assign(vertices + 2, 0);
  visit([&](uint32_t from, uint32_t) { ++graph.begin[size_t{from} + 2]; });
  std::partial_sum(graph.begin.begin(), graph.begin.end(), graph.begin.begin());
  graph.next.resize(edges);
  visit([&](uint32_t from, uint32_t to) { graph.next[graph.begin[size_t{from} + 1]++] = to; });
  graph.begin.pop_back();
  return graph;
}

}  // namespace

Graph make_graph_of_parents(std::span<const uint32_t> counts, std::span<const uint32_t> parents) {
  return make_rows(counts.size(), parents.size(), [&](auto take) {
    const uint32_t* parent = parents.data();
    for (uint32_t vertex = 0; vertex < counts.size(); ++vertex) {
      for (uint32_t n = 0; n < counts[vertex]; ++n) take(*parent++, vertex);
    }
  });
}

Graph make_graph(uint32_t vertices, std::span<const Edge> edges) {
  return make_rows(vertices, edges.size(), [&](auto take) {
    for (const Edge& edge : edges) take(edge.from, edge.to);
  });
}

std::vector<uint32_t> find_cycle(const Graph& graph) {
  enum class Mark : uint8_t { kNew, kOnPath, kDone };
  std::vector<Mark> marks(graph.vertices(), Mark::kNew);
  std::vector<uint32_t> at(graph.begin.begin(), graph.begin.end() - 1);
  std::vector<uint32_t> path;
  for (uint32_t root = 0; root < graph.vertices(); ++root) {
    if (marks[root] != Mark::kNew) continue;
    path.push_back(root);
    marks[root] = Mark::kOnPath;
    while (!path.empty()) {
      const uint32_t vertex = path.back();
      if (at[vertex] == graph.begin[vertex + 1]) {
        marks[vertex] = Mark::kDone;
        path.pop_back();
        continue;
      }
      const uint32_t next = graph.next[at[vertex]++];
      if (marks[next] == Mark::kOnPath) return {std::ranges::find(path, next), path.end()};
      if (marks[next] == Mark::kNew) {
        marks[next] = Mark::kOnPath;
        path.push_back(next);
      }
    }
  }
  return {};
}

}  // namespace rankwire

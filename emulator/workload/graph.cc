#include "emulator/workload/graph.h"

#include <algorithm>
#include <numeric>

namespace rankwire {

Graph make_graph(uint32_t vertices, std::span<const Edge> edges) {
  Graph graph;
  graph.begin.assign(size_t{vertices} + 1, 0);
  for (const Edge& edge : edges) ++graph.begin[edge.from + 1];
  std::partial_sum(graph.begin.begin(), graph.begin.end(), graph.begin.begin());
  graph.next.resize(edges.size());
  std::vector<uint32_t> at(graph.begin.begin(), graph.begin.end() - 1);
  for (const Edge& edge : edges) graph.next[at[edge.from]++] = edge.to;
  return graph;
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

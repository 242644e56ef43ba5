// Directed graphs in compressed rows, and the cycles in them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace rankwire {

struct Edge {
  uint32_t from = 0, to = 0;
  auto operator<=>(const Edge&) const = default;
};

/// `next_of(v)` are the heads of the edges that leave v, in the order in which the edges were given.
struct Graph {
  std::vector<uint32_t> begin;  ///< vertices + 1 offsets into `next`
  std::vector<uint32_t> next;

  uint32_t vertices() const { return static_cast<uint32_t>(begin.size() - 1); }
  std::span<const uint32_t> next_of(uint32_t vertex) const {
    return {next.data() + begin[vertex], next.data() + begin[vertex + 1]};
  }
};

/// The graph of vertices whose edges come from `parents`, which lists those of vertex 0, then those of vertex 1, and so
/// on: as many of each as `counts` says.
Graph make_graph_of_parents(std::span<const uint32_t> counts, std::span<const uint32_t> parents);

Graph make_graph(uint32_t vertices, std::span<const Edge> edges);

/// The vertices of one cycle in the order of its edges, or nothing when the graph has none. O(vertices + edges),
/// without recursion.
std::vector<uint32_t> find_cycle(const Graph& graph);

}  // namespace rankwire

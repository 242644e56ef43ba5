#include "emulator/workload/dependencies.h"

#include <algorithm>
#include <utility>

#include "emulator/workload/graph.h"
#include "emulator/workload/id_index.h"

namespace rankwire {
namespace {

IdIndex index_nodes(const RankFile& file) {
  if (file.ids_count_up && !file.nodes.empty()) return {file.nodes.front().id, file.nodes.size()};
  IdIndex index(file.nodes);
  if (const auto& same = index.repeated()) {
    fail_input("{}: the id is that of node \"{}\" already", place(file.path, file.nodes[same->second]),
               file.nodes[same->first].name);
  }
  return index;
}

class Linker {
 public:
  Linker(const RankFile& file, DependencyUse use, Tolerated& tolerated)
      : file_(file), use_(use), tolerated_(tolerated), index_(index_nodes(file)) {}

  /// Whether every edge leads to a node further on in the file.
  bool in_order() const { return in_order_; }
  /// By node: how many it distinctly depends on.
  std::vector<uint32_t> take_counts() { return std::move(counts_); }
  /// Those nodes, of one node behind those of the other, each in ascending order.
  const std::vector<uint32_t>& parents() const { return parents_; }

  void link() {
    counts_.reserve(file_.nodes.size());
    parents_.reserve((use_.data ? file_.data.size() : 0) + (use_.control ? file_.control.size() : 0));
    for (uint32_t node = 0; node < file_.nodes.size(); ++node) {
      const size_t before = parents_.size();
      if (use_.data) add_data(node);
      add_control(node);
      if (parents_.size() > before + 1) {
        const auto own = parents_.begin() + static_cast<ptrdiff_t>(before);
        std::sort(own, parents_.end());
        parents_.erase(std::unique(own, parents_.end()), parents_.end());
      }
      counts_.push_back(static_cast<uint32_t>(parents_.size() - before));
    }
  }

 private:
  void add_data(uint32_t node) {
    file_.data.each(node, [&](uint64_t id) {
      const uint32_t parent = index_.find(id);
      if (parent == IdIndex::kNone) fail_missing(node, id, "data");
      add_parent(node, parent);
    });
  }

  void add_control(uint32_t node) {
    file_.control.each(node, [&](uint64_t id) {
      const uint32_t parent = index_.find(id);
      if (parent != IdIndex::kNone) {
        if (use_.control) add_parent(node, parent);
      } else if (use_.control_must_resolve) {
        fail_missing(node, id, "control");
      } else {
        tolerated_.missing_controls.add(file_.path, file_.nodes[node]);
      }
    });
  }

  void add_parent(uint32_t node, uint32_t parent) {
    if (parent == node) {
      tolerated_.self_dependencies.add(file_.path, file_.nodes[node]);
    } else {
      parents_.push_back(parent);
      in_order_ &= parent < node;
    }
  }

  [[noreturn]] void fail_missing(uint32_t node, uint64_t id, const char* list) const {
    fail_input("{}: its {} dependency on node {} does not resolve, the file has no such node",
               place(file_.path, file_.nodes[node]), list, id);
  }

  const RankFile& file_;
  DependencyUse use_;
  Tolerated& tolerated_;
  IdIndex index_;
  std::vector<uint32_t> counts_, parents_;
  bool in_order_ = true;
};

void check_acyclic(const RankFile& file, const Graph& graph) {
  const std::vector<uint32_t> cycle = find_cycle(graph);
  if (cycle.empty()) return;
  constexpr size_t kShown = 12;
  std::string text;
  for (size_t i = 0; i < cycle.size() && i < kShown; ++i) {
    const Node& node = file.nodes[cycle[i]];
    text += fmt::format("{} \"{}\" -> ", node.id, node.name);
  }
  if (cycle.size() > kShown) text += fmt::format("{} more -> ", cycle.size() - kShown);
  fail_input("{}: its dependencies are a cycle: {}{}", place(file.path, file.nodes[cycle.front()]), text,
             file.nodes[cycle.front()].id);
}

}  // namespace

DependencyUse choose_dependencies(bool has_data, DependencyPolicy policy) {
  switch (policy) {
    case DependencyPolicy::kData:
      return {.data = true};
    case DependencyPolicy::kControl:
      return {.control = true, .control_must_resolve = true};
    case DependencyPolicy::kBoth:
      return {.data = true, .control = true, .control_must_resolve = !has_data};
    case DependencyPolicy::kAuto:
      break;
  }
  return {.data = has_data, .control = !has_data, .control_must_resolve = !has_data};
}

RankTrace link_dependencies(RankFile&& file, DependencyUse use, Tolerated& tolerated) {
  Linker linker(file, use, tolerated);
  linker.link();
  RankTrace trace;
  trace.dependencies = linker.take_counts();
  Graph graph = make_graph_of_parents(trace.dependencies, linker.parents());
  if (!linker.in_order()) check_acyclic(file, graph);

  trace.in_order = linker.in_order();
  trace.ids_count_up = file.ids_count_up;
  trace.file = std::move(file.path);
  trace.nodes = std::move(file.nodes);
  trace.communicating = std::move(file.communicating);
  trace.successor_begin = std::move(graph.begin);
  trace.successors = std::move(graph.next);
  return trace;
}

}  // namespace rankwire

#include "emulator/traces/check_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_set>
#include <utility>

#include "base/sort_unique.h"

namespace rankwire {
namespace {

constexpr Duration kHugeDuration = seconds(3600);

/// What the rank has of the operation. Of a SEND it has nothing, so that no node need depend on it.
bool has_result(const NodeFacts& node) {
  return node.kind != NodeKind::kSend;
}

/// Findings of one file.
class FileCheck {
 public:
  FileCheck(const RankFacts& facts, const CheckOptions& options, Findings& findings)
      : facts_(facts), options_(options), findings_(findings) {}

  void run() {
    check_reading();
    check_ids();
    for (uint32_t i = 0; i < facts_.nodes.size(); ++i) check_dependencies(i);
    for (const NodeFacts& node : facts_.nodes) check_values(node);
    check_compute();
    check_elements();
    check_graph();
  }

 private:
  void add(const char* code, const std::string& what) {
    findings_.add(code, facts_.path, facts_.rank, std::nullopt, what);
  }
  void add(const char* code, const NodeFacts& node, const std::string& what) {
    findings_.add(code, facts_.path, facts_.rank, node.id, what);
  }

  void check_reading() {
    if (!facts_.unreadable.empty()) {
      const std::string last = facts_.nodes.empty() ? "" : "; the last node is " + node_text(facts_.nodes.back());
      add(facts_.truncated() ? "truncated" : "unreadable", facts_.unreadable + last);
    }
    const bool untyped = std::ranges::all_of(facts_.nodes, [](const NodeFacts& node) { return node.type == 0; });
    if (facts_.unreadable.empty() && untyped) {
      add("no-nodes", fmt::format("the trace has {} nodes, none of which has a type", facts_.nodes.size()));
    }
    for (const ReadFault& fault : facts_.faults) {
      fault.node ? add("bad-value", facts_.nodes[*fault.node], fault.text) : add("bad-value", fault.text);
    }
  }

  void check_ids() {
    for (uint32_t i = 0; i < facts_.nodes.size(); ++i) {
      const NodeFacts& node = facts_.nodes[i];
      const uint32_t first = *facts_.find(node.id);
      if (first == i) continue;
      add("duplicate-id", node,
          fmt::format("the id of node {} is that of \"{}\" too", node_text(node), facts_.nodes[first].name));
    }
  }

  void check_dependencies(uint32_t i) {
    const bool data_carries = facts_.carrier == Carrier::kData;
    check_list(i, facts_.data.of(i), data_carries, "data");
    check_list(i, facts_.control.of(i), !data_carries, "control");
  }

  void check_list(uint32_t i, std::span<const uint64_t> ids, bool carries, const char* list) {
    const NodeFacts& node = facts_.nodes[i];
    seen_.clear();
    for (const uint64_t id : ids) {
      const std::optional<uint32_t> parent = facts_.find(id);
      if (!parent) {
        add(carries ? "dangling-dependency" : "dangling-control", node,
            fmt::format("the {} dependency of node {} on node {} does not resolve", list, node_text(node), id));
      } else if (id == node.id) {
        add(carries ? "self-dependency" : "self-control", node,
            fmt::format("node {} has a {} dependency on itself", node_text(node), list));
      } else if (carries && !seen_.insert(id).second) {
        add("duplicate-dependency", node, fmt::format("node {} depends on node {} twice", node_text(node), id));
      } else if (carries && *parent > i) {
        add("forward-dependency", node,
            fmt::format("node {} depends on node {}, which stands {} further on", node_text(node), id, *parent - i));
      }
    }
  }

  void check_values(const NodeFacts& node) {
    if (node.duration > 0) check_duration(node);
    const bool is_host_duplicate = node.kind == NodeKind::kNone && node.on_cpu && is_communication(node.type);
    if (is_host_duplicate) {
      add("host-duplicate", node, fmt::format("node {} is on the CPU and has neither type nor size", node_text(node)));
    }
    if (!chakra::NodeType_IsValid(static_cast<int>(node.type))) {
      add("unknown-type", node, fmt::format("node {} is of type {}", node_text(node), node.type));
    }
    if (node.communicates()) check_communication(node);
  }

  void check_duration(const NodeFacts& node) {
    if (has_absurd_duration(node)) {
      add("absurd-duration", node, duration_text(node));
    } else if (node.recorded() >= kHugeDuration) {
      add("huge-duration", node, duration_text(node));
    }
  }

  void check_communication(const NodeFacts& node) {
    const bool collective = node.kind == NodeKind::kCollective;
    const int64_t type = node.collective.value_or(0);
    if (collective && (type < 0 || type > static_cast<int64_t>(CollectiveKind::kBarrier))) {
      add("unknown-collective", node, fmt::format("node {} has comm_type {}", node_text(node), type));
    }
    const bool barrier = collective && type == static_cast<int64_t>(CollectiveKind::kBarrier);
    if (!barrier) check_size(node);
    if (!collective) check_peer(node);
  }

  void check_size(const NodeFacts& node) {
    if (!node.size) {
      add("missing-size", node, fmt::format("node {} has no comm_size", node_text(node)));
    } else if (has_absurd_size(node, options_.element_size)) {
      add("absurd-size", node, fmt::format("node {} has comm_size {}", node_text(node), *node.size));
    } else if (*node.size == 0) {
      add("zero-size", node, fmt::format("node {} has comm_size 0", node_text(node)));
    }
  }

  void check_peer(const NodeFacts& node) {
    const bool sends = node.kind == NodeKind::kSend;
    const std::optional<int64_t> peer = sends ? node.destination : node.source;
    const std::optional<int64_t> self = sends ? node.source : node.destination;
    const char* peer_name = sends ? "comm_dst" : "comm_src";
    if (!peer) {
      add("bad-peer", node, fmt::format("node {} has no {}", node_text(node), peer_name));
    } else if (*peer < 0 || *peer == facts_.rank || *peer > UINT32_MAX) {
      add("bad-peer", node,
          fmt::format("node {} of rank {} has {} {}", node_text(node), facts_.rank, peer_name, *peer));
    } else if (self && *self != facts_.rank) {
      add("bad-peer", node,
          fmt::format("node {} has {} {}, but the file is rank {}'s", node_text(node), sends ? "comm_src" : "comm_dst",
                      *self, facts_.rank));
    }
  }

  void check_compute() {
    uint64_t nodes = 0;
    const NodeFacts* first = nullptr;
    for (const NodeFacts& node : facts_.nodes) {
      if (node.kind != NodeKind::kCompute && node.kind != NodeKind::kHost) continue;
      if (node.duration > 0 || node.operations.value_or(0) > 0) return;
      if (nodes++ == 0) first = &node;
    }
    if (nodes > 0) add("zero-duration", fmt::format("{} compute nodes, the first is {}", nodes, node_text(*first)));
  }

  void check_elements() {
    if (options_.element_size > Bytes(1)) return;
    if (facts_.counts_elements()) add("element-counts", "the metadata names STAGE, which counts elements");
    for (const NodeFacts& node : facts_.nodes) {
      if (!node.communicates() || node.element_bytes < 2 || node.size != node.input_elements) continue;
      add("element-counts", node,
          fmt::format("node {} has comm_size {}, which is how many elements of {} bytes its inputs have",
                      node_text(node), *node.size, node.element_bytes));
    }
  }

  void check_graph() {
    const Graph graph = dependency_graph(facts_);
    const std::vector<uint32_t> cycle = find_cycle(graph);
    if (!cycle.empty()) {
      findings_.add("cycle", facts_.path, facts_.rank, facts_.nodes[cycle.front()].id, cycle_text(cycle));
      return;
    }
    check_control_cycle();
    check_order(graph);
    check_times(graph);
  }

  std::string cycle_text(std::span<const uint32_t> cycle) const {
    constexpr size_t kShown = 12;
    std::string text;
    for (size_t i = 0; i < cycle.size() && i < kShown; ++i) text += node_text(facts_.nodes[cycle[i]]) + " -> ";
    if (cycle.size() > kShown) text += fmt::format("{} more -> ", cycle.size() - kShown);
    return text + std::to_string(facts_.nodes[cycle.front()].id);
  }

  /// Of data and control dependencies together, where data dependencies alone carry the graph.
  void check_control_cycle() {
    if (facts_.carrier == Carrier::kControl || facts_.control.empty()) return;
    std::vector<Edge> edges;
    for (uint32_t i = 0; i < facts_.nodes.size(); ++i) {
      for (const References* list : {&facts_.data, &facts_.control}) {
        for (const uint64_t id : list->of(i)) {
          const std::optional<uint32_t> parent = facts_.find(id);
          if (parent && *parent != i) edges.push_back({*parent, i});
        }
      }
    }
    const std::vector<uint32_t> cycle = find_cycle(make_graph(static_cast<uint32_t>(facts_.nodes.size()), edges));
    if (!cycle.empty()) add("control-cycle", facts_.nodes[cycle.front()], cycle_text(cycle));
  }

  void check_order(const Graph& graph) {
    for (const auto& [host, kernel] : double_counted(facts_)) {
      const NodeFacts& node = facts_.nodes[host];
      add("double-counted", node,
          fmt::format("node {} on the CPU and node {} both have {} bytes", node_text(node),
                      node_text(facts_.nodes[kernel]), *node.size));
    }
    if (lost_stream_order(facts_, graph)) {
      uint64_t kernels = 0, leaves = 0;
      const NodeFacts* first = nullptr;
      for (uint32_t i = 0; i < facts_.nodes.size(); ++i) {
        if (!facts_.nodes[i].is_kernel() || !has_result(facts_.nodes[i])) continue;
        ++kernels;
        if (graph.next_of(i).empty() && leaves++ == 0) first = &facts_.nodes[i];
      }
      add("kernels-without-successors",
          fmt::format("no node depends on {} of {} kernels, the first is {}", leaves, kernels, node_text(*first)));
    }
    for (const auto& [collective, kernel] : collectives_before_inputs(facts_, graph)) {
      add("collective-before-inputs", facts_.nodes[collective],
          fmt::format(
              "nothing that node {} depends on is a kernel that computes, although node {} was launched before it",
              node_text(facts_.nodes[collective]), node_text(facts_.nodes[kernel])));
    }
  }

  void check_times(const Graph& graph) {
    for (uint32_t i = 0; i < facts_.nodes.size(); ++i) {
      const NodeFacts& before = facts_.nodes[i];
      if (!before.started() || before.recorded() == Duration::max()) continue;
      for (const uint32_t next : graph.next_of(i)) {
        const NodeFacts& after = facts_.nodes[next];
        // A launcher does not end before its kernel starts.
        const Time least = before.on_cpu && !after.on_cpu ? *before.started() : *before.started() + before.recorded();
        if (!after.started() || *after.started() >= least) continue;
        add("starts-before-dependency", after,
            fmt::format("node {} starts at {}, but node {}, which it depends on, at {} for {}", node_text(after),
                        after.start, node_text(before), before.start, before.duration));
      }
    }
  }

  const RankFacts& facts_;
  const CheckOptions& options_;
  Findings& findings_;
  std::unordered_set<uint64_t> seen_;
};

bool computes(const NodeFacts& node) {
  return node.is_kernel() && node.kind == NodeKind::kCompute;
}

/// By node: whether a kernel that computes is among what it depends on, directly or not.
std::vector<bool> follows_compute(const RankFacts& facts, const Graph& graph) {
  std::vector<bool> follows(facts.nodes.size(), false);
  for (const uint32_t i : order_by_id(facts, graph)) {
    if (!follows[i] && !computes(facts.nodes[i])) continue;
    for (const uint32_t next : graph.next_of(i)) follows[next] = true;
  }
  return follows;
}

}  // namespace

std::string node_text(const NodeFacts& node) {
  return fmt::format("{} \"{:.80}\"", node.id, node.name);
}

void check_file(const RankFacts& facts, const CheckOptions& options, Findings& findings) {
  FileCheck(facts, options, findings).run();
}

std::vector<std::vector<uint32_t>> kernel_streams(const RankFacts& facts, const Graph& graph) {
  if (std::ranges::none_of(facts.nodes, &NodeFacts::on_cpu)) return {};
  const std::vector<uint32_t> order = order_by_id(facts, graph);
  if (order.size() < facts.nodes.size()) return {};
  std::map<std::pair<bool, int64_t>, std::vector<uint32_t>> streams;
  for (const uint32_t i : order) {
    const NodeFacts& node = facts.nodes[i];
    if (!node.is_kernel()) continue;
    streams[{!node.stream, node.stream.value_or(node.communicates())}].push_back(i);
  }
  std::vector<std::vector<uint32_t>> lists;
  for (auto& [stream, nodes] : streams) lists.push_back(std::move(nodes));
  return lists;
}

bool lost_stream_order(const RankFacts& facts, const Graph& graph) {
  size_t streams = 0, kernels = 0, leaves = 0;
  for (std::vector<uint32_t> stream : kernel_streams(facts, graph)) {
    std::erase_if(stream, [&](uint32_t i) { return !has_result(facts.nodes[i]); });
    streams += stream.empty() ? 0 : 1;
    kernels += stream.size();
    leaves += static_cast<size_t>(std::ranges::count_if(stream, [&](uint32_t i) { return graph.next_of(i).empty(); }));
  }
  return leaves > streams && 2 * leaves > kernels;
}

std::vector<std::pair<uint32_t, uint32_t>> collectives_before_inputs(const RankFacts& facts, const Graph& graph) {
  std::vector<std::pair<uint32_t, uint32_t>> early;
  if (std::ranges::none_of(facts.nodes, &NodeFacts::on_cpu)) return early;
  const std::vector<bool> follows = follows_compute(facts, graph);
  std::optional<uint32_t> kernel;  // the latest that computes
  for (const uint32_t i : order_by_id(facts, graph)) {
    const NodeFacts& node = facts.nodes[i];
    if (computes(node)) kernel = i;
    const bool takes_inputs = node.communicates() && node.kind != NodeKind::kReceive;
    if (node.is_kernel() && takes_inputs && kernel && !follows[i]) early.emplace_back(i, *kernel);
  }
  return early;
}

std::vector<std::pair<uint32_t, uint32_t>> double_counted(const RankFacts& facts) {
  std::vector<std::pair<uint32_t, uint32_t>> pairs;
  for (uint32_t i = 0; i < facts.nodes.size(); ++i) {
    const NodeFacts& kernel = facts.nodes[i];
    if (kernel.on_cpu || !kernel.communicates() || !kernel.size) continue;
    for (const References* list : {&facts.data, &facts.control}) {
      for (const uint64_t id : list->of(i)) {
        const std::optional<uint32_t> parent = facts.find(id);
        if (!parent) continue;
        const NodeFacts& host = facts.nodes[*parent];
        const bool same = host.on_cpu && host.kind == kernel.kind && host.size == kernel.size;
        if (same) pairs.emplace_back(*parent, i);
      }
    }
  }
  sort_unique(pairs);
  return pairs;
}

std::string duration_text(const NodeFacts& node) {
  return fmt::format("node {} takes {} {}", node_text(node), node.duration, node.unit == nanoseconds(1) ? "ns" : "us");
}

bool has_absurd_duration(const NodeFacts& node) {
  return node.duration > 0 && node.recorded() == Duration::max();
}

bool has_absurd_size(const NodeFacts& node, Bytes element) {
  return node.size && (*node.size < 0 || *node.size > kMaxOperationBytes / element.count);
}

}  // namespace rankwire

#include "emulator/traces/rank_facts.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <utility>

#include "base/sort_unique.h"
#include "emulator/traces/tensor_text.h"
#include "proto/attributes.h"

namespace rankwire {
namespace {

void read_inputs(std::string_view values, NodeFacts& facts) {
  for_each_tensor(values, [&](const TensorText& tensor) {
    const bool uniform = facts.input_elements == 0 || facts.element_bytes == tensor.element_bytes;
    facts.element_bytes = uniform ? tensor.element_bytes : 0;
    facts.input_elements += tensor.elements;
  });
  facts.group_size = group_size_of(values);
}

bool names_tensors(const TraceNode& in) {
  // "[" and "]" alone are what PyTorch writes of an operation without any.
  if (in.inputs.values.size() > 2 || in.outputs.values.size() > 2) return true;
  return std::ranges::any_of(in.attributes, [](const TraceAttribute& attribute) {
    return attribute.name == "inputs" || attribute.name == "outputs";
  });
}

class FactsBuilder {
 public:
  explicit FactsBuilder(RankFacts& facts) : facts_(facts) {}

  void add(const TraceNode& in) {
    const auto index = static_cast<uint32_t>(facts_.nodes.size());
    NodeFacts node;
    node.id = in.id;
    node.name = in.name;
    node.type = in.type;
    node.start = in.start;
    node.duration = in.duration;
    node.unit = in.unit;
    attempt(index, [&] { node.on_cpu = bool_attribute(in, "is_cpu_op").value_or(false); });
    attempt(index, [&] { node.kind = kind_of(in); });
    integer(index, in, "num_ops", node.operations);
    integer(index, in, "tensor_size", node.tensor);
    integer(index, in, node.on_cpu ? "tid" : "stream", node.stream);
    if (!node.stream) integer(index, in, "tid", node.stream);
    if (in.type == chakra::COMM_COLL_NODE || node.communicates()) read_communication(index, in, node);
    if (node.kind == NodeKind::kCollective) attempt(index, [&] { node.group = name_index(group_name(in)); });
    if (in.type == chakra::METADATA_NODE && in.inputs.values.find("pg_name") != std::string_view::npos) {
      attempt(index, [&] {
        for (GroupDefinition& group : parse_process_groups(std::string(in.inputs.values)))
          facts_.groups.push_back(std::move(group));
      });
    }
    facts_.names_tensors = facts_.names_tensors || names_tensors(in);
    facts_.data.add_node(in.data_deps);
    facts_.control.add_node(in.control_deps);
    facts_.index_of.try_emplace(node.id, index);
    facts_.nodes.push_back(std::move(node));
  }

 private:
  template <class Read>
  void attempt(uint32_t node, const Read& read) {
    try {
      read();
    } catch (const Error& error) {
      facts_.faults.push_back({node, error.what()});
    }
  }

  void integer(uint32_t index, const TraceNode& in, const char* name, std::optional<int64_t>& value) {
    attempt(index, [&] { value = integer_attribute(in, name); });
  }

  void read_communication(uint32_t index, const TraceNode& in, NodeFacts& node) {
    std::optional<int64_t> tag;
    integer(index, in, "comm_type", node.collective);
    integer(index, in, "comm_size", node.size);
    integer(index, in, "comm_src", node.source);
    integer(index, in, "comm_dst", node.destination);
    integer(index, in, "comm_tag", tag);
    integer(index, in, "root", node.root);
    attempt(index, [&] {
      auto splits = count_list_attribute(in, "comm_splits");
      node.has_splits = splits.has_value();
      if (splits) facts_.splits.emplace(index, std::move(*splits));
    });
    node.tag = tag.value_or(0);
    read_inputs(in.inputs.values, node);
  }

  uint32_t name_index(const std::string& name) {
    const auto [at, added] = names_.try_emplace(name, static_cast<uint32_t>(facts_.group_names.size()));
    if (added) facts_.group_names.push_back(name);
    return at->second;
  }

  RankFacts& facts_;
  std::unordered_map<std::string, uint32_t> names_;
};

Duration in_units(uint64_t count, Duration unit) {
  return count > static_cast<uint64_t>(Duration::max().ps / unit.ps) ? Duration::max()
                                                                     : unit * static_cast<int64_t>(count);
}

}  // namespace

Duration NodeFacts::recorded() const {
  return in_units(duration, unit);
}

std::optional<Time> NodeFacts::started() const {
  if (start == 0) return std::nullopt;
  return Time(in_units(start, unit).ps);
}

bool RankFacts::truncated() const {
  return !nodes.empty() && unreadable.find(" ends ") != unreadable.npos;
}

std::optional<uint32_t> RankFacts::find(uint64_t id) const {
  const auto found = index_of.find(id);
  if (found == index_of.end()) return std::nullopt;
  return found->second;
}

std::string RankFacts::attribute(std::string_view name) const {
  if (!metadata) return {};
  for (const auto& [key, value] : metadata->attributes) {
    if (key == name) return value;
  }
  return {};
}

bool RankFacts::counts_elements() const {
  return attribute("schema") == "symbolic_tensor_network" && attribute(kSizeUnit) != "bytes";
}

RankFacts read_facts(const std::string& path, uint32_t rank) {
  RankFacts facts;
  facts.path = path;
  facts.rank = rank;
  FactsBuilder builder(facts);
  try {
    TraceReader reader(path);
    facts.schema = reader.schema();
    facts.metadata = reader.metadata();
    for (TraceNode node; reader.next(node);) builder.add(node);
  } catch (const Error& error) {
    facts.unreadable = error.what();
  }
  return facts;
}

void count_from_first(std::span<RankFacts> ranks) {
  uint64_t first = UINT64_MAX, most_ps = 0;
  for (const RankFacts& facts : ranks) {
    for (const NodeFacts& node : facts.nodes) {
      if (node.start == 0) continue;
      first = std::min(first, node.start);
      most_ps = std::max(most_ps, static_cast<uint64_t>(in_units(node.start, node.unit).ps));
    }
  }
  // Half of it leaves room for durations.
  if (most_ps <= static_cast<uint64_t>(Duration::max().ps / 2)) return;
  for (RankFacts& facts : ranks) {
    facts.origin = first - 1;  // a start of 0 would be none
    for (NodeFacts& node : facts.nodes) node.start -= node.start == 0 ? 0 : facts.origin;
  }
}

void choose_carrier(std::span<RankFacts> ranks) {
  const auto has = [&](References RankFacts::*list) {
    return std::ranges::any_of(ranks, [&](const RankFacts& facts) { return !(facts.*list).empty(); });
  };
  const bool control = !has(&RankFacts::data) && has(&RankFacts::control);
  for (RankFacts& facts : ranks) facts.carrier = control ? Carrier::kControl : Carrier::kData;
}

void dependencies_of(const RankFacts& facts, uint32_t node, std::vector<uint32_t>& dependencies) {
  dependencies.clear();
  for (const uint64_t id : facts.carried().of(node)) {
    const std::optional<uint32_t> found = facts.find(id);
    if (found && *found != node) dependencies.push_back(*found);
  }
  sort_unique(dependencies);
}

Graph dependency_graph(const RankFacts& facts) {
  std::vector<Edge> edges;
  std::vector<uint32_t> parents;
  for (uint32_t node = 0; node < facts.nodes.size(); ++node) {
    dependencies_of(facts, node, parents);
    for (const uint32_t parent : parents) edges.push_back({parent, node});
  }
  return make_graph(static_cast<uint32_t>(facts.nodes.size()), edges);
}

std::vector<uint32_t> order_by_id(const RankFacts& facts, const Graph& graph) {
  using Candidate = std::pair<uint64_t, uint32_t>;  // id, vertex
  std::vector<uint32_t> waiting(graph.vertices(), 0);
  for (const uint32_t next : graph.next) ++waiting[next];
  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> ready;
  for (uint32_t v = 0; v < graph.vertices(); ++v) {
    if (waiting[v] == 0) ready.emplace(facts.nodes[v].id, v);
  }
  std::vector<uint32_t> order;
  while (!ready.empty()) {
    const uint32_t vertex = ready.top().second;
    ready.pop();
    order.push_back(vertex);
    for (const uint32_t next : graph.next_of(vertex)) {
      if (--waiting[next] == 0) ready.emplace(facts.nodes[next].id, next);
    }
  }
  return order;
}

}  // namespace rankwire

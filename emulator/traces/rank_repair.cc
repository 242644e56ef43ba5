#include "emulator/traces/rank_repair.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "emulator/traces/check_file.h"
#include "emulator/traces/trace_copy.h"

namespace rankwire {
namespace {

constexpr int kMostCycles = 1000;

bool is_same(const RankFacts& facts, uint32_t a, uint32_t b) {
  const NodeFacts &x = facts.nodes[a], &y = facts.nodes[b];
  return x.name == y.name && x.type == y.type && x.on_cpu == y.on_cpu && x.size == y.size && x.tag == y.tag &&
         x.collective == y.collective && x.source == y.source && x.destination == y.destination && x.start == y.start &&
         x.duration == y.duration && std::ranges::equal(facts.data.of(a), facts.data.of(b)) &&
         std::ranges::equal(facts.control.of(a), facts.control.of(b));
}

/// The list with the nodes' entries replaced where `edit` changes them.
template <class Edit>
References rebuilt(const References& list, size_t nodes, const Edit& edit) {
  References result;
  std::vector<uint64_t> ids;
  for (uint32_t i = 0; i < nodes; ++i) {
    ids.assign(list.of(i).begin(), list.of(i).end());
    edit(i, ids);
    result.add_node(ids);
  }
  return result;
}

void multiply(chakra::Node& node, const char* name, int64_t value, int64_t factor) {
  if (value >= 0 && value <= INT64_MAX / factor) set_integer(node, name, value * factor);
}

void multiply(chakra::Node& node, const char* name, std::vector<int64_t> values, int64_t factor) {
  for (int64_t& value : values) {
    if (value > INT64_MAX / factor) return;
    value *= factor;
  }
  set_text(node, name, fmt::format("[{}]", fmt::join(values, ", ")));
}

void drop_operation_of(chakra::Node& node) {
  node.set_type(chakra::COMP_NODE);
  node.set_duration_micros(0);
  auto& attributes = *node.mutable_attr();
  for (int i = attributes.size(); i-- > 0;) {
    if (attributes[i].name().starts_with("comm_")) attributes.DeleteSubrange(i, 1);
  }
}

template <class Field>
void assign(Field& field, std::span<const uint64_t> ids) {
  field.Clear();
  field.Add(ids.begin(), ids.end());
}

}  // namespace

RankRepair::RankRepair(const RankFacts& facts) : facts_(facts), work_(facts) {
  for (const NodeFacts& node : facts.nodes) last_id_ = std::max(last_id_, node.id);
}

// The highest may be the last that there is.
uint64_t RankRepair::unused_id() {
  while (facts_.find(++last_id_)) continue;
  return last_id_;
}

void RankRepair::repair_file() {
  repair_reading();
  repair_ids();
  clean_lists();
  break_cycles();
  order_kernels();
  repair_double_counts();
  repair_element_counts();
}

void RankRepair::change(const char* code, const NodeFacts& node, const std::string& what, const char* done) {
  found_.add(code, facts_.path, facts_.rank, node.id, what);
  done_[code] = done;
}

void RankRepair::repair_reading() {
  if (facts_.unreadable.empty()) return;
  const char* code = facts_.truncated() ? "truncated" : "unreadable";
  found_.add(code, facts_.path, facts_.rank, std::nullopt, facts_.unreadable);
  done_[code] = "the copy ends in front of it";
}

void RankRepair::repair_ids() {
  for (uint32_t i = 0; i < facts_.nodes.size(); ++i) {
    const NodeFacts& node = facts_.nodes[i];
    const uint32_t first = *facts_.find(node.id);
    if (first == i) continue;
    const bool same = is_same(facts_, first, i);
    if (same) {
      dropped_.insert(i);
    } else {
      ids_[i] = unused_id();
    }
    change("duplicate-id", node, fmt::format("the id of node {} is that of another too", node_text(node)),
           "equal nodes were dropped, others got a new id");
  }
}

void RankRepair::clean_lists() {
  clean(work_.data, work_.carrier == Carrier::kData);
  clean(work_.control, work_.carrier == Carrier::kControl);
}

void RankRepair::clean(References& list, bool carries) {
  list = rebuilt(list, facts_.nodes.size(), [&](uint32_t i, std::vector<uint64_t>& ids) {
    const NodeFacts& node = facts_.nodes[i];
    std::unordered_set<uint64_t> seen;
    std::erase_if(ids, [&](uint64_t id) {
      const char* code = nullptr;
      if (!facts_.find(id)) {
        code = carries ? "dangling-dependency" : "dangling-control";
      } else if (id == node.id) {
        code = carries ? "self-dependency" : "self-control";
      } else if (!seen.insert(id).second) {
        code = carries ? "duplicate-dependency" : nullptr;
      }
      if (code == nullptr) return false;
      change(code, node, fmt::format("the dependency of node {} on node {}", node_text(node), id), "dropped");
      return true;
    });
  });
}

void RankRepair::break_cycles() {
  for (int round = 0;; ++round) {
    const std::vector<uint32_t> cycle = find_cycle(dependency_graph(work_));
    if (cycle.empty()) return;
    if (round == kMostCycles) fail_input("{}: more than {} cycles, which are not repaired", facts_.path, kMostCycles);
    // Some edge of a cycle leads back in the file: the dependency stands behind the node.
    Edge worst{0, 0};
    int64_t furthest = -1;
    for (size_t i = 0; i < cycle.size(); ++i) {
      const Edge edge{cycle[i], cycle[(i + 1) % cycle.size()]};
      const int64_t reach = int64_t{edge.from} - int64_t{edge.to};
      if (reach > furthest) furthest = reach, worst = edge;
    }
    const uint64_t id = facts_.nodes[worst.from].id;
    carried() = rebuilt(carried(), facts_.nodes.size(), [&](uint32_t i, std::vector<uint64_t>& ids) {
      if (i == worst.to) std::erase(ids, id);
    });
    const NodeFacts& node = facts_.nodes[worst.to];
    change("cycle", node, fmt::format("the dependency of node {} on node {} closes a cycle", node_text(node), id),
           "dropped");
  }
}

void RankRepair::order_kernels() {
  const Graph graph = dependency_graph(work_);
  std::map<uint32_t, std::vector<uint64_t>> added;
  const auto depend = [&](uint32_t node, uint32_t on, const char* code, const char* what) {
    const uint64_t id = facts_.nodes[on].id;
    const auto present = carried().of(node);
    if (std::ranges::find(present, id) != present.end() || std::ranges::find(added[node], id) != added[node].end())
      return;
    added[node].push_back(id);
    change(code, facts_.nodes[node],
           fmt::format("node {} now depends on node {}, {}", node_text(facts_.nodes[node]), id, what),
           "dependencies were added");
  };
  if (lost_stream_order(work_, graph)) {
    for (const std::vector<uint32_t>& stream : kernel_streams(work_, graph)) {
      for (size_t i = 1; i < stream.size(); ++i) {
        depend(stream[i], stream[i - 1], "kernels-without-successors", "the kernel before it in the stream");
      }
    }
  }
  for (const auto& [collective, kernel] : collectives_before_inputs(work_, graph)) {
    depend(collective, kernel, "collective-before-inputs", "the last kernel that was launched before it");
  }
  if (added.empty()) return;
  carried() = rebuilt(carried(), facts_.nodes.size(), [&](uint32_t i, std::vector<uint64_t>& ids) {
    if (const auto more = added.find(i); more != added.end()) {
      ids.insert(ids.end(), more->second.begin(), more->second.end());
    }
  });
}

void RankRepair::repair_double_counts() {
  for (const auto& [host, kernel] : double_counted(facts_)) {
    if (!to_compute_.insert(host).second) continue;
    const NodeFacts& node = facts_.nodes[host];
    change("double-counted", node, fmt::format("node {} on the CPU carries its kernel's traffic", node_text(node)),
           "became a compute node");
  }
}

void RankRepair::repair_element_counts() {
  for (uint32_t i = 0; i < facts_.nodes.size(); ++i) {
    const NodeFacts& node = facts_.nodes[i];
    if (!node.communicates() || node.element_bytes < 2 || node.size != node.input_elements) continue;
    factors_[i] = node.element_bytes;
    change("element-counts", node,
           fmt::format("node {} has comm_size {} of {} bytes each", node_text(node), *node.size, node.element_bytes),
           "sizes became bytes");
  }
}

void RankRepair::scale_sizes(int64_t factor) {
  factor_ = factor;
  factors_.clear();
  found_.add("element-counts", facts_.path, facts_.rank, std::nullopt,
             fmt::format("sizes count elements of {} bytes", factor));
  done_["element-counts"] = "sizes became bytes";
}

void RankRepair::set_tag(uint32_t node, int64_t tag) {
  tags_[node] = tag;
  change("repeated-tag", facts_.nodes[node],
         fmt::format("node {} had tag {}, as another message", node_text(facts_.nodes[node]), facts_.nodes[node].tag),
         "messages got tags of their own");
}

void RankRepair::drop_operation(uint32_t node, const char* code, const std::string& what) {
  if (!no_operation_.insert(node).second) return;
  change(code, facts_.nodes[node], what, "the operation was dropped, dependencies through its node remain");
}

void RankRepair::drop_absurd_duration(uint32_t node) {
  no_duration_.insert(node);
  const NodeFacts& facts = facts_.nodes[node];
  change("absurd-duration", facts, duration_text(facts), "the duration was dropped, the node takes no time");
}

void RankRepair::add_counterpart(const RankRepair& other, uint32_t node) {
  const NodeFacts& end = other.facts_.nodes[node];
  const bool sends = end.kind == NodeKind::kSend;
  chakra::Node& made = added_.emplace_back();
  made.set_id(unused_id());
  made.set_name("counterpart of " + end.name);
  made.set_type(sends ? chakra::COMM_RECV_NODE : chakra::COMM_SEND_NODE);
  set_integer(made, "comm_src", sends ? other.facts_.rank : facts_.rank);
  set_integer(made, "comm_dst", sends ? facts_.rank : other.facts_.rank);
  set_integer(made, "comm_tag", end.tag);
  // Sizes of the copy are bytes, where those of the original are scaled.
  const auto own = other.factors_.find(node);
  const int64_t factor = own != other.factors_.end() ? own->second : other.factor_, size = end.size.value_or(0);
  set_integer(made, "comm_size", size <= INT64_MAX / factor ? size * factor : size);
  found_.add(sends ? "unmatched-send" : "unmatched-receive", facts_.path, facts_.rank, made.id(),
             fmt::format("node {} of rank {} has no counterpart here", node_text(end), other.facts_.rank));
  done_[sends ? "unmatched-send" : "unmatched-receive"] = "the counterpart was added at the end";
}

void RankRepair::shift_clock(Duration shift) {
  clock_shift_ = shift;
  found_.add("clock-skew", facts_.path, facts_.rank, std::nullopt,
             fmt::format("{} us were added to start times", shift.ps / microseconds(1).ps));
  done_["clock-skew"] = "start times were shifted";
}

bool RankRepair::apply(uint32_t index, chakra::Node& node) const {
  if (dropped_.contains(index)) return false;
  const NodeFacts& facts = facts_.nodes[index];
  assign(*node.mutable_data_deps(), work_.data.of(index));
  assign(*node.mutable_ctrl_deps(), work_.control.of(index));
  if (const auto id = ids_.find(index); id != ids_.end()) node.set_id(id->second);
  if (const auto tag = tags_.find(index); tag != tags_.end()) set_integer(node, "comm_tag", tag->second);
  if (to_compute_.contains(index)) node.set_type(chakra::COMP_NODE);
  if (no_operation_.contains(index)) return drop_operation_of(node), true;
  if (no_duration_.contains(index)) node.set_duration_micros(0);
  if (node.start_time_micros() > 0) {
    node.set_start_time_micros(node.start_time_micros() + static_cast<uint64_t>(clock_shift_.ps / microseconds(1).ps));
  }
  const auto own = factors_.find(index);
  const int64_t factor = own != factors_.end() ? own->second : factor_;
  if (factor > 1 && facts.size) multiply(node, "comm_size", *facts.size, factor);
  if (const auto splits = facts_.splits.find(index); factor > 1 && splits != facts_.splits.end())
    multiply(node, "comm_splits", splits->second, factor);
  if (factor_ > 1) {
    if (facts.tensor) multiply(node, "tensor_size", *facts.tensor, factor_);
    scale_tensor_lists(node, factor_);
  }
  return true;
}

std::vector<RepairChange> RankRepair::take_changes() {
  std::vector<RepairChange> changes;
  for (const Finding& finding : found_.list()) changes.push_back({finding, done_.at(finding.symptom->code)});
  return changes;
}

}  // namespace rankwire

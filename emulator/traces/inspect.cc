#include "emulator/traces/inspect.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "emulator/report/format.h"

namespace rankwire {
namespace {

constexpr size_t kMostOperations = 10;

bool is_barrier(const NodeFacts& node) {
  return node.kind == NodeKind::kCollective && node.collective == static_cast<int64_t>(CollectiveKind::kBarrier);
}

Bytes bytes_of(const NodeFacts& node, Bytes element) {
  if (!node.communicates() || is_barrier(node)) return Bytes();
  return Bytes(std::clamp<int64_t>(node.size.value_or(0), 0, kMaxOperationBytes / element.count) * element.count);
}

std::string kind_name(const NodeFacts& node) {
  if (node.kind != NodeKind::kCollective) return to_string(node.kind);
  const int64_t kind = node.collective.value_or(0);
  const bool known = kind >= 0 && kind <= static_cast<int64_t>(CollectiveKind::kBarrier);
  return known ? to_string(static_cast<CollectiveKind>(kind)) : "unknown";
}

/// The name of the group that a node calls, as its file has it where nobody defines it.
std::string group_of(const RankSet& set, NodeRef at) {
  const uint32_t group = set.group_of[at.place][at.node];
  if (group != RankSet::kNone) return set.groups[group].name;
  return set.ranks[at.place].group_names[set.node(at).group];
}

double imbalance_of(const std::vector<TraceTraffic>& ranks) {
  int64_t most = 0;
  double sum = 0;
  for (const TraceTraffic& rank : ranks) {
    most = std::max(most, rank.sum().count);
    sum += static_cast<double>(rank.sum().count);
  }
  return sum > 0 ? static_cast<double>(most) * static_cast<double>(ranks.size()) / sum : 0;
}

/// Time on the critical path by kind of node.
std::map<std::string, Duration> path_by_kind(const RankSet& set, const Timing& timing) {
  std::map<std::string, Duration> sums;
  for (const PathStep& step : timing.critical) sums[kind_name(set.node(step.at))] += step.span.duration();
  return sums;
}

/// Nodes of one name on the critical path.
struct PathOperation {
  std::string name, kind;
  uint64_t nodes = 0;
  Duration duration;
};

/// The longest first.
std::vector<PathOperation> path_operations(const RankSet& set, const Timing& timing) {
  std::map<std::string, PathOperation> by_name;
  for (const PathStep& step : timing.critical) {
    const NodeFacts& node = set.node(step.at);
    PathOperation& operation = by_name[node.name];
    operation.name = node.name;
    operation.kind = kind_name(node);
    ++operation.nodes;
    operation.duration += step.span.duration();
  }
  std::vector<PathOperation> list;
  for (auto& [name, operation] : by_name) list.push_back(std::move(operation));
  std::ranges::stable_sort(list, std::greater<>(), &PathOperation::duration);
  return list;
}

nlohmann::ordered_json tally_json(const Tally& tally) {
  return {{"nodes", tally.nodes}, {"bytes", tally.bytes.count}};
}

nlohmann::ordered_json rank_json(const RankSet& set, const Inspection& inspection, size_t place) {
  const TraceTraffic& traffic = inspection.ranks[place];
  nlohmann::ordered_json json = {{"rank", set.ranks[place].rank},
                                 {"file", set.ranks[place].path},
                                 {"schema", to_string(set.ranks[place].schema)},
                                 {"nodes", set.ranks[place].nodes.size()},
                                 {"collective_bytes", traffic.collective.count},
                                 {"sent_bytes", traffic.sent.count},
                                 {"received_bytes", traffic.received.count}};
  if (!inspection.overlap.empty()) {
    const Overlap& overlap = inspection.overlap[place];
    json["compute_ps"] = overlap.compute.ps;
    json["communication_ps"] = overlap.communication.ps;
    json["exposed_ps"] = overlap.exposed().ps;
  }
  if (const auto& memory = inspection.memory[place]) {
    const NodeFacts& node = set.node(memory->peak_at);
    json["memory"] = {{"tensors", memory->tensors},
                      {"peak_bytes", memory->peak.count},
                      {"peak_node", node.id},
                      {"peak_name", node.name}};
  }
  return json;
}

nlohmann::ordered_json path_json(const RankSet& set, const Timing& timing) {
  nlohmann::ordered_json kinds = nlohmann::ordered_json::object(), nodes = nlohmann::ordered_json::array();
  for (const auto& [kind, duration] : path_by_kind(set, timing)) kinds[kind] = duration.ps;
  for (const PathStep& step : timing.critical) {
    const NodeFacts& node = set.node(step.at);
    nodes.push_back({{"rank", set.ranks[step.at.place].rank},
                     {"node", node.id},
                     {"name", node.name},
                     {"kind", kind_name(node)},
                     {"start_ps", step.span.start.ps},
                     {"duration_ps", step.span.duration().ps}});
  }
  return {{"kinds_ps", kinds}, {"nodes", nodes}};
}

std::string ranks_table(const RankSet& set, const Inspection& inspection) {
  constexpr size_t kListedRanks = 64;
  std::string text = fmt::format("\n{:>6} {:>10} {:>12} {:>12} {:>12} {:>12} {:>12} {:>12} {:>12}\n", "rank", "nodes",
                                 "collective", "sent", "received", "compute", "communic.", "exposed", "peak memory");
  for (size_t place = 0; place < set.ranks.size() && place < kListedRanks; ++place) {
    const TraceTraffic& traffic = inspection.ranks[place];
    text += fmt::format("{:>6} {:>10} {:>12} {:>12} {:>12}", set.ranks[place].rank, set.ranks[place].nodes.size(),
                        readable(traffic.collective), readable(traffic.sent), readable(traffic.received));
    if (!inspection.overlap.empty()) {
      const Overlap& overlap = inspection.overlap[place];
      text += fmt::format(" {:>12} {:>12} {:>12}", readable(overlap.compute), readable(overlap.communication),
                          readable(overlap.exposed()));
    }
    if (const auto& memory = inspection.memory[place]) text += fmt::format(" {:>12}", readable(memory->peak));
    text += "\n";
  }
  if (set.ranks.size() > kListedRanks) text += fmt::format("and {} more ranks\n", set.ranks.size() - kListedRanks);
  return text + fmt::format("the rank with most bytes has {:.3f} times the mean\n", inspection.imbalance);
}

std::string path_text(const RankSet& set, const Timing& timing) {
  if (timing.critical.empty()) return "";
  Duration covered;
  for (const PathStep& step : timing.critical) covered += step.span.duration();
  std::string text = fmt::format("\ncritical path: {} nodes, {} of {}\n", timing.critical.size(), readable(covered),
                                 readable(timing.end - Time(0)));
  for (const auto& [kind, duration] : path_by_kind(set, timing)) {
    text += fmt::format("  {:<22} {:>12}\n", kind, readable(duration));
  }
  const std::vector<PathOperation> operations = path_operations(set, timing);
  for (size_t i = 0; i < operations.size() && i < kMostOperations; ++i) {
    text += fmt::format("  {:>12} in {:>5} x {:.90}\n", readable(operations[i].duration), operations[i].nodes,
                        operations[i].name);
  }
  return text;
}

}  // namespace

int64_t size_class(Bytes size) {
  if (size.count <= 0) return 0;
  int64_t low = 1;
  while (low <= size.count / 4) low *= 4;
  return low;
}

Inspection inspect(const RankSet& set, const Matches& matches, const TimingOptions& options) {
  Inspection result;
  for (uint32_t place = 0; place < set.ranks.size(); ++place) {
    const RankFacts& facts = set.ranks[place];
    TraceTraffic& traffic = result.ranks.emplace_back();
    result.nodes += facts.nodes.size();
    result.dependencies += dependency_graph(facts).next.size();
    for (uint32_t i = 0; i < facts.nodes.size(); ++i) {
      const NodeFacts& node = facts.nodes[i];
      const Bytes bytes = bytes_of(node, options.element_size);
      const std::string kind = kind_name(node);
      result.kinds[kind].add(bytes);
      if (!node.communicates()) continue;
      result.sizes[kind][size_class(bytes)].add(bytes);
      if (node.kind == NodeKind::kCollective) {
        traffic.collective += bytes;
        const std::string group = group_of(set, {place, i});
        result.groups[group][kind].add(bytes);
      } else {
        (node.kind == NodeKind::kSend ? traffic.sent : traffic.received) += bytes;
      }
    }
  }
  result.imbalance = imbalance_of(result.ranks);
  result.timing = time_operations(set, matches, options);
  for (uint32_t place = 0; place < set.ranks.size(); ++place) {
    if (result.timing.problem.empty()) {
      result.overlap.push_back(overlap_of(set.ranks[place], result.timing.spans[place]));
    }
    result.memory.push_back(memory_use(set, place, result.timing, options.element_size));
  }
  return result;
}

nlohmann::ordered_json to_json(const RankSet& set, const Inspection& inspection) {
  nlohmann::ordered_json kinds = nlohmann::ordered_json::object(), groups = nlohmann::ordered_json::array(),
                         sizes = nlohmann::ordered_json::array(), ranks = nlohmann::ordered_json::array();
  for (const auto& [kind, tally] : inspection.kinds) kinds[kind] = tally_json(tally);
  for (const auto& [group, by_kind] : inspection.groups) {
    for (const auto& [kind, tally] : by_kind) {
      groups.push_back({{"group", group}, {"kind", kind}, {"nodes", tally.nodes}, {"bytes", tally.bytes.count}});
    }
  }
  for (const auto& [kind, by_class] : inspection.sizes) {
    for (const auto& [low, tally] : by_class) {
      sizes.push_back({{"kind", kind}, {"from_bytes", low}, {"nodes", tally.nodes}, {"bytes", tally.bytes.count}});
    }
  }
  for (size_t place = 0; place < set.ranks.size(); ++place) ranks.push_back(rank_json(set, inspection, place));
  return {{"name", set.files.name},
          {"ranks", ranks},
          {"nodes", inspection.nodes},
          {"dependencies", inspection.dependencies},
          {"kinds", kinds},
          {"groups", groups},
          {"sizes", sizes},
          {"imbalance", inspection.imbalance},
          {"times", inspection.timing.recorded ? "recorded" : "scheduled"},
          {"problem", inspection.timing.problem},
          {"end_ps", inspection.timing.end.ps},
          {"critical_path", path_json(set, inspection.timing)}};
}

std::string to_text(const RankSet& set, const Inspection& inspection) {
  std::string text = fmt::format("{}: {} ranks, {} nodes, {} dependencies\n\n", set.files.name, set.ranks.size(),
                                 inspection.nodes, inspection.dependencies);
  text += fmt::format("{:<22} {:>10} {:>20}\n", "kind", "nodes", "bytes");
  for (const auto& [kind, tally] : inspection.kinds) {
    text += fmt::format("{:<22} {:>10} {:>20}\n", kind, tally.nodes, tally.bytes.count);
  }
  constexpr size_t kMostGroups = 32;
  size_t shown = 0;
  for (const auto& [group, by_kind] : inspection.groups) {
    if (shown++ == 0) text += "\n";
    if (shown > kMostGroups) continue;
    for (const auto& [kind, tally] : by_kind) {
      text += fmt::format("group {:<16} {:<22} {:>10} {:>20}\n", group, kind, tally.nodes, tally.bytes.count);
    }
  }
  if (shown > kMostGroups) text += fmt::format("and {} more groups\n", shown - kMostGroups);
  if (!inspection.sizes.empty()) text += "\n";
  for (const auto& [kind, by_class] : inspection.sizes) {
    for (const auto& [low, tally] : by_class) {
      text += fmt::format("{:<22} {:>10} of {} and more\n", kind, tally.nodes, readable(Bytes(low)));
    }
  }
  text += ranks_table(set, inspection);
  const Timing& timing = inspection.timing;
  if (!timing.problem.empty()) return text + fmt::format("no times: {}\n", timing.problem);
  text += timing.recorded ? "times are the recorded ones\n" : "times are those of an ideal schedule (docs/traces.md)\n";
  return text + path_text(set, timing);
}

}  // namespace rankwire

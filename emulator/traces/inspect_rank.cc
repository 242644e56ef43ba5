#include "emulator/traces/inspect_rank.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "base/name_pattern.h"
#include "emulator/traces/node_names.h"

namespace rankwire {
namespace {

/// More are not told apart in a picture.
constexpr size_t kMostMemorySteps = 8000;

uint64_t count_dependencies(const RankFacts& facts) {
  uint64_t sum = 0;
  std::vector<uint32_t> dependencies;
  for (uint32_t node = 0; node < facts.nodes.size(); ++node) {
    dependencies_of(facts, node, dependencies);
    sum += dependencies.size();
  }
  return sum;
}

/// Operations other than communication, whose names are views of the facts.
class OperationCounter {
 public:
  void add(const NodeFacts& node, Duration duration) {
    by_name_[static_cast<size_t>(node.kind)][node.name].push_back(duration);
  }
  OperationTable take() && {
    OperationTable table;
    for (size_t kind = 0; kind < by_name_.size(); ++kind) {
      for (auto& [name, durations] : by_name_[kind])
        table.add({to_string(static_cast<NodeKind>(kind)), std::string(name)}, tally_of(std::move(durations), Bytes()));
    }
    return table;
  }

 private:
  std::array<std::unordered_map<std::string_view, std::vector<Duration>>, static_cast<size_t>(NodeKind::kReceive) + 1>
      by_name_;
};

/// Communication, whose groups are not known yet.
class CommunicationCounter {
 public:
  void add(const NodeFacts& node, uint32_t index, Bytes bytes, Duration duration) {
    Counted& counted =
        alike_[{kind_name(node), node.group, node.source, node.destination, node.group_size, node.on_cpu}];
    if (counted.durations.empty()) counted.first = index;
    counted.bytes += bytes;
    counted.durations.push_back(duration);
  }
  std::vector<CommunicationPart> take() && {
    std::vector<CommunicationPart> parts;
    for (auto& [what, counted] : alike_)
      parts.push_back({counted.first, tally_of(std::move(counted.durations), counted.bytes)});
    std::ranges::sort(parts, {}, &CommunicationPart::node);
    return parts;
  }

 private:
  /// What tells groups, and how many ranks there are; see RankSet.
  using Alike = std::tuple<std::string, uint32_t, std::optional<int64_t>, std::optional<int64_t>, int64_t, bool>;
  struct Counted {
    uint32_t first = 0;
    Bytes bytes;
    std::vector<Duration> durations;
  };
  std::map<Alike, Counted> alike_;
};

/// "tp_# (4 ranks)": groups that do the same are one. Names that are numbers tell nothing, so the size is told.
std::string group_pattern(const RankSet& set, NodeRef at) {
  std::string pattern;
  append_pattern(pattern, group_name(set, at));
  const uint32_t group = set.group_of[at.place][at.node];
  return group == RankSet::kNone ? pattern : fmt::format("{} ({} ranks)", pattern, set.groups[group].members.size());
}

/// Of the steps within a stretch of time the largest stays.
void thin_out(std::vector<MemoryUse::Step>& steps) {
  if (steps.size() <= kMostMemorySteps) return;
  const int64_t stretch = std::max<int64_t>((steps.back().time - steps.front().time).ps * 2 / kMostMemorySteps, 1);
  std::vector<MemoryUse::Step> kept;
  Time until = Time::long_ago();
  for (const MemoryUse::Step& step : steps) {
    if (step.time < until) {
      kept.back().bytes = std::max(kept.back().bytes, step.bytes);
      continue;
    }
    until = step.time + Duration(stretch);
    kept.push_back(step);
  }
  // What is in use from then on is not the largest of the stretch.
  kept.push_back(steps.back());
  steps = std::move(kept);
}

void add_memory(const RankFacts& facts, std::span<const Span> spans, Time end, Bytes element, RankInspection& rank) {
  rank.memory = memory_use(facts, spans, end, element);
  if (!rank.memory) return;
  thin_out(rank.memory->steps);
  rank.peak_node = facts.nodes[rank.memory->peak_at].id;
  rank.peak_name = facts.nodes[rank.memory->peak_at].name;
}

/// What the ranks have different amounts of, the largest excess over the mean.
std::optional<SizeImbalance> largest_imbalance(const std::vector<RankInspection>& ranks) {
  std::map<OperationKey, SizeImbalance> by_key;
  for (const RankInspection& rank : ranks) {
    for (const auto& [key, bytes] : rank.communication) {
      SizeImbalance& at = by_key[key];
      at.mean += static_cast<double>(bytes.count);
      if (at.ranks++ == 0 || bytes > at.bytes) at.bytes = bytes, at.rank = rank.rank;
    }
  }
  std::optional<SizeImbalance> largest;
  const auto excess = [](const SizeImbalance& at) { return static_cast<double>(at.bytes.count) - at.mean; };
  for (auto& [key, at] : by_key) {
    at.key = key;
    at.mean /= at.ranks;
    if (excess(at) > 0 && (!largest || excess(at) > excess(*largest))) largest = at;
  }
  return largest;
}

double imbalance_of(const std::vector<RankInspection>& ranks) {
  int64_t most = 0;
  double sum = 0;
  for (const RankInspection& rank : ranks) {
    most = std::max(most, rank.traffic.sum().count);
    sum += static_cast<double>(rank.traffic.sum().count);
  }
  return sum > 0 ? static_cast<double>(most) * static_cast<double>(ranks.size()) / sum : 0;
}

}  // namespace

RankPart inspect_rank(const RankFacts& facts, std::span<const Span> spans, bool recorded, Time end, Bytes element) {
  RankPart part;
  part.rank.rank = facts.rank;
  part.rank.path = facts.path;
  part.rank.schema = facts.schema;
  part.rank.unreadable = facts.unreadable;
  part.rank.nodes = facts.nodes.size();
  part.dependencies = count_dependencies(facts);
  OperationCounter operations;
  CommunicationCounter communication;
  std::array<Tally, static_cast<size_t>(NodeKind::kReceive) + 1> local;  // by kind, without communication
  for (uint32_t i = 0; i < facts.nodes.size(); ++i) {
    const NodeFacts& node = facts.nodes[i];
    const Duration duration = spans.empty() ? node.recorded() : spans[i].duration();
    if (!node.communicates()) {
      local[static_cast<size_t>(node.kind)].add(Bytes());
      if (node.kind != NodeKind::kNone) operations.add(node, duration);
      continue;
    }
    const Bytes bytes = bytes_of(node, element);
    communication.add(node, i, bytes, duration);
    const std::string kind = kind_name(node);
    part.kinds[kind].add(bytes);
    part.sizes[kind][size_class(bytes)].add(bytes);
    TraceTraffic& traffic = part.rank.traffic;
    (node.kind == NodeKind::kCollective ? traffic.collective
     : node.kind == NodeKind::kSend     ? traffic.sent
                                        : traffic.received) += bytes;
  }
  for (size_t kind = 0; kind < local.size(); ++kind) {
    if (local[kind].nodes > 0) part.kinds[to_string(static_cast<NodeKind>(kind))] = local[kind];
  }
  part.operations = std::move(operations).take();
  part.communication = std::move(communication).take();
  if (spans.empty()) return part;
  part.rank.times = rank_times(facts, spans, recorded, &part.arrivals);
  add_memory(facts, spans, end, element, part.rank);
  return part;
}

void shift(RankPart& part, Duration by) {
  if (part.rank.times) {
    part.rank.times->begin += by;
    part.rank.times->end += by;
  }
  for (NodeArrival& arrival : part.arrivals) arrival.time += by;
  if (part.rank.memory) {
    for (MemoryUse::Step& step : part.rank.memory->steps) step.time += by;
  }
}

void merge_parts(std::vector<RankPart>& parts, Inspection& inspection) {
  for (RankPart& part : parts) {
    inspection.nodes += part.rank.nodes;
    inspection.dependencies += part.dependencies;
    for (const auto& [kind, tally] : part.kinds) inspection.kinds[kind] += tally;
    for (const auto& [kind, by_class] : part.sizes) {
      for (const auto& [low, tally] : by_class) inspection.sizes[kind][low] += tally;
    }
    inspection.operations.merge(std::exchange(part.operations, {}));
    inspection.ranks.push_back(std::move(part.rank));
  }
  inspection.imbalance = imbalance_of(inspection.ranks);
}

void inspect_communication(const RankSet& set, std::span<const RankPart> parts, Inspection& inspection) {
  for (uint32_t place = 0; place < set.ranks.size(); ++place) {
    for (const auto& [index, tally] : parts[place].communication) {
      const NodeFacts& node = set.ranks[place].nodes[index];
      OperationKey key{kind_name(node), ""};
      if (node.kind == NodeKind::kCollective) {
        inspection.groups[group_name(set, {place, index})][key.kind] += {tally.count, tally.bytes};
        key.name = group_pattern(set, {place, index});
      }
      inspection.ranks[place].communication[key] += tally.bytes;
      inspection.communication.add(std::move(key), tally);
    }
  }
  inspection.largest_imbalance = largest_imbalance(inspection.ranks);
}

}  // namespace rankwire

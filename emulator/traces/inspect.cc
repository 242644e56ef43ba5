#include "emulator/traces/inspect.h"

#include <algorithm>
#include <map>
#include <optional>
#include <span>
#include <utility>

#include "base/on_threads.h"
#include "emulator/traces/inspect_rank.h"
#include "emulator/traces/node_names.h"
#include "emulator/traces/timed_calls.h"

namespace rankwire {
namespace {

std::vector<PathNode> named(const RankSet& set, const std::vector<PathStep>& steps) {
  std::vector<PathNode> path;
  for (const PathStep& step : steps) {
    const NodeFacts& node = set.node(step.at);
    path.push_back({set.ranks[step.at.place].rank, node.id, node.name, kind_name(node), step.span});
  }
  return path;
}

std::vector<std::vector<NodeArrival>> take_arrivals(std::vector<RankPart>& parts) {
  std::vector<std::vector<NodeArrival>> arrivals;
  for (RankPart& part : parts) arrivals.push_back(std::move(part.arrivals));
  return arrivals;
}

/// What is kept of a rank that was looked at by itself.
struct LoneRank {
  RankPart part;
  RankFacts communication;       ///< only nodes that communicate, one of those that are alike
  std::vector<TimedCall> calls;  ///< with recorded times, of the collectives, in file order
  std::optional<Time> first;
  Time end;
  std::string problem;
};

/// What is told of a collective by its kind and its group.
std::pair<uint32_t, int64_t> group_and_kind(const NodeFacts& node) {
  const int64_t kind = node.collective.value_or(0);
  const bool known = kind >= 0 && kind <= static_cast<int64_t>(CollectiveKind::kBarrier);
  return {node.group, known ? kind : -1};
}

/// Leaves what is known of those nodes alone. `spans` are by node of `facts`.
void keep_communication(LoneRank& rank, const RankFacts& facts, std::span<const Span> spans) {
  RankFacts& kept = rank.communication;
  kept.path = facts.path;
  kept.rank = facts.rank;
  kept.origin = facts.origin;
  kept.group_names = facts.group_names;
  kept.groups = facts.groups;
  std::map<std::pair<uint32_t, int64_t>, uint32_t> kept_of;  // by group and kind of collective
  for (CommunicationPart& part : rank.part.communication) {
    const NodeFacts& node = facts.nodes[part.node];
    part.node = static_cast<uint32_t>(kept.nodes.size());
    if (node.kind == NodeKind::kCollective) kept_of.try_emplace(group_and_kind(node), part.node);
    kept.nodes.push_back(node);
    kept.nodes.back().name = {};
  }
  const std::vector<NodeArrival> arrivals = std::exchange(rank.part.arrivals, {});
  if (!rank.first) return;  // nobody asks when each of them arrives
  for (const NodeArrival& arrival : arrivals) {
    const NodeFacts& node = facts.nodes[arrival.node];
    if (node.kind != NodeKind::kCollective) continue;
    const Span& span = spans[arrival.node];
    rank.calls.push_back({kept_of.at(group_and_kind(node)), arrival.time, span.start, span.duration()});
  }
  rank.calls.shrink_to_fit();
}

LoneRank inspect_lone_rank(const TraceFileSet& set, const TraceFile& file, const CheckOptions& options,
                           const TimingOptions& times) {
  LoneRank rank;
  std::vector<RankFacts> facts(1);
  facts[0] = read_facts(file.path, file.rank);
  count_from_first(facts);
  choose_carrier(facts);
  rank.first = times.scheduled ? std::nullopt : first_start(facts[0]);
  if (rank.first) {
    const std::vector<Span> spans = recorded_spans(facts[0], *rank.first);
    for (const Span& span : spans) rank.end = std::max(rank.end, span.end);
    rank.part = inspect_rank(facts[0], spans, true, rank.end, times.element_size);
    keep_communication(rank, facts[0], spans);
    return rank;
  }
  // By itself, so that no collective and no RECV waits for others.
  Findings unused;
  TraceFileSet alone = set;
  alone.files = {file};
  alone.ranks_on_disk = {file.rank};
  const RankSet lone = make_set(alone, std::move(facts), options, unused);
  Matches matches;
  matches.collectives.resize(lone.groups.size());
  const Timing timing = time_operations(lone, matches, times);
  const bool has_times = timing.problem.empty();
  const std::vector<Span> spans = has_times ? timing.spans[0] : std::vector<Span>();
  rank.end = timing.end;
  rank.problem = timing.problem;
  rank.part = inspect_rank(lone.ranks[0], spans, false, timing.end, times.element_size);
  keep_communication(rank, lone.ranks[0], spans);
  return rank;
}

/// Puts all ranks on one clock, where all have recorded times.
bool share_clock(std::vector<LoneRank>& ranks) {
  // In picoseconds from the origin of each file, which is a number of microseconds or nanoseconds since 1970.
  const auto first_of = [](const LoneRank& rank) {
    const Duration unit = rank.communication.nodes.empty() ? microseconds(1) : rank.communication.nodes.front().unit;
    return static_cast<__int128>(rank.communication.origin) * unit.ps + rank.first->ps;
  };
  std::optional<__int128> first;
  for (const LoneRank& rank : ranks) {
    if (!rank.first) return false;
    first = first ? std::min(*first, first_of(rank)) : first_of(rank);
  }
  for (LoneRank& rank : ranks) {
    const __int128 by = first_of(rank) - *first;
    // Clocks that are months apart are no clock; each rank then begins at 0.
    if (by > Duration::max().ps / 4) return false;
  }
  for (LoneRank& rank : ranks) {
    const Duration by(static_cast<int64_t>(first_of(rank) - *first));
    shift(rank.part, by);
    for (TimedCall& call : rank.calls) call.arrival += by, call.start += by;
    rank.end += by;
  }
  return true;
}

}  // namespace

int64_t size_class(Bytes size) {
  if (size.count <= 0) return 0;
  int64_t low = 1;
  while (low <= size.count / 4) low *= 4;
  return low;
}

std::optional<RankTimes> Inspection::sum_of_times() const {
  std::optional<RankTimes> sum;
  for (const RankInspection& rank : ranks) {
    if (!rank.times) continue;
    if (!sum) sum = RankTimes();
    sum->end += rank.times->span();
    sum->compute += rank.times->compute;
    sum->communication += rank.times->communication;
    sum->both += rank.times->both;
    sum->memory += rank.times->memory;
    sum->idle += rank.times->idle;
  }
  return sum;
}

Inspection inspect(const RankSet& set, const Matches& matches, const TimingOptions& options) {
  Inspection result;
  result.name = set.files.name;
  result.timing = time_operations(set, matches, options);
  const Timing& timing = result.timing;
  const bool has_times = timing.problem.empty();
  std::vector<RankPart> parts(set.ranks.size());
  on_all_processors(parts.size(), [&](size_t place) {
    const auto spans = has_times ? std::span<const Span>(timing.spans[place]) : std::span<const Span>();
    parts[place] = inspect_rank(set.ranks[place], spans, timing.recorded, timing.end, options.element_size);
  });
  const std::vector<std::vector<NodeArrival>> arrivals = take_arrivals(parts);
  merge_parts(parts, result);
  inspect_communication(set, parts, result);
  if (!has_times) return result;
  result.stragglers = find_stragglers(set, matches, arrivals, timing.recorded);
  result.path = named(set, timing.critical);
  return result;
}

Inspection inspect_by_rank(const TraceFileSet& files, const CheckOptions& options, const TimingOptions& times,
                           std::atomic<uint64_t>& done) {
  std::vector<LoneRank> ranks(files.files.size());
  on_all_processors(ranks.size(), [&](size_t place) {
    ranks[place] = inspect_lone_rank(files, files.files[place], options, times);
    ++done;
  });
  Inspection result;
  result.name = files.name;
  result.by_rank = true;
  result.timing.recorded = share_clock(ranks);
  std::vector<RankPart> parts;
  std::vector<RankFacts> communication;
  std::vector<std::vector<TimedCall>> calls;
  for (LoneRank& rank : ranks) {
    result.timing.end = std::max(result.timing.end, rank.end);
    if (result.timing.problem.empty()) result.timing.problem = rank.problem;
    parts.push_back(std::move(rank.part));
    communication.push_back(std::move(rank.communication));
    calls.push_back(std::move(rank.calls));
  }
  merge_parts(parts, result);
  Findings unused;
  const RankSet set = make_set(files, std::move(communication), options, unused);
  inspect_communication(set, parts, result);
  if (result.timing.recorded) result.stragglers = find_recorded_stragglers(set, calls);
  return result;
}

std::map<std::string, Duration> path_by_kind(const Inspection& inspection) {
  std::map<std::string, Duration> sums;
  for (const PathNode& node : inspection.path) sums[node.kind] += node.span.duration();
  return sums;
}

OperationTable path_operations(const Inspection& inspection) {
  std::map<OperationKey, std::vector<Duration>> durations;
  for (const PathNode& node : inspection.path) durations[{node.kind, node.name}].push_back(node.span.duration());
  OperationTable table;
  for (auto& [key, list] : durations) table.add(key, tally_of(std::move(list), Bytes()));
  return table;
}

}  // namespace rankwire

#include "emulator/traces/likeness.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace rankwire {
namespace {

/// Of a kind, and of collectives by the size of their group.
using KindKey = std::pair<std::string, size_t>;

struct KindAmounts {
  double nodes = 0, bytes = 0;
  std::vector<int64_t> sizes, durations;
};

std::map<KindKey, KindAmounts> kind_amounts(const RankSet& set) {
  std::map<KindKey, KindAmounts> amounts;
  for (uint32_t place = 0; place < set.ranks.size(); ++place) {
    for (uint32_t i = 0; i < set.ranks[place].nodes.size(); ++i) {
      const NodeFacts& node = set.ranks[place].nodes[i];
      if (node.kind == NodeKind::kNone) continue;
      const uint32_t g = set.group_of[place][i];
      const bool is_collective = node.kind == NodeKind::kCollective;
      const std::string kind =
          is_collective ? to_string(static_cast<CollectiveKind>(node.collective.value_or(0))) : to_string(node.kind);
      KindAmounts& of_kind = amounts[{kind, is_collective && g != RankSet::kNone ? set.groups[g].members.size() : 0}];
      ++of_kind.nodes;
      if (node.communicates()) of_kind.bytes += static_cast<double>(node.size.value_or(0));
      if (node.communicates()) of_kind.sizes.push_back(node.size.value_or(0));
      if (node.duration > 0) of_kind.durations.push_back(node.recorded().ps);
    }
  }
  return amounts;
}

double relative(double made, double held) {
  if (made == held) return 0;
  return held == 0 ? 1 : std::abs(made - held) / held;
}

double hidden_share(const Inspection& inspection) {
  const std::optional<RankTimes> sum = inspection.sum_of_times();
  if (!sum || sum->communication == Duration()) return 0;
  return static_cast<double>(sum->both.ps) / static_cast<double>(sum->communication.ps);
}

std::map<NodeKind, double> critical_shares(const RankSet& set, const Inspection& inspection) {
  std::map<NodeKind, double> shares;
  double all = 0;
  for (const PathStep& step : inspection.timing.critical) {
    shares[set.node(step.at).kind] += static_cast<double>(step.span.duration().ps);
    all += static_cast<double>(step.span.duration().ps);
  }
  for (auto& [kind, share] : shares) share = all > 0 ? share / all : 0;
  return shares;
}

}  // namespace

double ks_distance(std::vector<int64_t> a, std::vector<int64_t> b) {
  if (a.empty() || b.empty()) return a.empty() == b.empty() ? 0 : 1;
  std::ranges::sort(a);
  std::ranges::sort(b);
  double largest = 0;
  for (size_t i = 0, k = 0; i < a.size() && k < b.size();) {
    const int64_t value = std::min(a[i], b[k]);
    while (i < a.size() && a[i] == value) ++i;
    while (k < b.size() && b[k] == value) ++k;
    const double share_a = static_cast<double>(i) / static_cast<double>(a.size());
    const double share_b = static_cast<double>(k) / static_cast<double>(b.size());
    largest = std::max(largest, std::abs(share_a - share_b));
  }
  return largest;
}

Likeness likeness(const RankSet& made, const Inspection& of_made, const RankSet& held, const Inspection& of_held) {
  Likeness result{.name = held.files.name};
  std::map<KindKey, KindAmounts> a = kind_amounts(made), b = kind_amounts(held);
  for (const auto& [key, unused] : a) b.try_emplace(key);
  for (const auto& [key, of_b] : b) {
    const KindAmounts& of_a = a[key];
    result.counts = std::max(result.counts, relative(of_a.nodes, of_b.nodes));
    result.bytes = std::max(result.bytes, relative(of_a.bytes, of_b.bytes));
    result.sizes = std::max(result.sizes, ks_distance(of_a.sizes, of_b.sizes));
    result.durations = std::max(result.durations, ks_distance(of_a.durations, of_b.durations));
  }
  if (!of_made.timing.problem.empty() || !of_held.timing.problem.empty()) return result;
  result.overlap = std::abs(hidden_share(of_made) - hidden_share(of_held));
  result.end = relative(static_cast<double>(of_made.timing.end.ps), static_cast<double>(of_held.timing.end.ps));
  std::map<NodeKind, double> path = critical_shares(made, of_made);
  for (const auto& [kind, share] : critical_shares(held, of_held)) path[kind] -= share;
  for (const auto& [kind, difference] : path) result.critical = std::max(result.critical, std::abs(difference));
  return result;
}

nlohmann::ordered_json to_json(const Likeness& likeness) {
  return {{"set", likeness.name},
          {"counts", likeness.counts},
          {"bytes", likeness.bytes},
          {"sizes_ks", likeness.sizes},
          {"durations_ks", likeness.durations},
          {"overlap", likeness.overlap},
          {"critical_path", likeness.critical},
          {"end", likeness.end}};
}

std::string likeness_header() {
  return fmt::format("{:<32} {:>8} {:>8} {:>8} {:>12} {:>8} {:>13} {:>8}\n", "against", "counts", "bytes", "sizes KS",
                     "durations KS", "overlap", "critical path", "end");
}

std::string to_text(const Likeness& likeness) {
  return fmt::format("{:<32} {:>7.2f}% {:>7.2f}% {:>8.3f} {:>12.3f} {:>7.2f}% {:>12.2f}% {:>7.2f}%\n", likeness.name,
                     100 * likeness.counts, 100 * likeness.bytes, likeness.sizes, likeness.durations,
                     100 * likeness.overlap, 100 * likeness.critical, 100 * likeness.end);
}

}  // namespace rankwire

#include "emulator/diagnosis/slow_rank.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "emulator/diagnosis/repeated_times.h"

namespace rankwire {
namespace {

constexpr size_t kLeastRanks = 3;
/// A normal deviate is as far above its mean once in 30,000: eight ranks' slowest hardly ever.
constexpr double kStandsOut = 4;

/// Against the rank's own spread: so often jitter alone has the slowest of all ranks beyond it; of fewer steps it says
/// little, and the rank must be as many deviations of the others beyond them.
constexpr double kByChance = 0.001;
constexpr size_t kFewSteps = 8;
constexpr double kFarBeyond = 8;
/// Further ranks that are named.
constexpr size_t kMostOthers = 4;

struct RunningMoments {
  uint64_t count = 0;
  double mean = 0, squares = 0;  ///< squares of the deviations from the mean

  void add(double value) {
    const double off = value - mean;
    mean += off / static_cast<double>(++count);
    squares += off * (value - mean);
  }
  double variance() const { return count < 2 ? 0 : squares / static_cast<double>(count - 1); }
};

/// What ranks took for nodes of one name in one iteration.
struct Peers {
  std::vector<std::pair<Duration, RankId>> times;
  std::set<RankId> ranks;

  Duration median() {
    const auto middle = times.begin() + static_cast<std::ptrdiff_t>((times.size() - 1) / 2);
    std::ranges::nth_element(times, middle);
    return middle->first;
  }
  /// Of the times of all but one rank, about `usual`: the mean of the squares, in ps^2.
  double variance_without(RankId rank, Duration usual) const {
    double sum = 0;
    uint64_t count = 0;
    for (const auto& [time, of] : times) {
      if (of == rank) continue;
      const auto off = static_cast<double>((time - usual).ps);
      sum += off * off, ++count;
    }
    return count == 0 ? 0 : sum / static_cast<double>(count);
  }
  /// What one rank takes as against the others: logarithms, so that equal distributions differ by 0 on average.
  struct Contrast {
    double mean, variance;  ///< of the others: the unbiased variance
  };
  std::optional<Contrast> contrast(RankId rank) const {
    RunningMoments own, others;
    for (const auto& [time, of] : times)
      if (time > Duration()) (of == rank ? own : others).add(std::log(static_cast<double>(time.ps)));
    if (own.count == 0 || others.count < 2) return std::nullopt;
    return Contrast{own.mean - others.mean, others.variance()};
  }
};

using PeersByNode = std::map<std::pair<std::pair<JobId, std::string>, uint32_t>, Peers>;

/// Whether a rank takes longer for all of its steps than jitter alone lets it. The path prefers those of its steps that
/// were long, and so says nothing of that.
bool is_slow_throughout(const PeersByNode& peers, RankId rank) {
  RunningMoments contrasts, variances;
  std::set<RankId> ranks;
  for (const auto& [node, of_node] : peers) {
    if (of_node.ranks.size() < kLeastRanks) continue;
    ranks.insert(of_node.ranks.begin(), of_node.ranks.end());
    if (const auto contrast = of_node.contrast(rank)) contrasts.add(contrast->mean), variances.add(contrast->variance);
  }
  if (contrasts.count == 0 || contrasts.mean <= 0) return false;
  if (contrasts.count < kFewSteps) return contrasts.mean > kFarBeyond * std::sqrt(variances.mean);
  const double quantile =
      student_t_quantile(1 - kByChance / static_cast<double>(ranks.size()), static_cast<uint32_t>(contrasts.count - 1));
  return contrasts.mean > quantile * std::sqrt(contrasts.variance() / static_cast<double>(contrasts.count));
}

}  // namespace

std::optional<BlamedTime> slow_rank(const RunReader& record, const RecordedRun& run, const CriticalPath& path) {
  using Name = std::pair<JobId, std::string>;
  PeersByNode peers;  // by name and iteration
  std::map<Name, uint32_t> names;
  for (const CriticalStep& step : path.steps) {
    if (step.communicates()) continue;
    peers.try_emplace({{step.node.job, step.node.name}, step.iteration});
    names.try_emplace({step.node.job, step.node.name}, 0);
  }
  if (peers.empty()) return std::nullopt;
  std::map<std::pair<RankId, uint32_t>, const Name*> nodes;
  record.for_each_node([&](const NodeInfo& node) {
    if (const auto name = names.find({node.job, node.name}); name != names.end() && node.group_size == 0)
      nodes.emplace(std::pair(node.rank, node.node), &name->first);
  });
  record.for_each_execution(run, [&](const OperationRecord& row) {
    const auto node = nodes.find({row.rank, row.node});
    if (node == nodes.end()) return;
    const auto of_name = peers.find({*node->second, row.iteration});
    if (of_name == peers.end()) return;
    of_name->second.times.emplace_back(row.end - row.start, row.rank);
    of_name->second.ranks.insert(row.rank);
  });
  struct Excess {
    Duration beyond, usual;
    uint64_t steps = 0;
  };
  std::map<RankId, Excess> of_ranks;
  Duration all;
  std::map<std::pair<Name, uint32_t>, Duration> medians;
  for (auto& [name, of_name] : peers)
    if (of_name.ranks.size() >= kLeastRanks) medians.emplace(name, of_name.median());
  for (const CriticalStep& step : path.steps) {
    if (step.communicates()) continue;
    const auto usual = medians.find({{step.node.job, step.node.name}, step.iteration});
    if (usual == medians.end() || step.length() <= usual->second) continue;
    Excess& excess = of_ranks[step.node.rank];
    excess.beyond += step.length() - usual->second, excess.usual += usual->second, ++excess.steps;
    all += step.length() - usual->second;
  }
  const auto most = std::ranges::max_element(of_ranks, {}, [](const auto& entry) { return entry.second.beyond; });
  if (most == of_ranks.end() || most->second.beyond * 2 < all) return std::nullopt;
  const Excess& excess = most->second;
  // What others' times differ by adds up over the steps as that of independent draws.
  double variance = 0;
  for (const CriticalStep& step : path.steps) {
    if (step.communicates() || step.node.rank != most->first) continue;
    const std::pair name(Name(step.node.job, step.node.name), step.iteration);
    const auto usual = medians.find(name);
    if (usual == medians.end() || step.length() <= usual->second) continue;
    variance += peers.at(name).variance_without(most->first, usual->second);
  }
  // The path goes through one of those that are late at a time: what others took for the same.
  std::map<RankId, Duration> beside;
  for (const CriticalStep& step : path.steps) {
    if (step.communicates() || step.node.rank != most->first) continue;
    const std::pair name(Name(step.node.job, step.node.name), step.iteration);
    const auto usual = medians.find(name);
    if (usual == medians.end() || step.length() <= usual->second) continue;
    for (const auto& [time, rank] : peers.at(name).times)
      if (rank != most->first) beside[rank] += time - usual->second;
  }
  std::vector<std::pair<Duration, RankId>> slow;
  for (const auto& [rank, beyond] : beside)
    if (beyond * 2 >= excess.beyond && is_slow_throughout(peers, rank)) slow.emplace_back(beyond, rank);
  std::ranges::stable_sort(slow, std::ranges::greater(), [](const auto& entry) { return entry.first; });
  if (slow.size() > kMostOthers) slow.resize(kMostOthers);
  std::vector<RankId> also;
  for (const auto& [beyond, rank] : slow) also.push_back(rank);
  return BlamedTime{.time = excess.beyond,
                    .culprit = {.kind = Culprit::Kind::kRank, .number = most->first.value},
                    .count = excess.steps,
                    .factor = excess.usual > Duration() ? static_cast<double>((excess.usual + excess.beyond).ps) /
                                                              static_cast<double>(excess.usual.ps)
                                                        : 0,
                    .stands_out = static_cast<double>(excess.beyond.ps) > kStandsOut * std::sqrt(variance) &&
                                  is_slow_throughout(peers, most->first),
                    .also = std::move(also)};
}

}  // namespace rankwire

#include "emulator/live/late_ranks.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace rankwire {
namespace {

/// A rank of a job, ordered by how far it is, and then by its last end.
struct Standing {
  double share;  // of its executions that has ended
  Time last_end;
  uint32_t rank;
  auto operator<=>(const Standing&) const = default;
};

std::string last_operation(const LiveFeed& feed, uint32_t rank, const RankProgress& progress) {
  const std::vector<uint32_t>& nodes = feed.ranks[rank].nodes;
  return progress.ended == 0 || progress.last >= nodes.size() ? std::string() : feed.node_names[nodes[progress.last]];
}

std::optional<LateRank> latest_of(const LiveFeed& feed, const LiveFigures& figures, std::vector<Standing> ranks) {
  if (ranks.empty()) return std::nullopt;
  const auto middle = ranks.begin() + static_cast<std::ptrdiff_t>(ranks.size() / 2);
  std::ranges::nth_element(ranks, middle);
  const Standing median = *middle, last = *std::ranges::min_element(ranks);
  const double missing = (median.share - last.share) * static_cast<double>(feed.ranks[last.rank].operations);
  // What is whole is not to be rounded down for what a quotient lost.
  const auto operations = static_cast<uint64_t>(missing + 1e-6);
  if (operations == 0) return std::nullopt;
  return LateRank{.rank = RankId(last.rank),
                  .operation = last_operation(feed, last.rank, figures.ranks[last.rank]),
                  .last_end = last.last_end,
                  .silent = std::max(Duration(), figures.now - last.last_end),
                  .operations = operations,
                  .behind = std::max(Duration(), median.last_end - last.last_end)};
}

}  // namespace

std::vector<std::optional<LateRank>> late_ranks(const LiveFeed& feed, const LiveFigures& figures) {
  std::vector<std::vector<Standing>> by_job(feed.jobs.size());
  for (uint32_t rank = 0; rank < feed.ranks.size(); ++rank) {
    const LiveFeed::Rank& known = feed.ranks[rank];
    if (known.operations == 0) continue;
    const RankProgress& progress = figures.ranks[rank];
    const double share = static_cast<double>(progress.ended) / static_cast<double>(known.operations);
    by_job[known.job.value].push_back({share, progress.last_end, rank});
  }
  std::vector<std::optional<LateRank>> late;
  for (std::vector<Standing>& ranks : by_job) late.push_back(latest_of(feed, figures, std::move(ranks)));
  return late;
}

}  // namespace rankwire

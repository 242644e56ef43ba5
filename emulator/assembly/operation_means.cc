#include "emulator/assembly/operation_means.h"

#include <map>
#include <tuple>

#include "base/name_pattern.h"
#include "emulator/workload/node_stream.h"

namespace rankwire {

OperationPatterns::OperationPatterns(const Setup& setup) : of_node_(setup.workload.ranks.size()) {
  std::map<std::tuple<std::string, std::string, std::string, uint32_t>, uint32_t> known;
  for_each_node(setup.workload, [&](RankId rank, uint32_t place, const Node& node) {
    const NodeInfo info = node_info(setup.workload, rank, place, node);
    Pattern pattern{.name = {}, .kind = info.kind, .group = {}, .job = info.job};
    append_pattern(pattern.name, info.name);
    append_pattern(pattern.group, info.group);
    const auto key = std::tuple(pattern.name, pattern.kind, pattern.group, pattern.job.value);
    auto found = known.find(key);
    if (found == known.end() && patterns_.size() < kMost) {
      found = known.emplace(key, static_cast<uint32_t>(patterns_.size())).first;
      patterns_.push_back(std::move(pattern));
    }
    std::vector<uint32_t>& of_rank = of_node_[rank.value];
    if (of_rank.size() <= place) of_rank.resize(size_t{place} + 1, kNone);
    if (found != known.end()) of_rank[place] = found->second;
  });
}

std::optional<uint32_t> OperationPatterns::of(RankId rank, uint32_t place) const noexcept {
  const std::vector<uint32_t>& of_rank = of_node_[rank.value];
  if (place >= of_rank.size() || of_rank[place] == kNone) return std::nullopt;
  return of_rank[place];
}

OperationMeans::OperationMeans(const OperationPatterns& patterns) : patterns_(patterns), sums_(patterns.all().size()) {}

void OperationMeans::operations(std::span<const OperationRecord> rows) noexcept {
  for (const OperationRecord& row : rows) {
    const std::optional<uint32_t> pattern = patterns_.of(row.rank, row.node);
    if (!pattern) continue;
    sums_[*pattern].picoseconds += (row.end - row.start).ps;
    ++sums_[*pattern].count;
  }
}

std::optional<Duration> OperationMeans::mean(size_t pattern) const {
  const Sum& sum = sums_[pattern];
  if (sum.count == 0) return std::nullopt;
  return Duration(static_cast<int64_t>(sum.picoseconds / static_cast<__int128>(sum.count)));
}

}  // namespace rankwire

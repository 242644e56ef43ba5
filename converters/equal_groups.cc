#include "converters/equal_groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace rankwire {

std::vector<int64_t> all_ranks(uint32_t ranks) {
  std::vector<int64_t> all(ranks);
  std::iota(all.begin(), all.end(), 0);
  return all;
}

size_t place_in(const std::vector<int64_t>& group, int64_t rank) {
  return static_cast<size_t>(std::ranges::find(group, rank) - group.begin());
}

std::string ranks_text(std::span<const int64_t> ranks) {
  std::string text;
  for (size_t i = 0; i < ranks.size();) {
    size_t last = i;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
    text += fmt::format("{}{}", text.empty() ? "" : ", ", ranks[i]);
    if (last > i) text += fmt::format("-{}", ranks[last]);
    i = last + 1;
  }
  return text;
}

std::optional<std::vector<int64_t>> equal_group(const std::vector<int64_t>& group, int64_t rank, uint32_t ranks) {
  if (std::ranges::find(group, rank) != group.end()) return group;
  const auto size = static_cast<int64_t>(group.size());
  if (size == 1) return std::vector{rank};
  if (size == 0) return std::nullopt;
  const int64_t step = group[1] - group[0];
  for (int64_t i = 1; i < size; ++i) {
    if (group[static_cast<size_t>(i)] - group[static_cast<size_t>(i) - 1] != step) return std::nullopt;
  }
  if (step <= 0 || step > ranks || ranks % (size * step) != 0 || group[0] % (size * step) >= step) return std::nullopt;
  std::vector<int64_t> equal;
  const int64_t first = rank - rank % (size * step) + rank % step;
  for (int64_t i = 0; i < size; ++i) equal.push_back(first + i * step);
  return equal;
}

void GroupNames::add(std::span<const ProcessGroup> groups) {
  std::map<std::vector<int64_t>, uint32_t> kinds;
  for (const ProcessGroup& group : groups) names_.try_emplace({group.ranks, kinds[group.ranks]++}, group.name);
}

uint32_t GroupNames::kind(std::span<const ProcessGroup> groups, const std::string& name) {
  const auto group = std::ranges::find(groups, name, &ProcessGroup::name);
  if (group == groups.end()) return 0;
  return static_cast<uint32_t>(std::ranges::count(groups.begin(), group, group->ranks, &ProcessGroup::ranks));
}

std::string GroupNames::name(const std::vector<int64_t>& members, uint32_t kind) const {
  const auto known = names_.find({members, kind});
  if (known != names_.end()) return known->second;
  const std::string text = ranks_text(members);
  return kind == 0 ? text : fmt::format("{} ({})", text, kind);
}

}  // namespace rankwire

#include "emulator/workload/group_table.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/message.h"

namespace rankwire {

void GroupTable::define(const GroupDefinition& definition, const std::string& file) {
  shared_[definition.name] = add(definition.name, checked_members(definition, file));
}

void GroupTable::define_on(RankId rank, const GroupDefinition& definition, const std::string& file) {
  std::vector<RankId> members = definition.ranks.empty() ? all_ranks() : checked_members(definition, file);
  GroupId group;
  const auto [first, last] = all_own_.equal_range(definition.name);
  for (auto known = first; known != last; ++known) {
    if (groups_[known->second.value].members == members) group = known->second;
  }
  if (!group.valid()) {
    group = add(definition.name, std::move(members));
    all_own_.emplace(definition.name, group);
  }
  own_[rank.value][definition.name] = group;
}

GroupId GroupTable::resolve(const std::string& name, RankId rank) {
  const GroupId group = find(name, rank);
  if (!std::ranges::binary_search(sorted_[group.value], rank.value)) {
    fail_input("rank {} is not in group \"{}\", which it calls", rank.value, name);
  }
  return group;
}

GroupId GroupTable::find(const std::string& name, RankId rank) {
  if (const auto known = shared_.find(name); known != shared_.end()) return known->second;
  const Names& own = own_[rank.value];
  if (const auto known = own.find(name); known != own.end()) return known->second;
  const size_t candidates = all_own_.count(name);
  if (candidates == 1) return all_own_.find(name)->second;
  if (candidates > 1) fail_input("group \"{}\" is {} different groups on other ranks", name, candidates);
  if (!name.empty() && name != "0") {
    fail_input("group \"{}\" is not defined; known groups: {}", name, known_names());
  }
  if (!everyone_.valid()) everyone_ = add("all", all_ranks());
  return everyone_;
}

GroupId GroupTable::add(const std::string& name, std::vector<RankId> members) {
  if (groups_.size() == MessageId::kMaxGroups) fail_input("there are more than {} process groups", groups_.size());
  std::vector<uint32_t> sorted;
  for (const RankId member : members) sorted.push_back(member.value);
  std::ranges::sort(sorted);
  sorted_.push_back(std::move(sorted));
  groups_.push_back({name, JobId(0), std::move(members)});
  return GroupId(static_cast<uint32_t>(groups_.size() - 1));
}

std::vector<RankId> GroupTable::checked_members(const GroupDefinition& definition, const std::string& file) const {
  std::vector<RankId> members;
  std::set<int64_t> seen;
  for (const int64_t rank : definition.ranks) {
    if (rank < 0 || rank >= ranks_) {
      fail_input("{}: group \"{}\": rank {} does not exist, there are {} ranks", file, definition.name, rank, ranks_);
    }
    if (!seen.insert(rank).second) fail_input("{}: group \"{}\" has rank {} twice", file, definition.name, rank);
    members.push_back(RankId(static_cast<uint32_t>(rank)));
  }
  return members;
}

std::vector<RankId> GroupTable::all_ranks() const {
  std::vector<RankId> members;
  for (uint32_t rank = 0; rank < ranks_; ++rank) members.push_back(RankId(rank));
  return members;
}

std::string GroupTable::known_names() const {
  constexpr size_t kShown = 16;
  std::string text;
  for (size_t i = 0; i < groups_.size() && i < kShown; ++i) {
    text += fmt::format("{}\"{}\"", i == 0 ? "" : ", ", groups_[i].name);
  }
  if (groups_.size() > kShown) text += fmt::format(" and {} more", groups_.size() - kShown);
  return text.empty() ? "none; a file defines them, by default PREFIX.json beside the traces" : text;
}

}  // namespace rankwire

// Process groups of one kind, which stand to other ranks as a known one stands to its members.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "converters/process_group.h"

namespace rankwire {

/// 0, 1, ... ranks - 1.
std::vector<int64_t> all_ranks(uint32_t ranks);
/// The index of `rank` among the members of a group; the group's size if it is none.
size_t place_in(const std::vector<int64_t>& group, int64_t rank);
/// "0-3, 7".
std::string ranks_text(std::span<const int64_t> ranks);

/// The group of the same kind that `rank` is a member of: `group` itself, or the one of the same size and distance of
/// members where groups of both divide all ranks evenly, as those of parallel training do: with n members s ranks
/// apart, each n s consecutive ranks hold s groups. Absent where `group` is not one of these.
std::optional<std::vector<int64_t>> equal_group(const std::vector<int64_t>& group, int64_t rank, uint32_t ranks);

/// What recorded ranks call their groups, so that copies use the same names.
class GroupNames {
 public:
  /// Of one rank.
  void add(std::span<const ProcessGroup> groups);
  /// Of one rank's groups those of the same members are of different kinds, counted from 0.
  static uint32_t kind(std::span<const ProcessGroup> groups, const std::string& name);
  /// The recorded name, else one made of the members, such as "8-15".
  std::string name(const std::vector<int64_t>& members, uint32_t kind) const;

 private:
  std::map<std::pair<std::vector<int64_t>, uint32_t>, std::string> names_;
};

}  // namespace rankwire

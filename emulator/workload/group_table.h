// Process groups by name, as each rank knows them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "emulator/workload/process_groups.h"
#include "emulator/workload/workload.h"

namespace rankwire {

/// A name means, in this order: the group of the process-group file; the group that the rank's own METADATA defines;
/// the only group of that name that other ranks' METADATA define; for "" and "0", all ranks. PyTorch counts its groups
/// in each process, so the same name may stand for different groups on different ranks. Ids follow the order of
/// definition.
class GroupTable {
 public:
  explicit GroupTable(uint32_t ranks) : ranks_(ranks), own_(ranks) {}

  /// A group of the process-group file, known to every rank. Errors name `file`.
  void define(const GroupDefinition& definition, const std::string& file);
  /// A group of the METADATA of `rank`; no ranks means all. Equal definitions of several ranks are one group.
  void define_on(RankId rank, const GroupDefinition& definition, const std::string& file);

  /// The group that `rank` calls by this name. Throws Error(kInput) for an unknown or ambiguous name (with the known
  /// ones), and when the rank is not a member.
  GroupId resolve(const std::string& name, RankId rank);

  const Group& group(GroupId id) const { return groups_[id.value]; }
  std::vector<Group> take_groups() { return std::move(groups_); }

 private:
  using Names = std::map<std::string, GroupId>;

  std::vector<RankId> checked_members(const GroupDefinition& definition, const std::string& file) const;
  std::vector<RankId> all_ranks() const;
  GroupId add(const std::string& name, std::vector<RankId> members);
  GroupId find(const std::string& name, RankId rank);
  std::string known_names() const;

  uint32_t ranks_;
  std::vector<Group> groups_;
  Names shared_;            ///< of the process-group file
  std::vector<Names> own_;  ///< of METADATA, by rank
  std::multimap<std::string, GroupId> all_own_;
  std::vector<std::vector<uint32_t>> sorted_;  ///< by group: members in ascending order
  GroupId everyone_;
};

}  // namespace rankwire

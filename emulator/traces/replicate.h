// Larger runs from the traces of smaller ones.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "emulator/traces/rank_set.h"

namespace rankwire {

struct ReplicateOptions {
  uint32_t replicas = 1;
  std::vector<std::string> across;  ///< names of groups that get the members of all replicas
  std::string prefix;               ///< of the copies
};

struct ReplicatedSet {
  uint32_t ranks = 0;
  uint64_t nodes = 0;
  std::vector<Group> groups;        ///< those that have a name
  std::vector<std::string> across;  ///< names of the groups whose members are of all replicas
  std::vector<std::string> file_names;
};

/// Data-parallel replicas: replica k of rank r of a set of R ranks is rank k R + r, and does what r does. Peers are of
/// the same replica. A group gets the members of all replicas when it has no name (all ranks), when it is in `across`,
/// or when it has members that have no trace, for which the replicas stand in; every other group becomes one of each
/// replica. Nothing else changes, neither sizes nor times. Writes PREFIX.<rank>.et and, unless no group has a name,
/// PREFIX.json. Throws Error(kInput) for ranks with a gap, a file that cannot be read, an unknown group in `across`,
/// and a message to a rank that has no trace; otherwise as `copy_trace`.
ReplicatedSet replicate(const RankSet& set, const ReplicateOptions& options);

}  // namespace rankwire

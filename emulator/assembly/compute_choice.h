// Which keys of `compute` hold for a rank.
#pragma once

#include <string>
#include <vector>

#include "emulator/assembly/setup.h"

namespace rankwire {

/// The ranks that a choice means, ascending. Needs workload and placement. Throws Error(kInput), which begins with
/// `place` and `key`, for ranks, hosts and groups that are not there.
std::vector<RankId> chosen_ranks(const Setup& setup, const RankChoice& who, const std::string& place,
                                 const std::string& key);
/// Of the process group, ascending; empty when there is none of that name.
std::vector<RankId> members_of(const Setup& setup, const std::string& group);

/// The keys of `compute` with the overrides of each rank.
struct ComputeByRank {
  std::vector<ComputeKeys> keys;  ///< that differ
  std::vector<uint32_t> of_rank;  ///< by RankId: index in `keys`
};
ComputeByRank compute_by_rank(const Setup& setup);

}  // namespace rankwire

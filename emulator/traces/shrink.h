// The smallest part of a set of traces that still shows something.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "emulator/traces/rank_set.h"

namespace rankwire {

/// A part of a set, and of the keys of a configuration.
struct ShrinkCandidate {
  std::vector<bool> ranks;              ///< by place: whether it stays
  std::vector<std::vector<bool>> keep;  ///< by place and node; METADATA nodes always stay
  int64_t largest = INT64_MAX;          ///< `comm_size` and `tensor_size` above become this, but where there are splits
  uint64_t longest = UINT64_MAX;        ///< durations above become this, in the unit of the file
  std::vector<bool> keys;               ///< of the configuration: whether it stays

  uint64_t kept_ranks() const;
  uint64_t kept_nodes() const;
  uint64_t kept_keys() const;
  bool operator==(const ShrinkCandidate&) const = default;
};

/// What is made smaller in one pass.
enum class ShrinkPass : uint8_t { kWhole, kRanks, kNodes, kSizes, kDurations, kKeys };
const char* to_string(ShrinkPass pass);

struct ShrinkQuestions {
  size_t keys = 0;  ///< of the configuration
  std::function<bool(ShrinkPass, const ShrinkCandidate&)> shows;
  std::function<bool()> go_on;  ///< false: the best so far is the result
};

/// Asks for the whole set first and returns false when that does not show it. Then leaves out ranks; nodes, neighbours
/// in time together at first, so that whole iterations go early; makes sizes and durations smaller; leaves out keys;
/// and begins anew until nothing more goes (ddmin.h). The same is never asked twice. Operations stay whole: a
/// collective goes at all its members, a SEND with its RECV. `best` is what was found.
bool shrink(const RankSet& set, const Matches& matches, const ShrinkQuestions& questions, ShrinkCandidate& best);

/// Writes PREFIX.<rank>.et and so on, as `select_part` does, and throws as it does.
void write_candidate(const RankSet& set, const Matches& matches, const ShrinkCandidate& candidate,
                     const std::string& prefix);

}  // namespace rankwire

// Parts of traces, as traces that run.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "emulator/traces/rank_set.h"
#include "emulator/traces/timing.h"

namespace rankwire {

/// A node stays when it matches each list that is not empty.
struct PartOptions {
  std::vector<std::pair<uint32_t, uint32_t>> ranks;  ///< first and last
  std::vector<std::string> kinds;                    ///< to_string(NodeKind) or to_string(CollectiveKind)
  std::vector<std::string> names;                    ///< shell patterns (fnmatch)
  std::vector<std::pair<uint64_t, uint64_t>> ids;    ///< first and last
  std::optional<Span> window;                        ///< nodes that are at work in it, by `timing`
  std::function<bool(NodeRef)> chosen;               ///< whether it is one of them; empty: all are
  /// SEND and RECV stay that have no counterpart, though their peer has a trace and stays.
  bool keep_unmatched = false;
  std::function<void(const NodeFacts&, chakra::Node&)> edit;  ///< of what stays, at last; may be empty
  std::string prefix;                                         ///< of the copies
};

struct PartOfSet {
  uint32_t ranks = 0;
  uint64_t nodes = 0, left_out = 0;
  uint64_t unmatched = 0;  ///< communication that was left out because its other ends were
  std::vector<Group> groups;
};

/// Writes PREFIX.<rank>.et, ranks numbered anew from 0, and PREFIX.json where a group has a name. Who depended on a
/// node that is left out depends on what that one depended on. A collective stays at all members that stay, or at none,
/// and so does a message at both ends. Groups lose the ranks that are left out. METADATA nodes stay. Throws
/// Error(kInput) for an unknown kind, a rank that there is not, nothing left, and dependencies that would become more
/// than 50 million; otherwise as `copy_trace`.
PartOfSet select_part(const RankSet& set, const Matches& matches, const Timing& timing, const PartOptions& options);

}  // namespace rankwire

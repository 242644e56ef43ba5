// All ranks of a run as their files have them, and which of their operations are one.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "emulator/traces/check_file.h"
#include "emulator/traces/finding.h"
#include "emulator/traces/rank_facts.h"
#include "emulator/traces/trace_sets.h"
#include "emulator/workload/workload.h"

namespace rankwire {

/// A node: the place of its rank in RankSet::ranks, and its index.
struct NodeRef {
  uint32_t place = 0, node = 0;
};

struct RankSet {
  static constexpr uint32_t kNone = UINT32_MAX;

  TraceFileSet files;
  std::vector<RankFacts> ranks;  ///< those that have a file, ascending
  uint32_t world = 0;            ///< how many ranks the run had, as far as anything says
  std::string world_says;        ///< what says so, when it is more than there are files
  std::vector<Group> groups;
  std::vector<std::vector<uint32_t>> group_of;  ///< by place and node: index into `groups`, or kNone
  std::vector<uint32_t> place_of;               ///< by rank: its place in `ranks`, or kNone

  const NodeFacts& node(NodeRef at) const { return ranks[at.place].nodes[at.node]; }
  std::string where(NodeRef at) const { return ranks[at.place].path + ": node " + node_text(node(at)); }
};

/// The operations that belong together, as far as members and peers have them.
struct Matches {
  /// By group and number: the n-th call of each member that is there, in the order of members.
  std::vector<std::vector<std::vector<NodeRef>>> collectives;
  /// (SEND, RECV): the n-th of each (source, destination, tag).
  std::vector<std::pair<NodeRef, NodeRef>> messages;
  std::vector<NodeRef> unmatched;  ///< SEND and RECV whose peer has a file, but no counterpart in it; in file order
};

/// The set of ranks that have been read, `ranks` by file of `files`. Findings and errors as of `read_set`.
RankSet make_set(const TraceFileSet& files, std::vector<RankFacts> ranks, const CheckOptions& options,
                 Findings& findings);

/// Reads all files of the set, on all cores, and finds the groups that are called. `done` counts files. Findings are
/// about what the files define; what single files hold is left to `check_file`. Throws Error(kInput) for a
/// process-group file that cannot be read.
RankSet read_set(const TraceFileSet& files, const CheckOptions& options, Findings& findings,
                 std::atomic<uint64_t>& done);

/// Adds what is wrong between the ranks: calls that members do not share, messages without counterpart.
Matches match_operations(const RankSet& set, Findings& findings);

/// "0 to 3, 7".
std::string ranges_text(const std::vector<uint32_t>& sorted);

}  // namespace rankwire

// What is read of a record as a whole, by threads beside each other where it is much.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "base/id.h"
#include "emulator/record/database.h"
#include "emulator/record/node_lookup.h"
#include "emulator/record/run_record.h"

namespace rankwire {

/// What of a node says whom its executions meet. Texts are valid during the call only.
struct CommunicatingNode {
  RankId rank;
  uint32_t node = 0;
  JobId job;
  std::string_view kind, group;
  uint32_t sequence = 0, tag = 0;
  RankId peer;
};

/// A connection of its own, used by one thread at a time.
class BulkReader {
 public:
  /// `folder` holds `run.sqlite`. Throws Error(kInput), as all of its functions, for anything that it cannot read.
  explicit BulkReader(const std::filesystem::path& folder);

  /// Visits, in order of (rank, node), the nodes that belong to a group or have a peer.
  void for_each_communicating_node(const std::function<void(const CommunicatingNode&)>& visit) const;
  /// By RankId: the job that its nodes belong to.
  std::vector<JobId> jobs_of_ranks() const;
  NodeLookup nodes() const { return NodeLookup(database_); }

 private:
  const std::filesystem::path file_;
  Database database_;
};

/// All executions of a run by rank, those of a rank in the order in which they were written.
struct RunExecutions {
  uint64_t count = 0;
  std::vector<OperationRecord> rows;  ///< none where there are more than were asked for
};

/// Of each of `runs`, which differ, `most` rows at most: two passes over the pages of the table, of a large one by two
/// threads, a half each; or over its rows, where only SQLite knows them (TablePages::open). Memory: the rows.
std::vector<RunExecutions> read_executions(const std::filesystem::path& folder, std::span<const uint32_t> runs,
                                           uint64_t most);

}  // namespace rankwire

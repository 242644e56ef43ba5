// The nodes of a record, for the readers of its tables.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "emulator/record/database.h"
#include "emulator/record/run_record.h"

namespace rankwire {

/// The columns of a NodeInfo, as `assign` takes them. A record of an earlier version may not have all of them.
std::string node_columns(const Database& database);
/// Overwrites in place, so that texts keep their memory from row to row.
void assign(NodeInfo& info, const Statement& row);
/// A node that the record does not describe has its index for a name and the kind "unknown".
NodeInfo undescribed(RankId rank, uint32_t node);

/// Looks nodes up in any order. A table of all of them would grow with the trace, so some are read together with their
/// neighbours, which are likely to be asked for next, and kept for a while: that is several times as fast.
class NodeLookup {
 public:
  /// The database outlives this.
  explicit NodeLookup(const Database& database);

  /// Valid until the next call.
  const NodeInfo& find(RankId rank, uint32_t node);

 private:
  static constexpr uint32_t kNodes = 32, kBlocks = 8;
  struct Block {
    RankId rank;
    uint32_t first = 0;
    std::array<NodeInfo, kNodes> nodes;
  };

  void read(Block& block, RankId rank, uint32_t first);

  Statement select_;
  std::array<Block, kBlocks> blocks_;
};

}  // namespace rankwire

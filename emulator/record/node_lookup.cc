#include "emulator/record/node_lookup.h"

#include "emulator/record/columns.h"

namespace rankwire {

std::string node_columns(const Database& database) {
  const auto or_else = [&](const char* column, const char* absent) {
    const std::string known = fmt::format("SELECT count(*) FROM pragma_table_info('nodes') WHERE name='{}'", column);
    return database.integer(known) > 0 ? column : absent;
  };
  return fmt::format("rank, node, id, name, kind, \"group\", group_size, bytes, recorded_ps, job, {}, {}, {}, {}",
                     or_else("timed_by", "''"), or_else("sequence", "0"), or_else("peer", "NULL"), or_else("tag", "0"));
}

void assign(NodeInfo& info, const Statement& row) {
  info.rank = RankId(small(row, 0));
  info.node = small(row, 1);
  info.id = count(row, 2);
  assign(info.name, row, 3);
  assign(info.kind, row, 4);
  assign(info.group, row, 5);
  info.group_size = small(row, 6);
  info.bytes = Bytes(row.integer(7));
  info.recorded.reset();
  if (const auto recorded = row.optional_integer(8)) info.recorded = Duration(*recorded);
  info.job = JobId(small(row, 9));
  assign(info.timed_by, row, 10);
  info.sequence = small(row, 11);
  const auto peer = row.optional_integer(12);
  info.peer = peer ? RankId(static_cast<uint32_t>(*peer)) : RankId::invalid();
  info.tag = small(row, 13);
}

NodeInfo undescribed(RankId rank, uint32_t node) {
  NodeInfo info{.rank = rank, .node = node};
  info.name = fmt::format("node {}", node);
  info.kind = "unknown";
  return info;
}

NodeLookup::NodeLookup(const Database& database)
    : select_(database.prepare(fmt::format("SELECT {} FROM nodes WHERE rank=? AND node>=? AND node<? ORDER BY node",
                                           node_columns(database)))) {}

const NodeInfo& NodeLookup::find(RankId rank, uint32_t node) {
  Block& block = blocks_[node / kNodes % kBlocks];
  if (block.rank != rank || block.first != node / kNodes * kNodes) read(block, rank, node / kNodes * kNodes);
  NodeInfo& info = block.nodes[node % kNodes];
  if (info.rank != rank || info.node != node) info = undescribed(rank, node);
  return info;
}

void NodeLookup::read(Block& block, RankId rank, uint32_t first) {
  block.rank = rank, block.first = first;
  select_.reset();
  select_.bind(rank.value, first, uint64_t{first} + kNodes);
  while (select_.step()) assign(block.nodes[small(select_, 1) % kNodes], select_);
}

}  // namespace rankwire

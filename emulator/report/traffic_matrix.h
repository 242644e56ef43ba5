// Who sent how much to whom, in as many cells as a page can show.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "emulator/record/reader.h"

namespace rankwire {

/// Payload of one run, messages that were sent again counted once, control messages and the background left out. Rows
/// and columns are blocks of ranks: each rank where there are few, else the ranks of each host, else as many ranks that
/// follow each other. Immutable after construction; takes 16 bytes a cell.
class TrafficMatrix {
 public:
  static constexpr size_t kMostBlocks = 256;
  enum class Block { kRank, kHost, kRanks };

  /// Reads every queue pair once. `most` blocks, at least one.
  TrafficMatrix(const RunReader& record, const RecordedRun& run, size_t most = kMostBlocks);

  struct Cell {
    uint64_t wire = 0, local = 0;  ///< bytes through ports, and over what the model joins ranks by
    uint64_t bytes() const { return wire + local; }
  };

  size_t blocks() const { return labels_.size(); }
  const Cell& at(size_t source, size_t destination) const { return cells_[source * blocks() + destination]; }
  std::span<const Cell> cells() const { return cells_; }  ///< row by row
  /// All cells together.
  Cell total() const;

  Block block() const { return block_; }
  size_t ranks() const { return ranks_; }
  /// Of a block that is kRanks, but for the last; else 1.
  size_t ranks_in_block() const { return ranks_in_block_; }
  /// What people call the blocks: "rank 3", "host 0", "ranks 8 to 15".
  const std::vector<std::string>& labels() const { return labels_; }

 private:
  /// By rank.
  std::vector<uint32_t> divide(const RunReader& record, const RecordedRun& run, size_t most);

  Block block_ = Block::kRank;
  size_t ranks_ = 0, ranks_in_block_ = 1;
  std::vector<std::string> labels_;
  std::vector<Cell> cells_;
};

/// `traffic.csv`: a row for each run and pair of ranks of which one sent something to the other. Streams.
void write_traffic_csv(const RunReader& record, const std::filesystem::path& file);

}  // namespace rankwire

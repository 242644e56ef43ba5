#include "emulator/report/traffic_matrix.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <string_view>

#include "emulator/report/format.h"
#include "emulator/report/output_file.h"
#include "emulator/report/rank_names.h"

namespace rankwire {

std::vector<uint32_t> TrafficMatrix::divide(const RunReader& record, const RecordedRun& run, size_t most) {
  std::vector<uint32_t> block_of(ranks_);
  if (ranks_ <= most) {
    const RankNames names(record);
    for (uint32_t rank = 0; rank < ranks_; ++rank) {
      block_of[rank] = rank;
      labels_.push_back(names.label(rank));
    }
    return block_of;
  }
  const std::vector<RankNic> nics = record.rank_nics(run);
  std::map<uint32_t, uint32_t> hosts;
  bool all_known = nics.size() >= ranks_;
  for (size_t rank = 0; all_known && rank < ranks_; ++rank) {
    all_known = nics[rank].host.has_value();
    if (all_known) hosts.try_emplace(*nics[rank].host);
  }
  if (all_known && hosts.size() <= most) {
    block_ = Block::kHost;
    for (auto& [host, block] : hosts) {
      block = static_cast<uint32_t>(labels_.size());
      labels_.push_back(fmt::format("host {}", host));
    }
    for (size_t rank = 0; rank < ranks_; ++rank) block_of[rank] = hosts[*nics[rank].host];
    return block_of;
  }
  block_ = Block::kRanks;
  ranks_in_block_ = (ranks_ + most - 1) / most;
  for (size_t first = 0; first < ranks_; first += ranks_in_block_)
    labels_.push_back(fmt::format("ranks {} to {}", first, std::min(first + ranks_in_block_, ranks_) - 1));
  for (size_t rank = 0; rank < ranks_; ++rank) block_of[rank] = static_cast<uint32_t>(rank / ranks_in_block_);
  return block_of;
}

TrafficMatrix::TrafficMatrix(const RunReader& record, const RecordedRun& run, size_t most) : ranks_(run.start.ranks) {
  const std::vector<uint32_t> block_of = divide(record, run, most);
  cells_.resize(blocks() * blocks());
  record.for_each_rank_pair(run, [&](const RankPairBytes& pair) {
    if (pair.source.value >= ranks_ || pair.destination.value >= ranks_) return;
    Cell& cell = cells_[block_of[pair.source.value] * blocks() + block_of[pair.destination.value]];
    cell.wire += static_cast<uint64_t>(pair.wire.count);
    cell.local += static_cast<uint64_t>(pair.local.count);
  });
}

TrafficMatrix::Cell TrafficMatrix::total() const {
  Cell sum;
  for (const Cell& cell : cells_) sum.wire += cell.wire, sum.local += cell.local;
  return sum;
}

void write_traffic_csv(const RunReader& record, const std::filesystem::path& file) {
  OutputFile out(file);
  out << "fidelity,model,source,destination,bytes_wire,bytes_local\n";
  fmt::memory_buffer buffer;
  const auto flush = [&] {
    out << std::string_view(buffer.data(), buffer.size());
    buffer.clear();
  };
  for (const RecordedRun& run : record.runs()) {
    record.for_each_rank_pair(run, [&](const RankPairBytes& pair) {
      fmt::format_to(std::back_inserter(buffer), "{},{},{},{},{},{}\n", to_string(run.start.fidelity),
                     csv_field(run.start.model), pair.source.value, pair.destination.value, pair.wire.count,
                     pair.local.count);
      if (buffer.size() > (1 << 16)) flush();
    });
  }
  flush();
  out.commit();
}

}  // namespace rankwire

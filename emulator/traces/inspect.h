// What a set of traces holds, in numbers.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "emulator/traces/memory_use.h"
#include "emulator/traces/rank_set.h"
#include "emulator/traces/timing.h"

namespace rankwire {

struct Tally {
  uint64_t nodes = 0;
  Bytes bytes;

  void add(Bytes size) {
    ++nodes;
    bytes += size;
  }
};

/// A rank's part of the traffic: what its own nodes state.
struct TraceTraffic {
  Bytes collective, sent, received;
  Bytes sum() const { return collective + sent; }
};

struct Inspection {
  uint64_t nodes = 0, dependencies = 0;
  std::map<std::string, Tally> kinds;                          ///< by kind, collectives by theirs
  std::map<std::string, std::map<std::string, Tally>> groups;  ///< by group and kind of collective
  std::map<std::string, std::map<int64_t, Tally>> sizes;       ///< by kind and lower end of the size class
  std::vector<TraceTraffic> ranks;                             ///< by place
  double imbalance = 0;  ///< largest TraceTraffic::sum over the mean; 0 without traffic
  Timing timing;
  std::vector<Overlap> overlap;                  ///< by place; empty without times
  std::vector<std::optional<MemoryUse>> memory;  ///< by place
};

/// Sizes are bytes: what nodes state times the element size; barriers and negative sizes count nothing.
Inspection inspect(const RankSet& set, const Matches& matches, const TimingOptions& options);

/// The class of a size is [lower end, four times that): 0, 1, 4, 16, ... bytes.
int64_t size_class(Bytes size);

nlohmann::ordered_json to_json(const RankSet& set, const Inspection& inspection);
std::string to_text(const RankSet& set, const Inspection& inspection);

/// A bar for each rank, collective bytes, sent and received side by side; with more than 256 ranks the mean of
/// neighbours. "" without traffic. A whole SVG document.
std::string traffic_svg(const RankSet& set, const Inspection& inspection);
/// A line for each of the first 16 ranks with tensors. "" without tensors. A whole SVG document.
std::string memory_svg(const RankSet& set, const Inspection& inspection);

}  // namespace rankwire

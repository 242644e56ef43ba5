// What a set of traces holds, in numbers.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "emulator/traces/memory_use.h"
#include "emulator/traces/operation_table.h"
#include "emulator/traces/rank_set.h"
#include "emulator/traces/rank_times.h"
#include "emulator/traces/stragglers.h"
#include "emulator/traces/timing.h"

namespace rankwire {

struct Tally {
  uint64_t nodes = 0;
  Bytes bytes;

  void add(Bytes size) {
    ++nodes;
    bytes += size;
  }
  Tally& operator+=(const Tally& other) {
    nodes += other.nodes;
    bytes += other.bytes;
    return *this;
  }
};

/// A rank's part of the traffic: what its own nodes state.
struct TraceTraffic {
  Bytes collective, sent, received;
  Bytes sum() const { return collective + sent; }
};

struct RankInspection {
  uint32_t rank = 0;
  std::string path;
  TraceSchema schema = TraceSchema::k004;
  std::string unreadable;  ///< why reading ended before the end of the file, or ""
  uint64_t nodes = 0;
  TraceTraffic traffic;
  std::map<OperationKey, Bytes> communication;  ///< by kind and group, as in Inspection::communication
  std::optional<RankTimes> times;               ///< absent without times
  std::optional<MemoryUse> memory;              ///< absent without times or tensors
  uint64_t peak_node = 0;                       ///< id of the node whose start made the peak of memory
  std::string peak_name;
};

/// A node of the critical path.
struct PathNode {
  uint32_t rank = 0;
  uint64_t node = 0;  ///< id
  std::string name, kind;
  Span span;
};

/// The rank and the communication that stand out most of what the ranks do alike.
struct SizeImbalance {
  OperationKey key;
  uint32_t rank = 0, ranks = 0;  ///< who has most, of how many that have any
  Bytes bytes;
  double mean = 0;  ///< of those, bytes
};

struct Inspection {
  std::string name;
  bool by_rank = false;  ///< ranks were looked at one by one
  uint64_t nodes = 0, dependencies = 0;
  std::map<std::string, Tally> kinds;                          ///< by kind, collectives by theirs
  std::map<std::string, std::map<std::string, Tally>> groups;  ///< by group and kind of collective
  std::map<std::string, std::map<int64_t, Tally>> sizes;       ///< by kind and lower end of the size class
  std::vector<RankInspection> ranks;                           ///< by place
  double imbalance = 0;  ///< largest TraceTraffic::sum over the mean; 0 without traffic
  std::optional<SizeImbalance> largest_imbalance;
  OperationTable communication;  ///< by kind and group, "tp_# (4 ranks)", numbers being '#'; "" of SEND and RECV
  OperationTable operations;     ///< all others, by kind and name
  Stragglers stragglers;         ///< empty without times
  Timing timing;                 ///< without spans and critical path where ranks were looked at one by one
  std::vector<PathNode> path;    ///< Timing::critical

  /// Of all ranks; empty without times.
  std::optional<RankTimes> sum_of_times() const;
};

/// Sizes are bytes: what nodes state times the element size; barriers and negative sizes count nothing.
Inspection inspect(const RankSet& set, const Matches& matches, const TimingOptions& options);

/// The same of a set of any size: each core reads one rank after another and keeps of it what communicates. Times are
/// recorded where all files have them; otherwise each rank has the ideal schedule of a rank that waits for no other,
/// and nothing is said of stragglers. There is no critical path. `done` counts files.
Inspection inspect_by_rank(const TraceFileSet& files, const CheckOptions& options, const TimingOptions& times,
                           std::atomic<uint64_t>& done);

/// The class of a size is [lower end, four times that): 0, 1, 4, 16, ... bytes.
int64_t size_class(Bytes size);

nlohmann::ordered_json to_json(const Inspection& inspection);
std::string to_text(const Inspection& inspection);
/// What stands out, a sentence each without a full stop: sizes, exposed communication, idle time, stragglers, memory.
std::vector<std::string> remarks(const Inspection& inspection);
/// Time on the critical path by kind of node.
std::map<std::string, Duration> path_by_kind(const Inspection& inspection);
/// Its operations by kind and name; bytes are left out.
OperationTable path_operations(const Inspection& inspection);

/// A bar for each rank, collective bytes, sent and received side by side; with more than 256 ranks the mean of
/// neighbours. "" without traffic. A whole SVG document.
std::string traffic_svg(const Inspection& inspection);
/// A line for each of the first 16 ranks with tensors. "" without tensors. A whole SVG document.
std::string memory_svg(const Inspection& inspection);
/// The same in the colours of a page, inside of which it stands.
std::string memory_lines_svg(const Inspection& inspection);

}  // namespace rankwire

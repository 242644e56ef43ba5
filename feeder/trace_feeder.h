// Nodes of a trace as they become ready, for simulators: docs/feeder.md shows how it is used.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "feeder/dependency_window.h"
#include "feeder/kept_node.h"
#include "proto/trace_node.h"
#include "proto/trace_stream.h"

namespace rankwire {

/// Which of the ready nodes comes first. Ties are broken by the lowest id, and nodes with equal ids do not exist, so
/// that equal calls give equal nodes.
enum class FeedOrder : uint8_t {
  kMinimumId,
  kFileOrder,           ///< as they stand in the file
  kStartTime,           ///< by start_time_micros
  kPerStream,           ///< nodes of one stream (attribute `stream`, not on the CPU) only in file order; else by id
  kPerGroup,            ///< communication of one group (attribute `pg_name`) only in file order; else by id
  kCommunicationFirst,  ///< SEND, RECV and collectives before all others; each by id
};

/// "minimum_id", "file_order", "start_time", "per_stream", "per_group", "communication_first".
const char* to_string(FeedOrder order);
std::optional<FeedOrder> parse_feed_order(std::string_view name);

/// What becomes of dependencies on nodes that the file does not have.
enum class MissingNodes : uint8_t {
  kError,  ///< at the end of the file an error names them
  kDrop,   ///< they are dropped at the end of the file, and counted
};

struct FeederOptions {
  FeedOrder order = FeedOrder::kMinimumId;
  bool data = true;  ///< data_deps are obeyed
  /// ctrl_deps are obeyed. In converted PyTorch traces they are the call stack: with both, nothing ever becomes ready.
  bool control = false;
  MissingNodes missing = MissingNodes::kError;
  size_t window = 4096;               ///< nodes that are read ahead of those complete, > 0
  size_t memory = size_t{256} << 20;  ///< the most that the feeder may take, in bytes
};

/// Feeds one trace from its file: any schema, packed or not (see proto/trace_stream.h).
///
/// At most `window` nodes that are not complete are in memory, more only where none of them could ever become ready
/// without what stands further on in the file (forward references). So memory does not grow with the file, but for the
/// ids of finished nodes (about 1.3 bits each where ids are dense), and the order is that of the whole trace among the
/// nodes that are in the window. Compressed files are unpacked as they are read; JSON is read wholly.
///
/// All errors are Error(kInput) that name the file: what TraceReader refuses, two nodes with one id, nodes that are
/// missing, a cycle, an order that contradicts the dependencies, and a window that would take more than `memory`, with
/// how far the references reach. After an error only the destructor may be called. Used by one thread.
class TraceFeeder {
 public:
  /// A node in the window; handles of completed nodes are used again.
  using Handle = uint32_t;
  static constexpr Handle kNone = UINT32_MAX;

  /// Opens the file. Nothing is read before the first `next`.
  TraceFeeder(const std::string& path, const FeederOptions& options);

  /// A ready node, or kNone when none is ready now: then some must be completed first, or all are finished. The node is
  /// the caller's until `complete` or `push_back`.
  Handle next();
  /// The node, which `next` has handed out, is done: what depended on it may become ready.
  void complete(Handle node);
  /// The node, which `next` has handed out, cannot start now: it is ready again, in its place.
  void push_back(Handle node);
  /// Of a node that is not complete. Valid until it is.
  const TraceNode& lookup(Handle node) const { return nodes_[node].kept.node(); }
  /// The node's place in the file, from 0.
  uint64_t place(Handle node) const { return nodes_[node].place; }
  /// All nodes of the file are complete.
  bool finished() const noexcept { return at_end_ && window_.live() == 0; }

  uint64_t nodes_read() const noexcept { return nodes_read_; }
  /// Dependencies of a node on itself, which are dropped.
  uint64_t self_dependencies() const noexcept { return window_.self_dependencies(); }
  /// Dependencies on nodes that the file does not have (MissingNodes::kDrop).
  uint64_t dropped_dependencies() const noexcept { return dropped_; }
  /// The most nodes in memory at once so far.
  size_t most_live() const noexcept { return most_live_; }
  /// Of all that the feeder keeps, in bytes, without the reader's buffer of 256 KiB or one frame.
  size_t memory() const noexcept;

 private:
  struct Entry {
    KeptNode kept;
    uint64_t place = 0;
    uint32_t lane = kNone;
    bool queued = false;  ///< in `ready_`
  };
  /// Nodes that are handed out in file order only: those not yet handed out.
  using Lane = std::set<std::pair<uint64_t, Handle>>;
  struct Ready {
    uint64_t first = 0, id = 0;
    Handle node = kNone;
    friend bool operator>(const Ready& a, const Ready& b) {
      return std::pair(a.first, a.id) > std::pair(b.first, b.id);
    }
  };

  void read_ahead();
  bool read_node();
  void end_file();
  void make_ready(Handle node);
  void check_memory() const;
  uint32_t lane_of(const TraceNode& node);
  uint64_t rank_of(Handle node) const;
  [[noreturn]] void fail_stuck() const;

  std::string path_;
  FeederOptions options_;
  TraceReader reader_;
  DependencyWindow window_;
  TraceNode read_;
  std::deque<Entry> nodes_;   ///< by slot of the window
  std::vector<Ready> ready_;  ///< a heap; of a lane only the first is handed out, others leave it when they come up
  std::vector<Lane> lanes_;
  std::unordered_map<std::string, uint32_t> lane_by_name_;
  uint64_t nodes_read_ = 0;
  uint64_t dropped_ = 0;
  size_t handed_out_ = 0;  ///< and not complete
  size_t most_live_ = 0;
  size_t kept_bytes_ = 0;  ///< of all entries
  bool at_end_ = false;
};

}  // namespace rankwire

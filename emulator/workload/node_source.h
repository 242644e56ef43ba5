// Where the engine takes ready nodes from: one source a rank.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "emulator/workload/workload.h"

namespace rankwire {

/// Hands out nodes whose dependencies are complete, lowest node id first. Owned and used by the rank's engine shard.
/// `reset` begins the next iteration.
///
/// A node is named by a number: of one that communicates it is its index in RankTrace::nodes, of another the source's
/// choice, until the node is complete.
class NodeSource {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;

  virtual ~NodeSource() = default;
  /// The next ready node, or kNone when none is ready now. The node is the caller's until `complete` or `push_back`.
  virtual uint32_t next() noexcept = 0;
  /// The node is done: its successors may become ready.
  virtual void complete(uint32_t node) noexcept = 0;
  /// The node cannot be started now (its resource is busy): it is ready again.
  virtual void push_back(uint32_t node) noexcept = 0;
  virtual const Node& lookup(uint32_t node) const noexcept = 0;
  /// The node's place in the file, from 0, by which it is recorded.
  virtual uint32_t place(uint32_t node) const noexcept = 0;
  /// How many nodes the caller had better have room for at once.
  virtual size_t expected_at_once() const noexcept = 0;
  /// All nodes of this iteration are complete.
  virtual bool finished() const noexcept = 0;
  virtual void reset() noexcept = 0;
  /// False when nodes that are not complete cannot be had any more; `problem` says why.
  virtual bool can_go_on() const noexcept { return true; }
  virtual std::string problem() const { return ""; }
};

/// Over a trace that is wholly in memory, which must outlive the source. Nothing allocates after construction.
std::unique_ptr<NodeSource> make_flat_source(const RankTrace& trace);

/// Over a trace that stays in its file; the workload must outlive the source. It hands out what a flat source would,
/// in the same order: every node that is ready is in its window, see NodeStream. It reads, and takes memory for the
/// window, while it is used.
std::unique_ptr<NodeSource> make_streamed_source(const Workload& workload, RankId rank);

/// The one that fits the rank's trace.
std::unique_ptr<NodeSource> make_source(const Workload& workload, RankId rank);

}  // namespace rankwire

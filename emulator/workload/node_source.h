// Where the engine takes ready nodes from: one source a rank.
#pragma once

#include <cstdint>
#include <memory>

#include "emulator/workload/workload.h"

namespace rankwire {

/// Hands out nodes whose dependencies are complete, lowest node id first. Owned and used by the rank's engine shard.
/// Nothing allocates after construction; `reset` begins the next iteration.
class NodeSource {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;

  virtual ~NodeSource() = default;
  /// The next ready node's index, or kNone when none is ready now. The node is the caller's until `complete` or
  /// `push_back`.
  virtual uint32_t next() noexcept = 0;
  /// The node is done: its successors may become ready.
  virtual void complete(uint32_t node) noexcept = 0;
  /// The node cannot be started now (its resource is busy): it is ready again.
  virtual void push_back(uint32_t node) noexcept = 0;
  virtual const Node& lookup(uint32_t node) const noexcept = 0;
  /// All nodes of this iteration are complete.
  virtual bool finished() const noexcept = 0;
  virtual void reset() noexcept = 0;
};

/// Over a trace that is wholly in memory, which must outlive the source.
std::unique_ptr<NodeSource> make_flat_source(const RankTrace& trace);

}  // namespace rankwire

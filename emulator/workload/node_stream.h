// The nodes of a trace that stays in its file, read once more.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "emulator/workload/node_reader.h"
#include "emulator/workload/selection.h"
#include "emulator/workload/workload.h"
#include "proto/trace_stream.h"

namespace rankwire {

/// The ids that a node depends on, as `use` has it. Those that are optional may be of nodes that the file does not
/// have.
struct Parents {
  std::span<const uint64_t> required, optional;
};
Parents parents_of(const TraceNode& node, DependencyUse use) noexcept;

/// Reads the nodes of one rank, in file order, as load_workload would have made them; kept nodes are the workload's
/// own.
///
/// How a window over the file can be short, and yet have every node that is ready: a node may be up to a reach of
/// places (WorkloadOptions::stream_reach) behind one of those that it depends on. When all of these are complete, and
/// the file has been read to a reach behind every node that is complete, then the node has been read. Nodes for which
/// that does not hold are far (StreamedTrace::far), and are put into the window before anything is read.
class NodeStream {
 public:
  /// The most nodes of a rank that may be read and not complete, and the most that may be far.
  static constexpr uint32_t kMostOpen = 1u << 18;
  static constexpr uint32_t kNotKept = UINT32_MAX;

  /// The workload outlives the stream. Throws Error(kInput) when the file cannot be opened.
  NodeStream(const Workload& workload, RankId rank);

  /// Goes to the next node; false at the end. Throws Error(kInput) when the file is not what it was when the workload
  /// was loaded.
  bool next();
  uint32_t place() const noexcept { return place_ - 1; }
  /// The node's index in RankTrace::nodes, or kNotKept.
  uint32_t kept() const noexcept { return kept_; }
  /// Valid until the next call of `next`.
  const Node& node() const noexcept { return kept_ == kNotKept ? node_ : trace_.nodes[kept_]; }
  Parents parents() const noexcept { return parents_of(in_, streaming_.use); }

 private:
  [[noreturn]] void fail_changed() const;

  const RankId rank_;
  const RankTrace& trace_;
  const Streaming& streaming_;
  TraceReader file_;
  NodeReader reader_;
  Selector selector_;
  TraceNode in_;
  Node node_;
  uint32_t place_ = 0;  ///< of the node behind this one
  uint32_t kept_ = kNotKept;
  uint32_t next_kept_ = 0;
};

/// Calls `visit(rank, place, node)` for each node of a workload, rank by rank in file order. What is not in memory is
/// read again.
template <class Visit>
void for_each_node(const Workload& workload, Visit visit) {
  for (uint32_t rank = 0; rank < workload.ranks.size(); ++rank) {
    const RankTrace& trace = workload.ranks[rank];
    if (trace.streamed) {
      for (NodeStream stream(workload, RankId(rank)); stream.next();)
        visit(RankId(rank), stream.place(), stream.node());
    } else {
      for (uint32_t n = 0; n < trace.nodes.size(); ++n) visit(RankId(rank), n, trace.nodes[n]);
    }
  }
}

}  // namespace rankwire

// The chain of executions, across ranks, that a run's completion time is made of.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/transport.h"
#include "base/units.h"
#include "emulator/diagnosis/executions.h"
#include "emulator/record/run_record.h"

namespace rankwire {

/// The part of one execution that nothing else could hide.
struct CriticalStep {
  NodeInfo node;
  uint32_t iteration = 0;
  uint32_t execution = 0;  ///< index in the Executions that the path is of
  Duration before;         ///< from the end of the step before it, or the beginning of the run, to `from`
  Time from, to;           ///< from when the last member it waited for had begun, to its end
  /// Of the run's own path, of what communicates: the connection that was held up longest, without NICs and sizes;
  /// absent where causes were not recorded.
  std::optional<Connection> connection = std::nullopt;
  Duration length() const { return to - from; }
  bool communicates() const { return node.group_size > 0; }
};

/// The chain that leads back from one execution, by what each waited for: in a collective the member
/// that began last, in a RECV its SEND, else what ended last on the same rank before. What ran beside it could have
/// taken longer without consequence. `before` and `length` of all steps add up to `completion` exactly. The record has
/// no dependencies of nodes: where something else ended on the rank between what a node waited for and its start, that
/// is taken for the cause, and the chain is still one without gaps.
/// After C.-Q. Yang and B. P. Miller, "Critical Path Analysis for the Execution of Parallel and Distributed Programs",
/// 1988.
struct CriticalPath {
  std::vector<CriticalStep> steps;  ///< oldest first, at least one
  Duration completion;              ///< end of the last step, from time 0
};

/// Walks the executions of a run, whose nodes are those of the record, back from `last`, absent: the one that ended
/// last. Time: the sum of the members of what is on the path, and every node of the record once, for their names.
CriticalPath critical_path(const RunReader& record, const Executions& executions,
                           std::optional<uint32_t> last = std::nullopt);

}  // namespace rankwire

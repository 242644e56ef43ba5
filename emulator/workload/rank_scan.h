// The first reading of a trace that stays in its file.
#pragma once

#include <span>
#include <string>

#include "emulator/workload/folding.h"
#include "emulator/workload/names.h"
#include "emulator/workload/rank_file.h"
#include "emulator/workload/selection.h"
#include "emulator/workload/tolerated.h"
#include "emulator/workload/workload.h"

namespace rankwire {

struct RankScan {
  RankFile kept;  ///< what it refers to is in `trace`
  StreamedTrace trace;
  bool in_order = true;  ///< no node stands before one that it depends on
  /// With WorkloadOptions::fold, where `kept` are operations that differ. A trace with splits, out of order, or of too
  /// many that differ is not read to its end then: it cannot be folded.
  LikeOrder order;
  uint64_t name_bytes = 0;  ///< LikeNodes::name_bytes
  bool can_fold = true;
};

/// Reads the trace of rank `self` of `ranks` and keeps what communicates or is far, with its names in `names`. Checks
/// everything that linking a trace in memory checks: ids, references, cycles. Throws Error(kInput) naming file and
/// node, also when more than NodeStream::kMostOpen nodes wait for what stands behind them, or are far.
RankScan scan_rank_file(const std::string& path, RankId self, uint32_t ranks, const WorkloadOptions& options,
                        DependencyUse use, Selector& selector, NameKeeper& names, Tolerated& tolerated);

/// Whether any node of these files has data dependencies. Reads on only until one is found.
bool have_data_dependencies(std::span<const std::string> paths);

}  // namespace rankwire

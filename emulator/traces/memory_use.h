// How much memory tensors take over time, where traces say when they live.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "emulator/traces/timing.h"

namespace rankwire {

/// Of one rank.
struct MemoryUse {
  /// From `time` on, `bytes` are in use.
  struct Step {
    Time time;
    Bytes bytes;
  };
  std::vector<Step> steps;
  Bytes peak;
  uint64_t tensors = 0;
  uint32_t peak_at = 0;  ///< index of the node whose start made the peak
};

/// A tensor lives from the start of the first node that names it to the end of the last one; what only is read, such as
/// weights, from 0 on, and what nobody reads, to `end`. STAGE names tensors in the attributes `inputs` and `outputs`;
/// PyTorch in the inputs and outputs of nodes, where what lives is the storage, as large as its tensors on an
/// accelerator reach, from the first to the last node. Reads the file again. Nothing where no node names a tensor, and
/// for files that are neither of schema 0.0.4 nor name tensors as PyTorch does.
std::optional<MemoryUse> memory_use(const RankFacts& facts, std::span<const Span> spans, Time end, Bytes element_size);

}  // namespace rankwire

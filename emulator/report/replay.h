// The collectives of a run as a list of kernels, beside those of another: what a replay tool of traces prints.
#pragma once

#include <compare>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "emulator/record/reader.h"

namespace rankwire {

struct ReplayKernel {
  std::string name;    ///< "all_reduce"
  Bytes size;          ///< S of nccl-tests, see bandwidth_basis; 0 of a barrier
  uint32_t ranks = 0;  ///< of its process group
  auto operator<=>(const ReplayKernel&) const = default;
};

/// All executions of a kernel, on all ranks and in all iterations.
struct ReplayFigure {
  uint64_t calls = 0;
  Duration mean;
  std::optional<double> bus = {};  ///< bus bandwidth of the mean in GB/s (10^9 byte/s); absent without data
};

using ReplayFigures = std::map<ReplayKernel, ReplayFigure>;

/// Of the emulated side, or of the reference where nothing was emulated.
ReplayFigures replay_figures(const RunReader& record);
/// Of a run folder, or of a file that `replay_csv` has made. Throws Error(kInput) naming file and line.
ReplayFigures read_replay(const std::filesystem::path& base);

/// One row a kernel: duration, bandwidth with that of the base in brackets, and duration over that of the base; "-"
/// where the base, which may be empty, has no such kernel.
std::string replay_text(const ReplayFigures& figures, const ReplayFigures& base);
std::string replay_csv(const ReplayFigures& figures, const ReplayFigures& base);

}  // namespace rankwire

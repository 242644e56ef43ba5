// PyTorch's traces to Chakra's: one host trace and one of Kineto's for each rank, or Kineto's alone where it has the
// arguments of NCCL's kernels.
//
// Nodes are the steps of the host (host_timeline.h) and the operations of the accelerator (device_queue.h), in the
// order in which the host began or launched them, which is also the order of a communicator's collectives. An operation
// of the accelerator depends on the step that launched it, on the one before it on its stream, and on what its stream
// waited for; a step of the host depends on the step before it and on what it waited for.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "converters/conversion.h"
#include "converters/missing_ranks.h"

namespace rankwire {

/// The files that belong to one rank.
struct PytorchPair {
  std::string host;  ///< empty: none
  std::string kineto;
};

/// Tells host traces from Kineto's by their content and pairs them in the natural order of their names, in which host_2
/// comes before host_10. Throws Error(kInput) when a file is neither, or when there are host traces without Kineto's.
std::vector<PytorchPair> pair_pytorch_files(const std::vector<std::string>& files);

struct PytorchOptions {
  FillOptions fill;
  bool start_times = false;  ///< nodes say when they began, and the host's operators are cut where others are within
};

/// Writes a trace for each pair, one after another, each to the rank that Kineto's names or, where none of them names
/// any, to its place among the pairs; then completes the ranks that Kineto's traces and process groups tell of (see
/// complete_ranks). `progress` counts the pairs. Throws Error(kInput) naming file and place.
Conversion convert_pytorch(const std::vector<PytorchPair>& pairs, const std::filesystem::path& folder,
                           ConversionProgress& progress, const PytorchOptions& options = {});

}  // namespace rankwire

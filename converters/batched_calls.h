// Calls of torch.distributed whose kernel is launched behind them, at the end of their batch.
//
// Source: pytorch/torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp, endCoalescing: ncclGroupEnd launches the kernels of
// all calls since startCoalescing, outside of their record_param_comms, so that Kineto has no arguments for them
// (mlcommons/chakra issue 178).
#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "converters/kineto.h"
#include "converters/operator_tree.h"

namespace rankwire {

class BatchedCalls {
 public:
  /// Of `calls`, and of those that `trace` has itself where they say nothing; without those of `launched`, which have
  /// kernels, and those within another call, which carries them out. All must outlive the object.
  BatchedCalls(const KinetoTrace& trace, const OperatorTree& tree, const RecordedCalls& calls,
               const std::unordered_set<uint32_t>& launched);

  /// The calls that a thread made between two times and that such a kernel can carry: the last ones of one group.
  /// SendRecv kernels carry sends and receives, others their collective.
  std::vector<const PytorchCall*> between(int64_t thread, int64_t begin, int64_t end, std::string_view kernel) const;

 private:
  struct Call {
    int64_t begin = 0;
    const PytorchCall* call = nullptr;
  };
  std::map<int64_t, std::vector<Call>> threads_;  ///< by begin
};

}  // namespace rankwire

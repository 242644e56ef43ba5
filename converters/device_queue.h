// What one process put on its accelerator: the operations of all streams in the order of their launch, what each has to
// wait for there, and where the host waited for them.
//
// Without cuda_sync events Kineto does not say which event a stream waits for. Then the rules of torch.distributed
// stand in (c10d/ProcessGroupNCCL.cpp): a collective waits for what the calling thread has launched before it, and what
// the thread launches behind a wait() waits for the collective.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "converters/kineto.h"
#include "converters/operator_tree.h"
#include "converters/pytorch_call.h"
#include "converters/sparse_lists.h"

namespace rankwire {

struct DeviceOperation {
  static constexpr uint32_t kNone = UINT32_MAX;

  const KinetoDeviceOperation* recorded = nullptr;
  int64_t launch = 0;             ///< when the host launched it; its own begin where no launch was recorded
  std::optional<int64_t> thread;  ///< that launched it
  uint32_t previous = kNone;      ///< device operation of the same stream
  bool communicates = false;      ///< a kernel of NCCL's or RCCL's
};

/// The host waited in this call.
struct HostWait {
  uint32_t name = 0;
  int64_t thread = 0;
  int64_t begin = 0, end = 0;
  std::vector<uint32_t> on;  ///< device operations
};

class DeviceQueue {
 public:
  /// All must outlive the queue, but for the trace's operators and runtime calls. `calls` are the host trace's; those
  /// that `trace` has itself count where they say nothing.
  DeviceQueue(const KinetoTrace& trace, const OperatorTree& tree, const RecordedCalls& calls);

  const std::vector<DeviceOperation>& operations() const { return operations_; }
  /// The further operations, all launched before, that an operation follows.
  std::span<const uint32_t> after(uint32_t operation) const { return after_[operation]; }
  /// What an operation communicates: one call, or all of a batch.
  std::span<const PytorchCall* const> calls(uint32_t operation) const { return calls_[operation]; }
  /// By begin.
  const std::vector<HostWait>& waits() const { return waits_; }
  /// Communication kernels of which nothing was recorded that says what they move.
  uint64_t unknown_kernels() const { return unknown_kernels_; }
  /// Kernels that communicate by themselves, not by NCCL, and of which nothing is recorded either.
  uint64_t bypassing_kernels() const { return bypassing_kernels_; }
  /// Further kernels of a call, whose first kernel stands for it.
  uint64_t further_kernels() const { return further_kernels_; }

 private:
  const KinetoRuntimeCall* call_of(int64_t correlation) const;
  void launch_all(const OperatorTree& tree, const RecordedCalls& calls);
  void find_calls(const OperatorTree& tree, const RecordedCalls& calls);
  bool take_own_call(uint32_t index, const OperatorTree& tree, const RecordedCalls& calls);
  void order_streams();
  void wait_for_events();
  void wait_as_distributed(const RecordedCalls& calls);
  void find_host_waits();
  std::vector<uint32_t> waited_for(const KinetoRuntimeCall& call) const;
  std::optional<uint32_t> last_before(int64_t stream, int64_t time) const;
  std::vector<uint32_t> last_of_all_before(int64_t time) const;

  const KinetoTrace& trace_;
  std::vector<DeviceOperation> operations_;
  SparseLists<uint32_t> after_;            ///< by operation
  SparseLists<const PytorchCall*> calls_;  ///< by operation
  std::vector<HostWait> waits_;
  std::map<int64_t, std::vector<uint32_t>> streams_;
  std::vector<uint32_t> calls_by_correlation_;  ///< indexes of the trace's
  std::unordered_map<int64_t, const KinetoSynchronization*> synchronization_of_;
  std::unordered_set<uint32_t> launched_;  ///< the operators that recorded a call whose kernel has been met
  uint64_t unknown_kernels_ = 0, bypassing_kernels_ = 0, further_kernels_ = 0;
};

}  // namespace rankwire

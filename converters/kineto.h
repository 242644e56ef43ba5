// Kineto's traces: what torch.profiler writes of one process, in Chrome's trace format.
//
// Source: pytorch/kineto, libkineto/src/output_json.cpp; arguments of events as described there.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/error.h"
#include "converters/process_group.h"
#include "converters/pytorch_call.h"

namespace rankwire {

/// Names in a file of Kineto, each once.
class KinetoNames {
 public:
  uint32_t index_of(std::string_view name);
  const std::string& operator[](uint32_t index) const { return *texts_[index]; }

 private:
  std::unordered_map<std::string, uint32_t> index_;
  std::vector<const std::string*> texts_;
};

/// Times of all are in nanoseconds of the trace's clock.
struct KinetoSpan {
  uint32_t name = 0;
  int64_t begin = 0, end = 0;
};

/// cpu_op or user_annotation.
struct KinetoOperator : KinetoSpan {
  int64_t thread = 0;
  int64_t record_function = -1;  ///< -1: not recorded, as before 2024
};

/// cuda_runtime or cuda_driver.
struct KinetoRuntimeCall : KinetoSpan {
  int64_t thread = 0;
  int64_t correlation = -1;
};

/// kernel, gpu_memcpy or gpu_memset.
struct KinetoDeviceOperation : KinetoSpan {
  int64_t stream = 0;
  int64_t correlation = -1;
  std::unique_ptr<PytorchCall> call;  ///< NCCL's, where its arguments were recorded
};

/// cuda_sync.
struct KinetoSynchronization {
  enum class Kind : uint8_t { kStream, kContext, kEvent, kStreamWaitEvent };
  Kind kind = Kind::kContext;
  int64_t stream = -1;              ///< that is waited for (kStream), or that waits (kStreamWaitEvent)
  int64_t wait_on_stream = -1;      ///< kEvent, kStreamWaitEvent: that of the event
  int64_t record_correlation = -1;  ///< of the call that recorded the event
  int64_t correlation = -1;         ///< of the call that synchronizes
};

struct KinetoTrace {
  std::optional<int64_t> rank, world_size;
  std::vector<ProcessGroup> groups;
  int64_t process = -1;  ///< of the operators
  KinetoNames names;
  std::vector<KinetoOperator> operators;  ///< without the profiler's own steps
  RecordedCalls recorded;                 ///< by index of an operator record_param_comms that has arguments
  std::vector<KinetoRuntimeCall> calls;
  std::vector<KinetoDeviceOperation> device;
  std::vector<KinetoSynchronization> synchronizations;
};

/// Reads one file, plain, gzip or zstd, a part at a time. Throws Error(kInput) that names the file and the place in its
/// JSON.
KinetoTrace read_kineto(const std::string& path, Warnings& warnings);
/// The same of the file's text.
KinetoTrace parse_kineto(std::string_view text, const std::string& path, Warnings& warnings);

}  // namespace rankwire

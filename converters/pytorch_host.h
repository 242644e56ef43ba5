// PyTorch's host traces: what its ExecutionTraceObserver writes, schemas 1.0.1 to 1.1.1.
//
// Source: pytorch/torch/csrc/profiler/standalone/execution_trace_observer.cpp.
#pragma once

#include <simdjson.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"
#include "converters/process_group.h"
#include "converters/pytorch_call.h"

namespace rankwire {

struct RecordedCall {
  int64_t record_function = 0;  ///< PyTorch's id of the recorded function; counts in the order of their begin
  PytorchCall call;
};

/// What of a host trace Kineto's does not say.
struct PytorchHostTrace {
  std::string schema;
  int64_t process = -1;
  uint64_t nodes = 0;
  std::vector<ProcessGroup> groups;  ///< of its process_group:init nodes
  std::vector<RecordedCall> calls;   ///< by record_function
};

/// Reads one file, plain, gzip or zstd. Throws Error(kInput) that names the file and the place in its JSON.
PytorchHostTrace read_pytorch_host(const std::string& path, Warnings& warnings);
/// The same of the file's text.
PytorchHostTrace parse_pytorch_host(const simdjson::padded_string& text, const std::string& path, Warnings& warnings);

}  // namespace rankwire

// Any bytes as a host trace of PyTorch and as a trace of Kineto's: read or refused, and what is read has an order.
#include <simdjson.h>

#include <string>
#include <string_view>

#include "base/error.h"
#include "converters/device_queue.h"
#include "converters/host_timeline.h"
#include "converters/kineto.h"
#include "converters/operator_tree.h"
#include "converters/pytorch_host.h"
#include "tests/fuzz/input.h"

namespace rankwire {
namespace {

using fuzz::require;

void read_device_trace(std::string_view text) {
  Warnings warnings;
  const KinetoTrace trace = parse_kineto(text, "input", warnings);
  const OperatorTree tree(trace.operators);
  const DeviceQueue queue(trace, tree, {});
  require(queue.operations().size() == trace.device.size(), "each operation of the device is there once");
  for (uint32_t i = 0; i < queue.operations().size(); ++i) {
    const uint32_t previous = queue.operations()[i].previous;
    require(previous == DeviceOperation::kNone || previous < i, "it follows an earlier one of its stream");
    for (const uint32_t other : queue.after(i)) require(other < i, "it waits for earlier ones alone");
  }
  const HostTimeline timeline(trace, tree, queue);
  require(timeline.steps().size() >= trace.operators.size(), "each operator has a step");
  for (uint32_t i = 0; i < timeline.steps().size(); ++i) {
    const HostStep& step = timeline.steps()[i];
    require(step.duration >= 0, "no step takes negative time");
    require(step.previous == HostStep::kNoStep || step.previous < i, "steps of a thread follow earlier ones");
    for (const uint32_t other : timeline.after_threads(i))
      require(other < timeline.steps().size(), "steps follow steps");
    for (const uint32_t other : timeline.after_device(i)) require(other < queue.operations().size(), "and operations");
  }
}

}  // namespace
}  // namespace rankwire

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace rankwire;  // NOLINT: this is its main function
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    read_device_trace(text);
  } catch (const Error&) {
  }
  try {
    Warnings warnings;
    parse_pytorch_host(simdjson::padded_string(text), "input", warnings);
  } catch (const Error&) {
  }
  return 0;
}

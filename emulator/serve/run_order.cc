#include "emulator/serve/run_order.h"

#include <fmt/format.h>

#include <algorithm>

#include "emulator/serve/serve_error.h"

namespace rankwire {
namespace {

constexpr uint64_t kLeastCapture = 64 << 10;  // bytes of record.capture, with which a capture is worth its name

}  // namespace

RunOrder order_run(const OtgConfig& config, const std::string& text, const KeptRuns& store,
                   std::chrono::seconds longest) {
  if (config.ai_workload) return {.text = text, .files = config.ai_workload->files};
  const auto captures = [](const OtgPort& port) { return port.capture.has_value(); };
  if (std::none_of(config.ports.begin(), config.ports.end(), captures)) return {.text = text, .files = {}};
  // As much again is for what else the run writes.
  const uint64_t capture = std::min(kCaptureMemory, store.most_room() / 2);
  if (capture < kLeastCapture)
    throw ServeError(507,
                     fmt::format("there is no room for captures (--quota): of {} bytes half of those that are left "
                                 "are for them, {}, and {} are needed",
                                 store.limits().quota, capture, kLeastCapture));
  return {.text = run_configuration(config, longest, capture), .files = {}, .capture = capture, .room = 2 * capture};
}

}  // namespace rankwire

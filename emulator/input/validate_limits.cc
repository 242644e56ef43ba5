#include "emulator/input/validate_limits.h"

#include <algorithm>

namespace rankwire {

void validate_limits(const RunConfig& config, const Tree& root) {
  if (!config.limits) return;
  const LimitsConfig& limits = *config.limits;
  if (limits.message_p99 && config.messages == MessageRecording::kNone)
    fail_key(root, "limits.message_p99", "needs 'record.messages: sampled' or 'all', without which nobody times them");
  const bool counts_packets =
      std::ranges::all_of(config.ports, [](const PortConfig& p) { return !p.is_rdma_device(); });
  if (limits.loss_ppm && !counts_packets)
    fail_key(root, "limits.loss_ppm", "needs ports whose packets are counted; RDMA devices keep theirs to themselves");
}

}  // namespace rankwire

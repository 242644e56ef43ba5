#include "emulator/input/validate_limits.h"

#include <algorithm>
#include <utility>

namespace rankwire {

void validate_limits(const RunConfig& config, const Tree& root) {
  if (!config.limits) return;
  const LimitsConfig& limits = *config.limits;
  const bool has_objectives = config.slo && (config.slo->ttft || config.slo->tpot || config.slo->latency);
  for (const auto& [key, is_limited] : {std::pair("limits.attainment", limits.attainment_ppm.has_value()),
                                        std::pair("limits.goodput", limits.goodput.has_value())})
    if (is_limited && !has_objectives) fail_key(root, key, "needs 'slo', which says what requests must keep");
  if (limits.message_p99 && config.messages == MessageRecording::kNone)
    fail_key(root, "limits.message_p99", "needs 'record.messages: sampled' or 'all', without which nobody times them");
  const bool counts_packets =
      std::ranges::all_of(config.ports, [](const PortConfig& p) { return !p.is_rdma_device(); });
  if (limits.loss_ppm && !counts_packets)
    fail_key(root, "limits.loss_ppm", "needs ports whose packets are counted; RDMA devices keep theirs to themselves");
}

}  // namespace rankwire

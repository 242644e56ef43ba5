#include "emulator/input/validate_limits.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace rankwire {
namespace {

void refuse_limits_of_operations(const LimitsConfig& limits, const Tree& root) {
  std::vector<std::pair<std::string, bool>> keys = {{"limits.ttft_p99", limits.ttft_p99.has_value()},
                                                    {"limits.tpot_p99", limits.tpot_p99.has_value()},
                                                    {"limits.request_p99", limits.request_p99.has_value()},
                                                    {"limits.attainment", limits.attainment_ppm.has_value()},
                                                    {"limits.goodput", limits.goodput.has_value()}};
  for (size_t i = 0; i < limits.busbw.size(); ++i)
    keys.emplace_back(fmt::format("limits.busbw.{}", kLimitedOperations[i]), limits.busbw[i].has_value());
  for (const auto& [key, is_limited] : keys)
    if (is_limited)
      fail_key(root, key, "needs 'record.operations: all', without which nothing is known of single operations");
}

}  // namespace

void validate_limits(const RunConfig& config, const Tree& root) {
  if (!config.limits) return;
  const LimitsConfig& limits = *config.limits;
  const bool has_objectives = config.slo && (config.slo->ttft || config.slo->tpot || config.slo->latency);
  for (const auto& [key, is_limited] : {std::pair("limits.attainment", limits.attainment_ppm.has_value()),
                                        std::pair("limits.goodput", limits.goodput.has_value())})
    if (is_limited && !has_objectives) fail_key(root, key, "needs 'slo', which says what requests must keep");
  if (limits.message_p99 && config.messages == MessageRecording::kNone)
    fail_key(root, "limits.message_p99", "needs 'record.messages: sampled' or 'all', without which nobody times them");
  if (!config.record_operations) refuse_limits_of_operations(limits, root);
  const bool counts_packets =
      std::ranges::all_of(config.ports, [](const PortConfig& p) { return !p.is_rdma_device(); });
  if (limits.loss_ppm && !counts_packets)
    fail_key(root, "limits.loss_ppm", "needs ports whose packets are counted; RDMA devices keep theirs to themselves");
}

}  // namespace rankwire

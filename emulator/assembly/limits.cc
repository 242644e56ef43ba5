#include "emulator/assembly/limits.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "emulator/input/key_places.h"

namespace rankwire {
namespace {

bool carries_out(const Workload& workload, std::string_view kind) {
  return std::ranges::any_of(workload.ranks, [&](const RankTrace& rank) {
    return std::ranges::any_of(rank.nodes, [&](const Node& node) {
      return kind == (node.kind == NodeKind::kCollective ? to_string(node.collective) : to_string(node.kind));
    });
  });
}

}  // namespace

std::vector<LimitInfo> limit_infos(const LimitsConfig& limits) {
  std::vector<LimitInfo> list;
  const auto add = [&](const char* name, const auto& value) {
    if (value) list.push_back({name, static_cast<double>(*value)});
  };
  add("ratio", limits.ratio);
  add("retransmissions", limits.retransmissions);
  add("timeouts", limits.timeouts);
  add("loss_ppm", limits.loss_ppm);
  if (limits.message_p99) list.push_back({"message_p99", static_cast<double>(limits.message_p99->ps)});
  for (const auto& [name, limit] : {std::pair("ttft_p99", limits.ttft_p99), std::pair("tpot_p99", limits.tpot_p99),
                                    std::pair("request_p99", limits.request_p99)})
    if (limit) list.push_back({name, static_cast<double>(limit->ps)});
  if (limits.attainment_ppm) list.push_back({"attainment", *limits.attainment_ppm / 1e6});
  add("goodput", limits.goodput);
  for (size_t i = 0; i < limits.busbw.size(); ++i) {
    if (const auto& least = limits.busbw[i])
      list.push_back({std::string("busbw.") + kLimitedOperations[i], static_cast<double>(least->bits_per_second)});
  }
  return list;
}

void require_limited_operations(const RunConfig& config, const Workload& workload) {
  if (!config.limits) return;
  const LimitsConfig& limits = *config.limits;
  const bool of_requests =
      limits.ttft_p99 || limits.tpot_p99 || limits.request_p99 || limits.attainment_ppm || limits.goodput;
  if (of_requests && workload.marks.empty()) {
    fail_key(config.places, "limits",
             "the traces say nothing of requests (attributes request_arrival, request_token), "
             "so limits of theirs could not be kept");
  }
  for (size_t i = 0; i < kLimitedOperations.size(); ++i) {
    if (!config.limits->busbw[i] || carries_out(workload, kLimitedOperations[i])) continue;
    fail_key(config.places, std::string("limits.busbw.") + kLimitedOperations[i],
             "no rank carries such an operation out, so the limit could not be kept");
  }
}

}  // namespace rankwire

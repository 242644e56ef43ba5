#include "emulator/assembly/limits.h"

#include <string>

namespace rankwire {

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
  for (size_t i = 0; i < limits.busbw.size(); ++i) {
    if (const auto& least = limits.busbw[i])
      list.push_back({std::string("busbw.") + kLimitedOperations[i], static_cast<double>(least->bits_per_second)});
  }
  return list;
}

}  // namespace rankwire

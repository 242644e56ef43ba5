#include "base/device_metric.h"

#include <array>

namespace rankwire {
namespace {

constexpr std::array<const char*, 7> kNames = {"other",  "queue_depth", "ecn_marked", "pfc_rx",
                                               "pfc_tx", "drops",       "ignored"};

}  // namespace

const char* to_string(DeviceMetric metric) {
  return kNames[static_cast<size_t>(metric)];
}

std::optional<DeviceMetric> device_metric(std::string_view name) {
  for (size_t i = 0; i < kNames.size(); ++i)
    if (name == kNames[i]) return static_cast<DeviceMetric>(i);
  return std::nullopt;
}

}  // namespace rankwire

// What counters of a device under test are about.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace rankwire {

enum class DeviceMetric : uint8_t {
  kOther,       ///< kept by its own name
  kQueueDepth,  ///< bytes that wait: goes up and down
  kMarked,      ///< packets changed to ECN CE; this and the next count up
  kPfcRx,       ///< PFC and PAUSE frames that the port received
  kPfcTx,       ///< and sent
  kDrops,       ///< packets
  kIgnored,     ///< not kept
};

/// "other", "queue_depth", "ecn_marked", "pfc_rx", "pfc_tx", "drops", "ignored".
const char* to_string(DeviceMetric metric);
/// By these names; absent for any other.
std::optional<DeviceMetric> device_metric(std::string_view name);

/// Whether it goes up and down; others count.
inline bool is_gauge(DeviceMetric metric) {
  return metric == DeviceMetric::kQueueDepth;
}

}  // namespace rankwire

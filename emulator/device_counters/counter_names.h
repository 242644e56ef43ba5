// What a device calls its counters, and which metric that is.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/device_metric.h"

namespace rankwire {

struct CounterMeaning {
  DeviceMetric metric = DeviceMetric::kOther;
  std::string queue = {};  ///< that the name itself tells, "3" of SAI_PORT_STAT_PFC_3_RX_PKTS; otherwise empty
};

/// Constant once it is made.
class CounterNames {
 public:
  /// Names that are known without: those of the metrics, of OpenConfig (openconfig-qos, openconfig-interfaces,
  /// openconfig-if-ethernet) and of SONiC's COUNTERS_DB, which are SAI's (saiport.h, saiqueue.h).
  CounterNames() = default;
  /// `own` go before these.
  explicit CounterNames(std::map<std::string, DeviceMetric> own) : own_(std::move(own)) {}

  /// A name is known where it is the same, or ends with "/" and a known one. Of several the longest is it.
  CounterMeaning meaning(std::string_view name) const;

 private:
  std::map<std::string, DeviceMetric> own_;
};

}  // namespace rankwire

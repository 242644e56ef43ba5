// Counters of devices under test in the record.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/device_metric.h"
#include "base/units.h"

namespace rankwire {

/// A device, and how its counters were had.
struct DeviceInfo {
  std::string name, kind;  ///< kind: "command", "stream" or "gnmi"
  uint64_t samples = 0, failures = 0;
  uint64_t samples_together = 1;          ///< that a row stands for, as doubled when rows ran out
  uint64_t lost = 0;                      ///< values for which even that made no room
  bool stamped = false;                   ///< samples carry the device's own time
  std::optional<int64_t> clock_ahead_ns;  ///< of this machine's time of day, in the end; absent without stamps
  std::optional<Duration> round_trip;     ///< of a question to the device, the shortest
  uint32_t clock_steps = 0;               ///< times that the device's clock was set
};

/// A value of a counter; it holds until the next. Of a run that is stretched times are those of the run.
struct DeviceValueRow {
  Time time;                      ///< before the run it is negative
  std::optional<Duration> error;  ///< of the time, either way; absent: nothing bounds it
  uint64_t value = 0;
};

/// A counter of a device over time.
struct DeviceCounterRows {
  uint32_t device = 0;   ///< place in DeviceCounters::devices
  std::string port;      ///< as the device calls it
  std::string own_port;  ///< ours at its other end; empty: not known
  std::string queue;     ///< or priority; empty: of the whole port
  std::string name;
  DeviceMetric metric = DeviceMetric::kOther;
  std::vector<DeviceValueRow> values;  ///< in the order of time
};

struct DeviceCounters {
  std::vector<DeviceInfo> devices;
  std::vector<DeviceCounterRows> counters;
};

}  // namespace rankwire

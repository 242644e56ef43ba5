// What a hook prints of a device's counters: one JSON object a sample (docs/device-counters.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rankwire {

struct DeviceValue {
  std::string port;   ///< as the device calls it
  std::string queue;  ///< or priority; empty: of the whole port
  std::string name;   ///< of the counter
  uint64_t value = 0;

  bool operator==(const DeviceValue&) const = default;
};

struct DeviceSample {
  std::optional<int64_t> stamp_ns;       ///< when the device read its counters, by its clock; any time may be 0
  std::optional<int64_t> arrived_ns;     ///< at the program that prints it, by this machine's monotonic clock
  std::optional<int64_t> within_ns;      ///< so old it is at most when it is printed
  std::optional<int64_t> round_trip_ns;  ///< of a question to the device and its answer, the shortest so far
  std::vector<DeviceValue> values;
  std::string skipped = {};  ///< the first value that is no whole number from 0 to 2^64 - 1, "PORT: NAME"; empty: none
};

/// Throws Error(kRun) saying what is wrong for what is no such object, without the program's name.
DeviceSample parse_device_sample(std::string_view text);

}  // namespace rankwire

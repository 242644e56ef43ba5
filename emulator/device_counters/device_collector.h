// The devices under test whose counters are read beside a run.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "emulator/device_counters/device_source.h"

namespace rankwire {

/// Belongs to one thread, but for `so_far`; each device has a thread of its own.
class DeviceCollector {
 public:
  /// Begins to read. `interrupted` outlives it.
  DeviceCollector(std::vector<DeviceSourceOptions> devices, const std::atomic<bool>& interrupted);

  /// Waits until each device has given its first sample, or has failed to, at most as long as their patience: what they
  /// count before a run is what it begins with. Returns what failed, a text a device.
  std::vector<std::string> wait_for_first();
  /// Once: waits for the longest DeviceSourceOptions::settle, takes the last samples and ends. When `interrupted` is or
  /// becomes true there is no last sample. At most two calls of a device's patience.
  std::vector<DeviceReadings> finish();
  /// What was had until now; nothing once `finish` has taken it. Any thread.
  std::vector<DeviceReadings> so_far();

 private:
  const std::atomic<bool>& interrupted_;
  std::mutex taking_;  // guards that there are any of
  std::vector<std::unique_ptr<DeviceSource>> sources_;
};

/// What whoever runs is told of what was had of a device: failures, values that are no numbers, rows lost.
std::vector<std::string> device_warnings(const DeviceReadings& readings);

}  // namespace rankwire

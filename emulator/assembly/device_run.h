// Counters of the devices under test beside a run in real time, from the keys of `device_counters`.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/units.h"
#include "emulator/device_counters/device_collector.h"
#include "emulator/input/config.h"
#include "emulator/record/device_rows.h"
#include "emulator/record/live_measurements.h"
#include "emulator/record/recorder.h"

namespace rankwire {

/// How the devices of a configuration are asked. What asks by gNMI is the program rankwire-gnmi beside this one.
std::vector<DeviceSourceOptions> device_sources(const RunConfig& config);

/// Times of the steady clock as those of a run, whose clock is stretched `dilation` times.
class RunTimes {
 public:
  RunTimes(Clock& clock, uint32_t dilation);

  Time time(int64_t steady_ns) const;
  std::optional<Duration> error(const std::optional<int64_t>& ns) const;

 private:
  Time run_;
  int64_t steady_;
  int64_t dilation_;
};

/// What was had of them, on the run's clock.
DeviceCounters device_counters_of(const std::vector<DeviceReadings>& readings,
                                  const std::vector<DeviceCountersConfig>& devices, const RunTimes& times);
DeviceCounters device_counters_of(const std::vector<DeviceReadings>& readings,
                                  const std::vector<DeviceCountersConfig>& devices, Clock& clock, uint32_t dilation);

/// What whoever runs is told, beside device_warnings: ports of the configuration of which a device counted nothing.
std::vector<std::string> silent_ports(const DeviceCounters& counters, const std::vector<DeviceCountersConfig>& devices);

/// What they counted until the end of the run that `record` is of, which is told what is doubtful. Waits as
/// DeviceCollector::finish does.
DeviceCounters take_device_counters(DeviceCollector& collector, const RunConfig& config, Clock& clock,
                                    RunRecorder::Run& record);

/// What devices have counted by now, for the record of a run that goes on, so that it is there whatever ends it. All
/// that it is made from outlives it.
class LiveDeviceCounters final : public LiveMeasurements {
 public:
  LiveDeviceCounters(DeviceCollector& collector, const RunConfig& config) : collector_(collector), config_(config) {}

  /// The run's clock, which is the caller's thread's, goes from now on; before there is nothing to tell.
  void begin(Clock& clock);
  /// By the recorder's thread, some seconds apart: the more there is, the longer.
  std::optional<DeviceCounters> device_update() override;

 private:
  DeviceCollector& collector_;
  const RunConfig& config_;
  std::mutex mutex_;
  std::optional<RunTimes> times_;  // guarded by the mutex
  std::chrono::steady_clock::time_point next_{};
};

}  // namespace rankwire

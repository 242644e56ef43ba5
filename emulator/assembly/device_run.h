// Counters of the devices under test beside a run in real time, from the keys of `device_counters`.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "base/clock.h"
#include "emulator/device_counters/device_collector.h"
#include "emulator/input/config.h"
#include "emulator/record/device_rows.h"
#include "emulator/record/recorder.h"

namespace rankwire {

/// How the devices of a configuration are asked. What asks by gNMI is the program rankwire-gnmi beside this one.
std::vector<DeviceSourceOptions> device_sources(const RunConfig& config);

/// What was had of them, on the run's clock, which is stretched `dilation` times.
DeviceCounters device_counters_of(const std::vector<DeviceReadings>& readings,
                                  const std::vector<DeviceCountersConfig>& devices, Clock& clock, uint32_t dilation);

/// What whoever runs is told, beside device_warnings: ports of the configuration of which a device counted nothing.
std::vector<std::string> silent_ports(const DeviceCounters& counters, const std::vector<DeviceCountersConfig>& devices);

/// What they counted until the end of the run that `record` is of, which is told what is doubtful. Waits as
/// DeviceCollector::finish does.
DeviceCounters take_device_counters(DeviceCollector& collector, const RunConfig& config, Clock& clock,
                                    RunRecorder::Run& record);

}  // namespace rankwire

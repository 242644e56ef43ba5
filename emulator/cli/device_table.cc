#include "emulator/cli/device_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/clock.h"
#include "emulator/assembly/device_run.h"
#include "emulator/report/device_statistics.h"
#include "emulator/report/format.h"

namespace rankwire {
namespace {

using Json = nlohmann::ordered_json;

/// What was had of one device.
struct DeviceAnswer {
  std::set<std::string> ports;
  std::map<std::string, uint64_t> counters;  ///< by metric
};

DeviceAnswer device_answer(const DeviceCounters& counters, uint32_t device) {
  DeviceAnswer answer;
  for (const DeviceCounterRows& counter : counters.counters) {
    if (counter.device != device) continue;
    answer.ports.insert(counter.port);
    ++answer.counters[to_string(counter.metric)];
  }
  return answer;
}

std::string device_line(const DeviceInfo& device, const DeviceAnswer& answer, const std::optional<Duration>& error) {
  if (device.samples == 0) return fmt::format("device {}: no sample", device.name);
  std::vector<std::string> counters;
  for (const auto& [metric, count] : answer.counters) counters.push_back(fmt::format("{} {}", count, metric));
  return fmt::format("device {}: {}; counters: {}; times within {}", device.name, counted(answer.ports.size(), "port"),
                     fmt::join(counters, ", "), error ? readable(*error) : "what is not known");
}

}  // namespace

AskedDevices ask_devices(const RunConfig& config, const std::atomic<bool>& interrupted) {
  AskedDevices asked;
  if (config.device_counters.empty()) return asked;
  RealClock clock;
  std::vector<DeviceSourceOptions> sources = device_sources(config);
  for (DeviceSourceOptions& source : sources) source.settle = {};
  DeviceCollector collector(std::move(sources), interrupted);
  collector.wait_for_first();
  const std::vector<DeviceReadings> readings = collector.finish();
  const DeviceCounters counters = device_counters_of(readings, config.device_counters, clock, 1);
  for (uint32_t d = 0; d < counters.devices.size(); ++d) {
    for (std::string& warning : device_warnings(readings[d])) asked.warnings.push_back(std::move(warning));
    const DeviceInfo& device = counters.devices[d];
    const DeviceAnswer answer = device_answer(counters, d);
    const std::optional<Duration> error = clock_error_of(counters, d);
    asked.lines.push_back(device_line(device, answer, error));
    asked.json.push_back({{"device", device.name},
                          {"kind", device.kind},
                          {"samples", device.samples},
                          {"failures", device.failures},
                          {"ports", answer.ports},
                          {"counters", answer.counters},
                          {"clock_error_ps", error ? Json(error->ps) : Json(nullptr)}});
  }
  for (std::string& warning : silent_ports(counters, config.device_counters))
    asked.warnings.push_back(std::move(warning));
  return asked;
}

}  // namespace rankwire

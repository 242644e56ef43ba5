#include "emulator/assembly/device_run.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <optional>
#include <utility>

#include "base/device_metric.h"
#include "emulator/device_counters/device_clock.h"
#include "emulator/device_counters/gnmi_options.h"
#include "emulator/hooks/hook.h"

namespace rankwire {
namespace {

constexpr int64_t kLongestNs = 86'400'000'000'000;  // a day: what is farther away is told as that

std::chrono::milliseconds milliseconds_of(Duration time) {
  return std::chrono::milliseconds((time.ps + milliseconds(1).ps - 1) / milliseconds(1).ps);
}

CounterNames counter_names_of(const DeviceCountersConfig& device) {
  std::map<std::string, DeviceMetric> own;
  for (const auto& [name, metric] : device.metrics) own[name] = device_metric(metric).value_or(DeviceMetric::kOther);
  return CounterNames(std::move(own));
}

const char* gnmi_name(GnmiMode mode) {
  if (mode == GnmiMode::kOnChange) return "on_change";
  return mode == GnmiMode::kSample ? "sample" : "target_defined";
}

const char* gnmi_name(GnmiEncoding encoding) {
  if (encoding == GnmiEncoding::kJson) return "json";
  return encoding == GnmiEncoding::kProto ? "proto" : "json_ietf";
}

std::vector<std::string> gnmi_command(const DeviceCountersConfig& device) {
  const GnmiConfig& gnmi = *device.gnmi;
  GnmiOptions options{.target = gnmi.target,
                      .paths = gnmi.paths,
                      .path_target = gnmi.path_target,
                      .mode = gnmi_name(gnmi.mode),
                      .encoding = gnmi_name(gnmi.encoding),
                      .interval_ns = static_cast<uint64_t>(device.interval.ps / 1000),
                      .patience_ns = static_cast<uint64_t>(device.patience.ps / 1000),
                      .tls = gnmi.tls,
                      .ca = gnmi.ca,
                      .certificate = gnmi.certificate,
                      .key = gnmi.key,
                      .server_name = gnmi.server_name,
                      .username = gnmi.username,
                      .password_file = gnmi.password_file,
                      .ports = {}};
  for (const auto& [port, own] : device.ports) options.ports.push_back(port);
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe");
  return {(self.parent_path() / "rankwire-gnmi").string(), nlohmann::json(options).dump()};
}

int64_t ns_of(std::chrono::nanoseconds since) {
  return since.count();
}

DeviceInfo info_of(const DeviceReadings& readings, const DeviceClockFit& clock) {
  const DeviceSeries& series = readings.series;
  DeviceInfo info{.name = readings.name,
                  .kind = readings.kind,
                  .samples = readings.samples,
                  .failures = readings.failures,
                  .samples_together = series.samples_together(),
                  .lost = series.lost(),
                  .stamped = clock.ahead.has_value(),
                  .clock_ahead_ns = {},
                  .round_trip = {},
                  .clock_steps = clock.steps};
  if (clock.ahead) {
    const int64_t of_day = ns_of(std::chrono::system_clock::now().time_since_epoch()) -
                           ns_of(std::chrono::steady_clock::now().time_since_epoch());
    info.clock_ahead_ns = *clock.ahead - of_day;
  }
  if (readings.round_trip_ns) info.round_trip = Duration(std::min(*readings.round_trip_ns, kLongestNs) * 1000);
  return info;
}

}  // namespace

RunTimes::RunTimes(Clock& clock, uint32_t dilation)
    : run_(clock.now()), steady_(ns_of(std::chrono::steady_clock::now().time_since_epoch())), dilation_(dilation) {}

Time RunTimes::time(int64_t steady_ns) const {
  return run_ + Duration(std::clamp(steady_ns - steady_, -kLongestNs, kLongestNs) * 1000 / dilation_);
}

std::optional<Duration> RunTimes::error(const std::optional<int64_t>& ns) const {
  if (!ns) return std::nullopt;
  return Duration(std::clamp<int64_t>(*ns, 0, kLongestNs) * 1000 / dilation_);
}

std::vector<DeviceSourceOptions> device_sources(const RunConfig& config) {
  std::vector<DeviceSourceOptions> sources;
  for (const DeviceCountersConfig& device : config.device_counters) {
    DeviceSourceOptions& source = sources.emplace_back();
    source.name = device.name;
    source.kind = device.gnmi ? "gnmi" : device.stream ? "stream" : "command";
    if (device.gnmi) {
      source.stream = gnmi_command(device);
      source.may_be_silent = device.gnmi->mode != GnmiMode::kSample;
    } else if (device.stream) {
      source.stream = split_command(device.command);
    } else {
      source.command = device.command;
    }
    source.interval = milliseconds_of(device.interval);
    source.patience = milliseconds_of(device.patience);
    source.settle = milliseconds_of(device.settle);
    source.names = counter_names_of(device);
    source.rows = device.rows;
  }
  return sources;
}

DeviceCounters device_counters_of(const std::vector<DeviceReadings>& readings,
                                  const std::vector<DeviceCountersConfig>& devices, Clock& clock, uint32_t dilation) {
  return device_counters_of(readings, devices, RunTimes(clock, dilation));
}

DeviceCounters device_counters_of(const std::vector<DeviceReadings>& readings,
                                  const std::vector<DeviceCountersConfig>& devices, const RunTimes& times) {
  DeviceCounters all;
  for (uint32_t d = 0; d < readings.size(); ++d) {
    const DeviceSeries& series = readings[d].series;
    const DeviceClockFit fitted = fit_device_clock(series.samples(), readings[d].round_trip_ns);
    all.devices.push_back(info_of(readings[d], fitted));
    const size_t first = all.counters.size();
    for (const DeviceSeries::Series& of : series.series()) {
      const auto own = devices[d].ports.find(of.port);
      all.counters.push_back({.device = d,
                              .port = of.port,
                              .own_port = own == devices[d].ports.end() ? std::string() : own->second,
                              .queue = of.queue,
                              .name = of.name,
                              .metric = of.metric,
                              .values = {}});
    }
    for (const DeviceSeries::Row& row : series.rows()) {
      const SampleTime& sample = fitted.times[row.sample];
      all.counters[first + row.series].values.push_back({times.time(sample.at), times.error(sample.error), row.value});
    }
  }
  // A clock that was set back may have put one sample before another.
  for (DeviceCounterRows& counter : all.counters) std::ranges::stable_sort(counter.values, {}, &DeviceValueRow::time);
  return all;
}

std::vector<std::string> silent_ports(const DeviceCounters& counters,
                                      const std::vector<DeviceCountersConfig>& devices) {
  std::vector<std::string> warnings;
  for (uint32_t d = 0; d < devices.size(); ++d) {
    if (counters.devices[d].samples == 0) continue;  // of which is told
    std::vector<std::string> silent;
    for (const auto& [port, own] : devices[d].ports) {
      const auto is_it = [&, name = port](const DeviceCounterRows& c) { return c.device == d && c.port == name; };
      if (std::ranges::none_of(counters.counters, is_it)) silent.push_back("'" + port + "'");
    }
    if (!silent.empty())
      warnings.push_back(
          fmt::format("device_counters '{}': nothing was counted of {}", devices[d].name, fmt::join(silent, ", ")));
  }
  return warnings;
}

DeviceCounters take_device_counters(DeviceCollector& collector, const RunConfig& config, Clock& clock,
                                    RunRecorder::Run& record) {
  const std::vector<DeviceReadings> readings = collector.finish();
  DeviceCounters counters = device_counters_of(readings, config.device_counters, clock, config.dilation.factor);
  for (const DeviceReadings& of_device : readings)
    for (const std::string& warning : device_warnings(of_device)) record.warning(warning);
  for (const std::string& warning : silent_ports(counters, config.device_counters)) record.warning(warning);
  return counters;
}

void LiveDeviceCounters::begin(Clock& clock) {
  const std::lock_guard lock(mutex_);
  times_.emplace(clock, config_.dilation.factor);
}

std::optional<DeviceCounters> LiveDeviceCounters::device_update() {
  // All is written again each time, which the thread that records a run is to spend a hundredth of its time on.
  constexpr std::chrono::microseconds kBetweenRows{200};
  constexpr std::chrono::seconds kBetween{1};
  const auto now = std::chrono::steady_clock::now();
  if (now < next_) return std::nullopt;
  const std::lock_guard lock(mutex_);
  if (!times_) return std::nullopt;
  const std::vector<DeviceReadings> readings = collector_.so_far();
  if (readings.empty()) return std::nullopt;
  DeviceCounters counters = device_counters_of(readings, config_.device_counters, *times_);
  size_t rows = 0;
  for (const DeviceCounterRows& counter : counters.counters) rows += counter.values.size();
  next_ = now + std::max<std::chrono::steady_clock::duration>(kBetween, rows * kBetweenRows);
  return counters;
}

}  // namespace rankwire

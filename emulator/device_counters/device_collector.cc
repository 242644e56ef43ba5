#include "emulator/device_counters/device_collector.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

namespace rankwire {
namespace {

constexpr std::chrono::milliseconds kLook{5};

}  // namespace

DeviceCollector::DeviceCollector(std::vector<DeviceSourceOptions> devices, const std::atomic<bool>& interrupted)
    : interrupted_(interrupted) {
  for (DeviceSourceOptions& device : devices) sources_.push_back(std::make_unique<DeviceSource>(std::move(device)));
}

std::vector<std::string> DeviceCollector::wait_for_first() {
  const auto begin = std::chrono::steady_clock::now();
  std::vector<std::string> troubles;
  for (const auto& source : sources_) {
    // What it starts has its own time, in which it fails.
    const auto latest = begin + source->options().patience + std::chrono::seconds(1);
    while (!source->has_begun() && !interrupted_ && std::chrono::steady_clock::now() < latest)
      std::this_thread::sleep_for(kLook);
    if (std::string trouble = source->trouble(); !trouble.empty()) troubles.push_back(std::move(trouble));
  }
  return troubles;
}

std::vector<DeviceReadings> DeviceCollector::finish() {
  std::chrono::milliseconds settle{0};
  for (const auto& source : sources_) settle = std::max(settle, source->options().settle);
  const auto settled = std::chrono::steady_clock::now() + settle;
  while (!interrupted_ && std::chrono::steady_clock::now() < settled) std::this_thread::sleep_for(kLook);
  for (const auto& source : sources_) source->end();
  const auto has_ended = [](const auto& source) { return source->has_ended(); };
  while (!interrupted_ && !std::ranges::all_of(sources_, has_ended)) std::this_thread::sleep_for(kLook);
  std::vector<DeviceReadings> readings;
  for (const auto& source : sources_) source->stop();
  const std::lock_guard lock(taking_);
  for (const auto& source : sources_) readings.push_back(source->take());
  sources_.clear();
  return readings;
}

std::vector<DeviceReadings> DeviceCollector::so_far() {
  const std::lock_guard lock(taking_);
  std::vector<DeviceReadings> readings;
  for (const auto& source : sources_) readings.push_back(source->so_far());
  return readings;
}

std::vector<std::string> device_warnings(const DeviceReadings& readings) {
  std::vector<std::string> warnings;
  const auto warn = [&](std::string text) {
    warnings.push_back(fmt::format("device_counters '{}': {}", readings.name, text));
  };
  if (readings.failures > 0)
    warn(fmt::format("{} of {} samples failed; the first: {}", readings.failures, readings.failures + readings.samples,
                     readings.first_failure));
  if (!readings.skipped.empty())
    warn(fmt::format("values that are no whole numbers are left out; the first: {}", readings.skipped));
  if (readings.series.lost() > 0)
    warn(
        fmt::format("{} values of counters are not in the record, which has no row for them: raise 'rows', to two for "
                    "each counter at least",
                    readings.series.lost()));
  return warnings;
}

}  // namespace rankwire

#include "emulator/report/timeline_devices.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace rankwire {
namespace {

struct DrawnValue {
  Time time;
  uint64_t value = 0;
};

/// As they are drawn: nothing is before the run, and what counts up begins with 0.
std::vector<DrawnValue> drawn_values(const DeviceCounterRows& counter) {
  const bool is_told = is_gauge(counter.metric) || counter.metric == DeviceMetric::kOther;
  std::vector<DrawnValue> drawn;
  std::optional<uint64_t> before;
  uint64_t grown = 0;
  for (const DeviceValueRow& row : counter.values) {
    if (row.time < Time()) {
      before = row.value;
      continue;
    }
    if (drawn.empty() && before && row.time > Time()) drawn.push_back({Time(), is_told ? *before : 0});
    if (before) grown += row.value < *before ? row.value : row.value - *before;
    before = row.value;
    drawn.push_back({row.time, is_told ? row.value : grown});
  }
  if (drawn.empty() && before) drawn.push_back({Time(), is_told ? *before : 0});
  return drawn;
}

std::string track_name(const DeviceCounters& all, const DeviceCounterRows& counter) {
  return fmt::format("{} {}{}{} {}", all.devices[counter.device].name, counter.port,
                     counter.own_port.empty() ? "" : fmt::format(" (to {})", counter.own_port),
                     counter.queue.empty() ? "" : fmt::format(" queue {}", counter.queue), counter.name);
}

}  // namespace

DrawnOf write_device_counters(TraceEvents& events, const RunReader& record, size_t most) {
  const RecordedRun* const run = record.emulated();
  if (run == nullptr) return {};
  const DeviceCounters all = record.device_counters(*run);
  size_t samples = 0;
  for (const DeviceCounterRows& counter : all.counters) samples += counter.values.size();
  if (samples == 0) return {};
  events.name("process_name", kDeviceProcess, 0, "devices");
  events.sort("process_sort_index", kDeviceProcess, 0, kDeviceProcess);
  const size_t stride = (samples + most - 1) / most;
  DrawnOf result;
  for (const DeviceCounterRows& counter : all.counters) {
    const std::string name = track_name(all, counter);
    const std::vector<DrawnValue> values = drawn_values(counter);
    for (size_t from = 0; from < values.size(); from += stride) {
      const size_t to = std::min(from + stride, values.size());
      DrawnValue drawn = values[to - 1];
      if (is_gauge(counter.metric))
        for (size_t i = from; i < to; ++i)
          if (values[i].value > drawn.value) drawn = values[i];
      events.counter(kDeviceProcess, name, drawn.time, "value", drawn.value);
      ++result.drawn;
      result.left_out += to - from - 1;
    }
  }
  return result;
}

}  // namespace rankwire

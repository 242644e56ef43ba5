// The counters of a device over time, in bounded memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "base/device_metric.h"
#include "emulator/device_counters/counter_names.h"
#include "emulator/device_counters/device_clock.h"
#include "emulator/device_counters/sample_line.h"

namespace rankwire {

/// Belongs to one thread. Where rows run out, two samples that follow each other become one, and so on: of counters
/// what the later one says, of queues the longest.
class DeviceSeries {
 public:
  struct Series {
    std::string port, queue, name;
    DeviceMetric metric = DeviceMetric::kOther;
  };
  /// A value of a sample; without a row a counter is what it was. What goes up and down has a row in each sample.
  struct Row {
    uint32_t sample = 0, series = 0;  ///< places in samples() and series()
    uint64_t value = 0;
  };

  /// `rows` >= 2: the most of them, and of samples; half as many series.
  DeviceSeries(CounterNames names, size_t rows) : names_(std::move(names)), most_(rows) {}

  void add(const SampleTimes& times, std::span<const DeviceValue> values);

  const std::vector<Series>& series() const { return series_; }
  const std::vector<SampleTimes>& samples() const { return samples_; }
  const std::vector<Row>& rows() const { return rows_; }   ///< in the order of samples
  uint64_t lost() const { return lost_; }                  ///< values of series for which there was no room
  uint64_t samples_together() const { return together_; }  ///< that a sample stands for

 private:
  struct Last {
    uint64_t value = 0;
    uint32_t row = 0, sample = kNone;  ///< its last row, of this sample; none yet
  };
  static constexpr uint32_t kNone = UINT32_MAX;

  uint32_t number_of(const DeviceValue& value);
  void take(uint32_t number, uint64_t value);
  void halve();

  const CounterNames names_;
  const size_t most_;
  std::map<std::tuple<std::string, std::string, std::string>, uint32_t> numbers_;  ///< kNone: ignored
  std::vector<Series> series_;
  std::vector<Last> last_;
  std::vector<SampleTimes> samples_;
  std::vector<Row> rows_;
  uint64_t lost_ = 0, together_ = 1, count_ = 0;
};

}  // namespace rankwire

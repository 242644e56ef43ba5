#include "emulator/device_counters/device_series.h"

#include <algorithm>
#include <utility>

namespace rankwire {

void DeviceSeries::add(const SampleTimes& times, std::span<const DeviceValue> values) {
  while (samples_.size() + 1 > most_ || (rows_.size() + values.size() > most_ && samples_.size() > 1)) halve();
  if (count_++ % together_ == 0 || samples_.empty()) {
    samples_.push_back(times);
  } else {
    samples_.back() = times;
  }
  for (const DeviceValue& value : values) {
    const uint32_t number = number_of(value);
    if (number != kNone) take(number, value.value);
  }
}

uint32_t DeviceSeries::number_of(const DeviceValue& value) {
  const auto known = numbers_.find({value.port, value.queue, value.name});
  if (known != numbers_.end()) return known->second;
  if (series_.size() >= most_ / 2) {
    ++lost_;
    return kNone;
  }
  const CounterMeaning meaning = names_.meaning(value.name);
  const bool is_kept = meaning.metric != DeviceMetric::kIgnored;
  const uint32_t number = is_kept ? static_cast<uint32_t>(series_.size()) : kNone;
  if (numbers_.size() < most_) numbers_.emplace(std::tuple(value.port, value.queue, value.name), number);
  if (!is_kept) return kNone;
  series_.push_back({value.port, value.queue.empty() ? meaning.queue : value.queue, value.name, meaning.metric});
  last_.emplace_back();
  return number;
}

void DeviceSeries::take(uint32_t number, uint64_t value) {
  Last& last = last_[number];
  const auto sample = static_cast<uint32_t>(samples_.size() - 1);
  const bool is_up_and_down = is_gauge(series_[number].metric);
  if (last.sample == sample) {
    uint64_t& known = rows_[last.row].value;
    known = is_up_and_down ? std::max(known, value) : value;
  } else if (is_up_and_down || last.sample == kNone || last.value != value) {
    last.row = static_cast<uint32_t>(rows_.size()), last.sample = sample;
    rows_.push_back({sample, number, value});
  }
  last.value = value;
}

void DeviceSeries::halve() {
  together_ *= 2;
  count_ = samples_.size() % 2 == 0 ? 0 : together_ / 2;
  for (size_t i = 0; i < samples_.size(); ++i) samples_[i / 2] = samples_[i];
  samples_.resize((samples_.size() + 1) / 2);
  for (Last& last : last_) last.sample = kNone;
  std::vector<Row> rows;
  for (const Row& row : rows_) {
    Last& last = last_[row.series];
    const uint32_t sample = row.sample / 2;
    if (last.sample == sample) {
      uint64_t& known = rows[last.row].value;
      known = is_gauge(series_[row.series].metric) ? std::max(known, row.value) : row.value;
      continue;
    }
    last.row = static_cast<uint32_t>(rows.size()), last.sample = sample;
    rows.push_back({sample, row.series, row.value});
  }
  rows_ = std::move(rows);
}

}  // namespace rankwire

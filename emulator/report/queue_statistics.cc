#include "emulator/report/queue_statistics.h"

#include <algorithm>
#include <map>
#include <utility>

#include "emulator/report/column_plots.h"

namespace rankwire {
namespace {

/// The queue as its last sample left it, while samples are read.
class Reading {
 public:
  Reading(std::string name, uint8_t priority, Time end) : end_(end) {
    queue_.name = std::move(name);
    queue_.priority = priority;
    queue_.columns.resize(kPlotColumns);
  }

  void add(const QueueSampleRow& row) {
    hold_until(row.time);
    length_ = row.length, paused_ = row.paused;
    ++queue_.samples;
    queue_.longest = std::max(queue_.longest, row.length);
    queue_.marks += row.marks, queue_.drops += row.drops;
    queue_.xoff_rx += row.xoff_rx, queue_.xoff_tx += row.xoff_tx;
    QueueStatistics::Column& column = queue_.columns[plot_column_of(row.time, end_)];
    column.known = true;
    column.longest = std::max(column.longest, row.length);
    column.paused |= row.paused || row.xoff_rx > 0;
    column.marked |= row.marks > 0;
    column.dropped |= row.drops > 0;
  }

  QueueStatistics finish() && {
    hold_until(end_);
    queue_.mean = area_ / static_cast<double>(end_.ps);
    return std::move(queue_);
  }

 private:
  void hold_until(Time at) {
    const Time until = std::clamp(at, since_, end_);
    area_ += static_cast<double>(length_.count) * static_cast<double>((until - since_).ps);
    if (until > since_ && (length_ > Bytes() || paused_)) {
      const size_t last = plot_column_of(until - Duration(1), end_);
      for (size_t c = plot_column_of(since_, end_); c <= last; ++c) {
        QueueStatistics::Column& column = queue_.columns[c];
        column.longest = std::max(column.longest, length_);
        column.paused |= paused_;
        column.known = true;
      }
    }
    since_ = until;
  }

  QueueStatistics queue_;
  Time end_, since_;
  Bytes length_;
  bool paused_ = false;
  double area_ = 0;  // byte picoseconds
};

}  // namespace

std::vector<QueueStatistics> queue_statistics(const QueueSampling& sampling, Time end) {
  std::vector<Reading> readings;
  std::map<std::pair<uint32_t, uint8_t>, size_t> places;
  for (const QueueSampleRow& row : sampling.rows) {
    const auto [place, added] = places.try_emplace({row.port, row.priority}, readings.size());
    if (added) readings.emplace_back(sampling.ports[row.port], row.priority, end);
    readings[place->second].add(row);
  }
  std::vector<QueueStatistics> queues;
  for (Reading& reading : readings) queues.push_back(std::move(reading).finish());
  std::ranges::stable_sort(queues, std::ranges::greater(), &QueueStatistics::longest);
  return queues;
}

}  // namespace rankwire

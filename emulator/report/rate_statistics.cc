#include "emulator/report/rate_statistics.h"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

#include "emulator/report/column_plots.h"

namespace rankwire {
namespace {

double rate_of(Bytes bytes, Duration time) {
  return static_cast<double>(bytes.count) * 8e12 / static_cast<double>(time.ps);
}

/// Adds a rate that lasts from `from` to `to` to the means of the columns that it overlaps.
void add_rate(std::vector<double>& columns, double rate, Time from, Time to, Time end) {
  const double width = static_cast<double>(end.ps) / static_cast<double>(kPlotColumns);
  const size_t last = plot_column_of(to - Duration(1), end);
  for (size_t c = plot_column_of(from, end); c <= last; ++c) {
    const double begin = std::max(static_cast<double>(from.ps), static_cast<double>(c) * width);
    const double stop = std::min(static_cast<double>(to.ps), static_cast<double>(c + 1) * width);
    columns[c] += rate * std::max(stop - begin, 0.0) / width;
  }
}

/// A queue pair as its last sample left it, while samples are read.
class AllowanceReading {
 public:
  AllowanceReading(const AllowanceRow& first, Time end) : end_(end) {
    of_.connection = first.connection, of_.member = first.member;
    of_.source = first.source, of_.destination = first.destination;
    of_.lowest_rate = first.lowest_rate, of_.smallest_window = first.smallest_window;
    of_.rate_column.resize(kPlotColumns), of_.window_column.resize(kPlotColumns);
    since_ = std::min(first.time, end);
    began_ = since_;
  }

  void add(const AllowanceRow& row) {
    hold_until(row.time);
    ++of_.samples;
    of_.lowest_rate = std::min(of_.lowest_rate, row.lowest_rate);
    if (row.smallest_window)
      of_.smallest_window = std::min(of_.smallest_window.value_or(*row.smallest_window), *row.smallest_window);
    rate_ = static_cast<double>(row.rate.bits_per_second);
    window_ = row.window ? static_cast<double>(row.window->count) : 0;
    note(plot_column_of(row.time - Duration(1), end_), static_cast<double>(row.lowest_rate.bits_per_second),
         row.smallest_window ? static_cast<double>(row.smallest_window->count) : 0);
  }

  AllowanceStatistics finish() && {
    hold_until(end_);
    const auto time = static_cast<double>((end_ - began_).ps);
    of_.mean_rate = time > 0 ? rate_area_ / time : rate_;
    if (of_.smallest_window) of_.mean_window = time > 0 ? window_area_ / time : window_;
    return std::move(of_);
  }

 private:
  void hold_until(Time at) {
    const Time until = std::clamp(at, since_, end_);
    const auto time = static_cast<double>((until - since_).ps);
    rate_area_ += rate_ * time, window_area_ += window_ * time;
    if (until > since_ && of_.samples > 0) {
      const size_t last = plot_column_of(until - Duration(1), end_);
      for (size_t c = plot_column_of(since_, end_); c <= last; ++c) note(c, rate_, window_);
    }
    since_ = until;
  }

  void note(size_t column, double rate, double window) {
    const auto lower = [](double& known, double value) { known = known == 0 ? value : std::min(known, value); };
    lower(of_.rate_column[column], rate);
    lower(of_.window_column[column], window);
  }

  AllowanceStatistics of_;
  Time end_, began_, since_;
  double rate_ = 0, window_ = 0;            // as they are
  double rate_area_ = 0, window_area_ = 0;  // times picoseconds
};

}  // namespace

std::vector<PortRateStatistics> port_rate_statistics(const RateSampling& rates, Time end) {
  std::map<PortId, PortRateStatistics> known;
  for (const PortRateRow& row : rates.ports) {
    PortRateStatistics& port = known[row.port];
    port.port = row.port;
    port.tx_column.resize(kPlotColumns), port.rx_column.resize(kPlotColumns);
    port.tx += row.tx, port.rx += row.rx;
    const double tx = rate_of(row.tx, rates.port_interval), rx = rate_of(row.rx, rates.port_interval);
    port.highest_tx = std::max(port.highest_tx, tx), port.highest_rx = std::max(port.highest_rx, rx);
    const Time from = row.time - rates.port_interval;
    if (from >= end) continue;  // what comes after the last operation
    add_rate(port.tx_column, tx, from, std::min(row.time, end), end);
    add_rate(port.rx_column, rx, from, std::min(row.time, end), end);
  }
  std::vector<PortRateStatistics> ports;
  for (auto& [number, port] : known) ports.push_back(std::move(port));
  std::ranges::stable_sort(ports, std::ranges::greater(), &PortRateStatistics::tx);
  return ports;
}

std::vector<AllowanceStatistics> allowance_statistics(const RateSampling& rates, Time end) {
  std::map<std::pair<ConnectionId, uint16_t>, AllowanceReading> readings;
  for (const AllowanceRow& row : rates.allowances)
    readings.try_emplace({row.connection, row.member}, row, end).first->second.add(row);
  std::vector<AllowanceStatistics> queue_pairs;
  for (auto& [key, reading] : readings) queue_pairs.push_back(std::move(reading).finish());
  std::ranges::stable_sort(queue_pairs, {}, [](const AllowanceStatistics& of) {
    return std::pair(of.mean_rate, of.mean_window.value_or(std::numeric_limits<double>::max()));
  });
  return queue_pairs;
}

}  // namespace rankwire

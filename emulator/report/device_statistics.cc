#include "emulator/report/device_statistics.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "emulator/report/column_plots.h"
#include "emulator/report/format.h"

namespace rankwire {
namespace {

constexpr double kAgreement = 0.1;

/// What one counter grew by from time 0 on, and where.
struct Growth {
  uint64_t amount = 0;
  std::vector<Time> at;
};

Growth growth_of(const DeviceCounterRows& counter) {
  Growth growth;
  for (size_t i = 1; i < counter.values.size(); ++i) {
    const DeviceValueRow& row = counter.values[i];
    const uint64_t before = counter.values[i - 1].value;
    const uint64_t change = row.value >= before ? row.value - before : row.value;
    if (row.time <= Time() || change == 0) continue;
    growth.amount += change;
    growth.at.push_back(row.time);
  }
  return growth;
}

/// Counters of one port and metric: of its queues, and of the port as a whole, which may be the same frames.
struct Sums {
  uint64_t queues = 0, whole = 0;

  uint64_t amount() const { return std::max(queues, whole); }
};

class PortReading {
 public:
  PortReading(std::string device, const DeviceCounterRows& first, Time end) : end_(end) {
    of_.device = std::move(device), of_.port = first.port, of_.own_port = first.own_port;
    of_.queue_column.resize(kPlotColumns);
    for (std::vector<bool>* column : {&of_.marked_column, &of_.paused_column, &of_.dropped_column})
      column->resize(kPlotColumns);
  }

  void add(const DeviceCounterRows& counter) {
    if (counter.metric == DeviceMetric::kOther || counter.metric == DeviceMetric::kIgnored) return;
    if (is_gauge(counter.metric)) return add_queue(counter);
    const Growth growth = growth_of(counter);
    Sums& sums = sums_[counter.metric];
    (counter.queue.empty() ? sums.whole : sums.queues) += growth.amount;
    std::vector<bool>& column = column_of(counter.metric);
    for (const Time time : growth.at) column[plot_column_of(time, end_)] = true;
  }

  DevicePortStatistics finish() && {
    for (const auto& [metric, value] :
         {std::pair(DeviceMetric::kMarked, &of_.marked), std::pair(DeviceMetric::kPfcRx, &of_.pfc_rx),
          std::pair(DeviceMetric::kPfcTx, &of_.pfc_tx), std::pair(DeviceMetric::kDrops, &of_.dropped)})
      if (const auto sums = sums_.find(metric); sums != sums_.end()) *value = sums->second.amount();
    return std::move(of_);
  }

 private:
  std::vector<bool>& column_of(DeviceMetric metric) {
    if (metric == DeviceMetric::kMarked) return of_.marked_column;
    return metric == DeviceMetric::kDrops ? of_.dropped_column : of_.paused_column;
  }

  /// Each sample holds until the next.
  void add_queue(const DeviceCounterRows& counter) {
    for (size_t i = 0; i < counter.values.size(); ++i) {
      const DeviceValueRow& row = counter.values[i];
      of_.longest_queue = std::max(of_.longest_queue.value_or(0), row.value);
      const Time until = i + 1 < counter.values.size() ? counter.values[i + 1].time : end_;
      if (until <= Time() || row.time >= end_ || row.value == 0) continue;
      const size_t last = plot_column_of(std::max(until - Duration(1), row.time), end_);
      for (size_t c = plot_column_of(row.time, end_); c <= last; ++c)
        of_.queue_column[c] = std::max(of_.queue_column[c], static_cast<double>(row.value));
    }
  }

  DevicePortStatistics of_;
  const Time end_;
  std::map<DeviceMetric, Sums> sums_;
};

/// Both sides of one metric. `counted`: whether any device counts it.
struct BothCounted {
  bool counted = false;
  uint64_t device = 0, own = 0;

  bool differ() const {
    const auto larger = static_cast<double>(std::max(device, own)),
               smaller = static_cast<double>(std::min(device, own));
    return larger - smaller > kAgreement * larger;
  }
};

void add_counted(BothCounted& sides, const std::optional<uint64_t>& counted) {
  if (!counted) return;
  sides.counted = true;
  sides.device += *counted;
}

std::string drops_sentence(const std::string& who, const BothCounted& drops) {
  if (!drops.counted || !drops.differ()) return {};
  if (drops.own == 0)
    return fmt::format("{} counted {}, and none of the run's data packets was lost: acknowledgements, or others'", who,
                       counted(drops.device, "drop"));
  if (drops.device >= drops.own) return {};
  return fmt::format("{} counted {}, and {} were lost: elsewhere, or where it does not count", who,
                     counted(drops.device, "drop"), counted(drops.own, "data packet"));
}

std::string marks_sentence(const std::string& who, const BothCounted& marks) {
  if (!marks.counted || !marks.differ()) return {};
  return fmt::format("{} counted {}, and {} arrived marked", who, counted(marks.device, "ECN mark"),
                     counted(marks.own, "packet"));
}

std::string pauses_sentence(const std::string& who, const BothCounted& pauses) {
  if (!pauses.counted || !pauses.differ()) return {};
  return fmt::format("{} counted {} sent to our ports, which received {}", who, counted(pauses.device, "PFC frame"),
                     pauses.own);
}

}  // namespace

std::vector<DevicePortStatistics> device_port_statistics(const DeviceCounters& counters, Time end) {
  std::map<std::pair<uint32_t, std::string>, size_t> places;
  std::vector<PortReading> readings;
  for (const DeviceCounterRows& counter : counters.counters) {
    const auto [place, is_new] = places.try_emplace({counter.device, counter.port}, readings.size());
    if (is_new) readings.emplace_back(counters.devices[counter.device].name, counter, end);
    readings[place->second].add(counter);
  }
  std::vector<DevicePortStatistics> ports;
  for (PortReading& reading : readings) ports.push_back(std::move(reading).finish());
  return ports;
}

std::optional<OwnPortView> own_port_view(const RunReader& record, const RecordedRun& run, const std::string& port) {
  std::optional<OwnPortView> view;
  PortId number;
  for (const PortCounters& counters : record.ports(run)) {
    // The switch's have the same numbers and come later.
    if (counters.name != port || (view && counters.port != number)) continue;
    if (!view) view.emplace(), number = counters.port;
    view->pause_rx += counters.pause_rx, view->pause_tx += counters.pause_tx;
  }
  if (!view) return std::nullopt;
  const std::vector<RankNic> nics = record.rank_nics(run);
  record.for_each_pair(run, [&](const PairTraffic& pair) {
    if (pair.destination.value >= nics.size() || nics[pair.destination.value].port != number) return;
    view->marks += pair.marks, view->lost += pair.lost;
  });
  return view;
}

std::optional<Duration> clock_error_of(const DeviceCounters& counters, uint32_t device) {
  std::optional<Duration> largest;
  for (const DeviceCounterRows& counter : counters.counters) {
    if (counter.device != device) continue;
    for (const DeviceValueRow& row : counter.values) {
      if (!row.error) return std::nullopt;
      largest = std::max(largest.value_or(*row.error), *row.error);
    }
  }
  return largest;
}

std::vector<std::string> device_disagreements(const RunReader& record) {
  std::vector<std::string> sentences;
  const RecordedRun* const run = record.emulated();
  if (run == nullptr || !run->ended) return sentences;
  const DeviceCounters counters = record.device_counters(*run);
  if (counters.counters.empty()) return sentences;
  BothCounted drops, marks, pauses;
  for (const DevicePortStatistics& port : device_port_statistics(counters, Time(1))) {
    add_counted(drops, port.dropped), add_counted(marks, port.marked);
    if (port.own_port.empty() || !port.pfc_tx) continue;
    const std::optional<OwnPortView> own = own_port_view(record, *run, port.own_port);
    if (own) add_counted(pauses, port.pfc_tx), pauses.own += own->pause_rx;
  }
  record.for_each_pair(*run, [&](const PairTraffic& pair) { drops.own += pair.lost, marks.own += pair.marks; });
  const std::string who = counters.devices.size() == 1 ? counters.devices[0].name : "the devices together";
  for (const std::string& sentence :
       {drops_sentence(who, drops), marks_sentence(who, marks), pauses_sentence(who, pauses)})
    if (!sentence.empty()) sentences.push_back(sentence);
  return sentences;
}

}  // namespace rankwire

#include "emulator/report/timeline_rates.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "emulator/diagnosis/port_shares.h"
#include "emulator/report/port_names.h"
#include "emulator/report/rank_names.h"

namespace rankwire {
namespace {

/// Bytes of one direction of a port, by interval.
class Line {
 public:
  Line(Duration interval, size_t intervals) : interval_(interval), bytes_(intervals) {}

  /// They go evenly between the two times.
  void add(Time from, Time to, Bytes bytes) {
    if (to <= from) to = from + Duration(1);
    const double rate = static_cast<double>(bytes.count) / static_cast<double>((to - from).ps);
    for (size_t i = place_of(from); i <= place_of(to); ++i) {
      const Time begin = Time() + interval_ * static_cast<int64_t>(i);
      const Duration within = std::min(to, begin + interval_) - std::max(from, begin);
      bytes_[i] += rate * static_cast<double>(std::max(within, Duration()).ps);
    }
  }
  /// Of an interval, bits a second.
  uint64_t rate(size_t i) const {
    return static_cast<uint64_t>(std::llround(bytes_[i] * 8e12 / static_cast<double>(interval_.ps)));
  }

 private:
  size_t place_of(Time time) const {
    const int64_t place = std::max<int64_t>(0, (time - Time()).ps / interval_.ps);
    return std::min(static_cast<size_t>(place), bytes_.size() - 1);
  }

  const Duration interval_;
  std::vector<double> bytes_;
};

/// A port and a direction; false: sent.
using LineOf = std::pair<PortId, bool>;
/// So much passed it evenly between two times.
using VisitPassed = std::function<void(const LineOf& line, Time from, Time to, Bytes bytes)>;

void for_each_sampled(const RateSampling& rates, const VisitPassed& visit) {
  for (const PortRateRow& row : rates.ports) {
    visit({row.port, false}, row.time - rates.port_interval, row.time, row.tx);
    visit({row.port, true}, row.time - rates.port_interval, row.time, row.rx);
  }
}

void for_each_in_messages(const RunReader& record, const RecordedRun& run, const VisitPassed& visit) {
  const std::vector<RankNic> nics = record.rank_nics(run);
  record.for_each_message(run, [&](const JoinedMessage& message) {
    const RankId source(static_cast<uint32_t>(message.id.source));
    const RankId destination(static_cast<uint32_t>(message.id.destination));
    if (!meet_in_the_network(nics, source, destination)) return;
    visit({nics[source.value].port, false}, message.posted, message.delivered, message.bytes);
    visit({nics[destination.value].port, true}, message.posted, message.delivered, message.bytes);
  });
}

/// Counters of one queue pair. Values hold until the next.
class AllowanceTrack {
 public:
  AllowanceTrack(TraceEvents& events, std::string name, size_t stride)
      : events_(events), name_(std::move(name)), stride_(stride) {}

  void add(const AllowanceRow& row) {
    const auto key = [](const AllowanceRow& r) { return std::pair(r.rate, r.window.value_or(Bytes())); };
    if (held_ == 0 || key(row) < key(lowest_)) lowest_ = row;
    if (++held_ == stride_) write();
  }
  /// What is still held; the number of samples that were written.
  uint64_t finish() {
    if (held_ > 0) write();
    return written_;
  }

 private:
  void write() {
    events_.counter(kAllowanceProcess, name_ + " rate", lowest_.time, "bit/s",
                    static_cast<uint64_t>(lowest_.rate.bits_per_second));
    if (lowest_.window)
      events_.counter(kAllowanceProcess, name_ + " window", lowest_.time, "bytes",
                      static_cast<uint64_t>(lowest_.window->count));
    held_ = 0;
    ++written_;
  }

  TraceEvents& events_;
  const std::string name_;
  const size_t stride_;
  AllowanceRow lowest_;
  size_t held_ = 0;
  uint64_t written_ = 0;
};

}  // namespace

DrawnRates write_rate_counters(TraceEvents& events, const RunReader& record, size_t most_intervals, size_t most) {
  const RecordedRun* const run = record.emulated();
  if (run == nullptr) return {};
  const std::optional<RateSampling> sampled = record.rates(*run);
  const bool is_sampled = sampled && !sampled->ports.empty();
  if (!is_sampled && !record.has_all_messages(*run)) return {};
  const auto for_each = [&](const VisitPassed& visit) {
    if (is_sampled)
      for_each_sampled(*sampled, visit);
    else
      for_each_in_messages(record, *run, visit);
  };
  std::map<LineOf, std::optional<Line>> lines;
  Time end;
  for_each([&](const LineOf& line, Time, Time to, Bytes) {
    end = std::max(end, to);
    lines.try_emplace(line);
  });
  if (lines.empty() || end <= Time()) return {};
  const size_t intervals =
      std::clamp<size_t>(most / lines.size(), 2, most_intervals + 1) - 1;  // and a point at the end
  const Duration interval((end.ps + static_cast<int64_t>(intervals) - 1) / static_cast<int64_t>(intervals));
  for (auto& [place, line] : lines) line.emplace(interval, intervals);
  for_each([&](const LineOf& line, Time from, Time to, Bytes bytes) { lines.at(line)->add(from, to, bytes); });
  events.name("process_name", kRateProcess, 0, "rates of ports");
  events.sort("process_sort_index", kRateProcess, 0, kRateProcess);
  const std::map<PortId, std::string> names = port_names(record, *run);
  DrawnRates drawn{.points = 0, .interval = interval};
  for (const auto& [place, line] : lines) {
    const std::string name = name_of(names, place.first) + (place.second ? " received" : " sent");
    uint64_t before = 0;
    for (size_t i = 0; i < intervals; ++i) {
      const uint64_t rate = line->rate(i);
      // A value holds until the next.
      if (i > 0 && rate == before) continue;
      events.counter(kRateProcess, name, Time() + interval * static_cast<int64_t>(i), "bit/s", rate);
      before = rate;
      ++drawn.points;
    }
    events.counter(kRateProcess, name, end, "bit/s", 0);
    ++drawn.points;
  }
  return drawn;
}

DrawnOf write_allowance_counters(TraceEvents& events, const RunReader& record, size_t most) {
  const RecordedRun* const run = record.emulated();
  const auto rates = run == nullptr ? std::nullopt : record.rates(*run);
  if (!rates || rates->allowances.empty()) return {};
  events.name("process_name", kAllowanceProcess, 0, "what queue pairs may send");
  events.sort("process_sort_index", kAllowanceProcess, 0, kAllowanceProcess);
  const RankNames names(record);
  const size_t stride = (rates->allowances.size() + most - 1) / most;
  std::map<std::pair<ConnectionId, uint16_t>, AllowanceTrack> tracks;
  for (const AllowanceRow& row : rates->allowances) {
    const std::string name = fmt::format("{} to {} (connection {}.{})", names.label(row.source.value),
                                         names.label(row.destination.value), row.connection.value, row.member);
    tracks.try_emplace({row.connection, row.member}, events, name, stride).first->second.add(row);
  }
  DrawnOf drawn;
  for (auto& [key, track] : tracks) drawn.drawn += track.finish();
  drawn.left_out = rates->allowances.size() - drawn.drawn;
  return drawn;
}

}  // namespace rankwire

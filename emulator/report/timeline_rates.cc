#include "emulator/report/timeline_rates.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "emulator/diagnosis/port_shares.h"
#include "emulator/report/port_names.h"

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

void write_counter(TraceEvents& events, const std::string& name, Time time, uint64_t value) {
  events.begin();
  events.format(R"({{"ph":"C","pid":{},"tid":0,"ts":)", kRateProcess);
  events.microseconds(time.ps);
  events.text(R"(,"name":)");
  events.quoted(name);
  events.format(R"(,"args":{{"bit/s":{}}}}})", value);
}

}  // namespace

DrawnRates write_rate_counters(TraceEvents& events, const RunReader& record, size_t most_intervals, size_t most) {
  const RecordedRun* const run = record.emulated();
  if (run == nullptr || !record.has_all_messages(*run)) return {};
  const std::vector<RankNic> nics = record.rank_nics(*run);
  std::map<std::pair<PortId, bool>, std::optional<Line>> lines;  // false: sent
  Time end;
  const auto each_end = [&](const JoinedMessage& message, const auto& visit) {
    const RankId source(static_cast<uint32_t>(message.id.source));
    const RankId destination(static_cast<uint32_t>(message.id.destination));
    if (!meet_in_the_network(nics, source, destination)) return;
    visit(std::pair(nics[source.value].port, false));
    visit(std::pair(nics[destination.value].port, true));
  };
  record.for_each_message(*run, [&](const JoinedMessage& message) {
    end = std::max(end, message.delivered);
    each_end(message, [&](const auto& line) { lines.try_emplace(line); });
  });
  if (lines.empty() || end <= Time()) return {};
  const size_t intervals =
      std::clamp<size_t>(most / lines.size(), 2, most_intervals + 1) - 1;  // and a point at the end
  const Duration interval((end.ps + static_cast<int64_t>(intervals) - 1) / static_cast<int64_t>(intervals));
  for (auto& [place, line] : lines) line.emplace(interval, intervals);
  record.for_each_message(*run, [&](const JoinedMessage& message) {
    each_end(message, [&](const auto& line) { lines.at(line)->add(message.posted, message.delivered, message.bytes); });
  });
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
      write_counter(events, name, Time() + interval * static_cast<int64_t>(i), rate);
      before = rate;
      ++drawn.points;
    }
    write_counter(events, name, end, 0);
    ++drawn.points;
  }
  return drawn;
}

}  // namespace rankwire

#include "emulator/suite/jct_ratio.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "emulator/report/repetitions.h"

namespace rankwire {
namespace {

using Json = nlohmann::ordered_json;

/// Of one side of the iterations of a job, whose operations come iteration by iteration.
struct IterationEnd {
  std::optional<Time> first_start, last_end;

  void take(const std::optional<OperationTimes>& times) {
    if (!times) return;
    first_start = std::min(first_start.value_or(times->start), times->start);
    last_end = std::max(last_end.value_or(times->end), times->end);
  }
};

struct IterationEnds {
  IterationEnd emulated, reference;
};

/// How much longer it took until this iteration had ended than until the one before had, or since its first start.
std::optional<Duration> time_of(const IterationEnd& ends, std::optional<Time>& before) {
  if (!ends.last_end) return std::nullopt;
  const Time begin = before.value_or(*ends.first_start);
  before = std::max(begin, *ends.last_end);
  return *before - begin;
}

std::vector<double> ratios_of_repetitions(const RunReader& record, const Json& summary) {
  const std::vector<Duration> times = repetition_times(record);
  const Json ratio = summary.value("ratio", Json());
  const std::optional<Duration> shown = completion_of(record, record.emulated());
  if (times.size() < 2 || !ratio.is_number() || !shown) return {};
  std::vector<double> ratios;
  for (const Duration time : times)
    ratios.push_back(ratio.get<double>() * static_cast<double>(time.ps) / static_cast<double>(shown->ps));
  return ratios;
}

/// What `ratio` is over the ratio to the reference's run itself: a band's median is what it divides by where there is
/// one.
double part_of_band(const RunReader& record, const Json& summary) {
  const Json ratio = summary.value("ratio", Json());
  const std::optional<Duration> emulated = completion_of(record, record.emulated()),
                                run = completion_of(record, record.reference());
  if (!ratio.is_number() || !emulated || !run || emulated->ps == 0) return 1;
  return ratio.get<double>() * static_cast<double>(run->ps) / static_cast<double>(emulated->ps);
}

std::vector<double> ratios_of_iterations(const RunReader& record, double part) {
  std::vector<double> ratios;
  for (const IterationTime& time : iteration_times(record))
    if (time.emulated && time.reference && time.reference->ps > 0)
      ratios.push_back(part * static_cast<double>(time.emulated->ps) / static_cast<double>(time.reference->ps));
  return ratios;
}

}  // namespace

std::vector<IterationTime> iteration_times(const RunReader& record) {
  std::map<std::pair<uint32_t, JobId>, IterationEnds> ends;
  record.for_each_operation([&](const OperationRow& row) {
    IterationEnds& of = ends[{row.iteration, row.node.job}];
    of.emulated.take(row.emulated);
    of.reference.take(row.reference);
  });
  std::map<JobId, std::pair<std::optional<Time>, std::optional<Time>>> before;
  std::vector<IterationTime> times;
  for (const auto& [key, of] : ends) {
    auto& [emulated, reference] = before[key.second];
    times.push_back({key.second, key.first, time_of(of.emulated, emulated), time_of(of.reference, reference)});
  }
  return times;
}

double nearest_rank(std::vector<double> values, double percent) {
  std::erase_if(values, [](double value) { return std::isnan(value); });
  if (values.empty()) return std::numeric_limits<double>::quiet_NaN();
  std::ranges::sort(values);
  const double rank = std::ceil(percent / 100 * static_cast<double>(values.size()));
  return values[static_cast<size_t>(std::max(rank, 1.0)) - 1];
}

Json jct_ratio_figures(const RunReader& record, const Json& summary) {
  std::vector<double> ratios = ratios_of_repetitions(record, summary);
  const bool is_repeated = !ratios.empty();
  if (!is_repeated) ratios = ratios_of_iterations(record, part_of_band(record, summary));
  const auto at = [&](double percent) { return ratios.empty() ? Json(nullptr) : Json(nearest_rank(ratios, percent)); };
  return {{"jct_ratio_of", is_repeated ? "repetitions" : "iterations"},
          {"jct_ratio_samples", ratios.size()},
          {"jct_ratio_p50", at(50)},
          {"jct_ratio_p95", at(95)},
          {"jct_ratio_p99", at(99)},
          {"jct_ratio_max", at(100)}};
}

}  // namespace rankwire

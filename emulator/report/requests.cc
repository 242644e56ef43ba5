#include "emulator/report/requests.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include "emulator/report/message_curves.h"

namespace rankwire {
namespace {

using RequestKey = std::tuple<uint32_t, uint32_t, int64_t>;  // job, iteration, request
using TimesByRequest = std::map<RequestKey, RequestTimes>;

Time begin_of_job(const RecordedRun& run, JobId job) {
  if (job.value >= run.end.jobs.size()) return {};
  return run.end.jobs[job.value].begin.value_or(Time());
}

TimesByRequest times_in(const RunReader& record, const RecordedRun& run, const std::vector<RequestInfo>& requests) {
  TimesByRequest times;
  std::map<RequestKey, Time> arrivals;
  record.for_each_request_event(run, [&](const RequestEvent& event) {
    const RequestKey key(event.mark.job.value, event.iteration, event.mark.request);
    if (event.mark.arrives) {
      arrivals[key] = event.at;
      return;
    }
    RequestTimes& of = times[key];
    ++of.tokens;
    of.first_token = std::min(of.first_token.value_or(event.at), event.at);
    of.last_token = std::max(of.last_token.value_or(event.at), event.at);
  });
  std::map<std::pair<uint32_t, int64_t>, uint64_t> planned;
  for (const RequestInfo& info : requests) planned[{info.job.value, info.request}] = info.output_tokens;
  for (const auto& [key, at] : arrivals) times[key].arrival = at;
  for (auto& [key, of] : times) {
    const auto& [job, iteration, request] = key;
    if (!arrivals.contains(key)) of.arrival = begin_of_job(run, JobId(job));
    // A token from before the request is no answer to it.
    if (of.first_token && *of.first_token < of.arrival) of.first_token.reset();
    of.is_complete = of.first_token && of.tokens == planned[{job, request}];
  }
  return times;
}

std::optional<RequestQuantiles> quantiles_of(std::vector<Duration> times) {
  if (times.empty()) return std::nullopt;
  std::ranges::sort(times);
  __int128 sum = 0;
  for (const Duration time : times) sum += time.ps;
  const auto at = [&](size_t percent) { return times[(times.size() * percent + 99) / 100 - 1]; };
  return RequestQuantiles{.mean = Duration(static_cast<int64_t>(sum / static_cast<__int128>(times.size()))),
                          .p50 = at(50),
                          .p90 = at(90),
                          .p95 = at(95),
                          .p99 = at(99),
                          .max = times.back()};
}

RequestFigures figures_of(const TimesByRequest& times, size_t requests, const ServiceObjectives& objectives) {
  RequestFigures figures{.requests = requests};
  std::optional<Time> first, last;
  uint64_t within = 0;
  for (const auto& [key, of] : times) {
    figures.complete += of.is_complete;
    figures.tokens += of.tokens;
    within += of.keeps(objectives);
    first = std::min(first.value_or(of.arrival), of.arrival);
    if (of.last_token) last = std::max(last.value_or(*of.last_token), *of.last_token);
  }
  if (objectives.any()) figures.within = within;
  if (first && last) figures.span = *last - *first;
  for (const RequestQuantity& quantity : request_quantities()) {
    std::vector<Duration> all;
    for (const auto& [key, of] : times)
      if (const auto time = (of.*quantity.of)()) all.push_back(*time);
    figures.*quantity.quantiles = quantiles_of(std::move(all));
  }
  return figures;
}

/// Those of the runs, and in the first iteration all that are planned.
std::map<RequestKey, RequestInfo> requests_of(const std::vector<RequestInfo>& planned,
                                              const std::vector<TimesByRequest>& sides) {
  std::map<std::pair<uint32_t, int64_t>, const RequestInfo*> by_number;
  std::map<RequestKey, RequestInfo> requests;
  for (const RequestInfo& info : planned) {
    by_number[{info.job.value, info.request}] = &info;
    requests.emplace(RequestKey(info.job.value, 0, info.request), info);
  }
  for (const TimesByRequest& side : sides) {
    for (const auto& [key, times] : side) requests.emplace(key, *by_number.at({std::get<0>(key), std::get<2>(key)}));
  }
  return requests;
}

const char* key_of(const RunReader& record, const RecordedRun* run) {
  return run == record.emulated() ? "emulated" : to_string(run->start.fidelity);
}

}  // namespace

std::optional<Duration> RequestTimes::ttft() const {
  return first_token ? std::optional(*first_token - arrival) : std::nullopt;
}

std::optional<Duration> RequestTimes::tpot() const {
  if (!is_complete || tokens < 2) return std::nullopt;
  return Duration((*last_token - *first_token).ps / static_cast<int64_t>(tokens - 1));
}

std::optional<Duration> RequestTimes::latency() const {
  return is_complete ? std::optional(*last_token - arrival) : std::nullopt;
}

bool RequestTimes::keeps(const ServiceObjectives& objectives) const {
  if (!is_complete) return false;
  return std::ranges::all_of(request_quantities(), [&](const RequestQuantity& quantity) {
    const std::optional<Duration> most = objectives.*quantity.objective, time = (this->*quantity.of)();
    return !most || !time || *time <= *most;
  });
}

std::optional<double> RequestFigures::attainment() const {
  if (!within || requests == 0) return std::nullopt;
  return static_cast<double>(*within) / static_cast<double>(requests);
}

std::optional<double> RequestFigures::rate(std::optional<uint64_t> count) const {
  if (!count || span <= Duration()) return std::nullopt;
  return static_cast<double>(*count) / (static_cast<double>(span.ps) / 1e12);
}

const std::vector<RequestQuantity>& request_quantities() {
  static const std::vector<RequestQuantity> kQuantities = {
      {"ttft", "time to first token", &RequestFigures::ttft, &RequestTimes::ttft, &ServiceObjectives::ttft},
      {"tpot", "time per output token", &RequestFigures::tpot, &RequestTimes::tpot, &ServiceObjectives::tpot},
      {"latency", "latency", &RequestFigures::latency, &RequestTimes::latency, &ServiceObjectives::latency}};
  return kQuantities;
}

std::optional<HeldFigures> held_requests(const RequestTable& table) {
  std::optional<HeldFigures> held;
  for (const RequestTable::Row& row : table.rows) {
    if (!row.info.held_batches) continue;
    if (!held) held.emplace();
    held->requests += *row.info.held_batches > 0 ? 1 : 0;
    held->batches += static_cast<uint64_t>(*row.info.held_batches);
  }
  return held;
}

RequestTable read_requests(const RunReader& record) {
  RequestTable table{.objectives = record.objectives()};
  const std::vector<RequestInfo> planned = record.requests();
  if (planned.empty()) return table;
  std::vector<TimesByRequest> sides;
  for (const RecordedRun* run : compared_runs(record)) {
    TimesByRequest times = times_in(record, *run, planned);
    if (times.empty() && !run->ended) continue;
    table.sides.push_back({.key = key_of(record, run), .fidelity = to_string(run->start.fidelity), .figures = {}});
    sides.push_back(std::move(times));
  }
  const std::map<RequestKey, RequestInfo> requests = requests_of(planned, sides);
  for (size_t i = 0; i < sides.size(); ++i)
    table.sides[i].figures = figures_of(sides[i], requests.size(), table.objectives);
  for (const auto& [key, info] : requests) {
    RequestTable::Row& row = table.rows.emplace_back(RequestTable::Row{.info = info, .iteration = std::get<1>(key)});
    for (const TimesByRequest& side : sides) {
      const auto found = side.find(key);
      row.times.push_back(found == side.end() ? std::nullopt : std::optional(found->second));
    }
  }
  return table;
}

std::optional<RequestFigures> request_figures(const RunReader& record, const RecordedRun& run) {
  const std::vector<RequestInfo> planned = record.requests();
  if (planned.empty()) return std::nullopt;
  const std::vector<TimesByRequest> sides = {times_in(record, run, planned)};
  return figures_of(sides.front(), requests_of(planned, sides).size(), record.objectives());
}

}  // namespace rankwire

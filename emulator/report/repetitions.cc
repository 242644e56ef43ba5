#include "emulator/report/repetitions.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <string_view>
#include <utility>

#include "emulator/diagnosis/repeated_times.h"
#include "emulator/report/format.h"
#include "emulator/report/html_table.h"

namespace rankwire {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kPrintedTroubles = 5;

uint32_t planned_repetitions(const RunReader& record) {
  return record.repetitions().front().start.repetition.planned;
}

/// "repetition 3 of 10 and 2 more: what the first of them says".
std::optional<RecordVerdict> first_that(const RunReader& record, std::span<const RepetitionResult> results,
                                        const std::function<bool(const RecordVerdict&)>& wanted) {
  const auto is_one = [&](const RepetitionResult& result) { return wanted(result.verdict); };
  const auto first = std::ranges::find_if(results, is_one);
  if (first == results.end()) return std::nullopt;
  const auto all = std::ranges::count_if(results, is_one);
  RecordVerdict verdict = first->verdict;
  verdict.reason = fmt::format("repetition {} of {}{}: {}", first->number, planned_repetitions(record),
                               all > 1 ? fmt::format(" and {} more", all - 1) : "", verdict.reason);
  return verdict;
}

/// Of those that did not come to all that were planned, although none says why.
RecordVerdict unfinished(const RunReader& record) {
  const bool at_work = record.at_work();
  return {
      "interrupted",
      fmt::format("{} of {} repetitions have taken place", record.repetitions().size(), planned_repetitions(record)),
      at_work                   ? "running"
      : record.models().empty() ? "no_end"
                                : "signal"};
}

/// The interval's ends over the reference's completion time; absent without a reference that is ok.
std::optional<double> over_reference(const RunReader& record, Duration time) {
  const RecordedRun* const reference = record.reference();
  if (reference == nullptr || reference->end.verdict != "ok") return std::nullopt;
  return ratio_of(time, reference->end.completion);
}

Json json_or_null(const std::optional<double>& value) {
  return value ? Json(*value) : Json(nullptr);
}

std::string line_of_reason(std::string_view text) {
  return std::string(text.substr(0, text.find('\n')));
}

std::string spread_text(const RunReader& record, const TimeSpread& spread) {
  std::string text =
      fmt::format("mean {}, 95 % confidence {} .. {} (Student's t), coefficient of variation {:.2g} %, {} .. {}",
                  readable(spread.mean), readable(spread.low), readable(spread.high), spread.variation * 100,
                  readable(spread.shortest), readable(spread.longest));
  if (const auto low = over_reference(record, spread.low), high = over_reference(record, spread.high); low && high)
    text += fmt::format("; ratio {} .. {}", readable_ratio(low), readable_ratio(high));
  return text;
}

std::string all_together(const RunReader& record) {
  const std::vector<Duration> times = repetition_times(record);
  const std::optional<TimeSpread> spread = spread_of(times);
  return fmt::format("{} of {} came to the end: {}; the tables show {}", times.size(), planned_repetitions(record),
                     spread ? spread_text(record, *spread) : "too few to say how much they vary", record.shown());
}

}  // namespace

std::vector<RepetitionResult> repetition_results(const RunReader& record) {
  std::vector<RepetitionResult> results;
  if (record.repetitions().empty()) return results;
  RunReader view(record.folder());
  for (const RecordedRun& run : record.repetitions()) {
    const uint32_t repetition = run.start.repetition.number;
    view.show(repetition);
    results.push_back(
        {repetition, emulated_verdict(view), assess_fidelity(view).fidelity, completion_of(view, view.emulated())});
  }
  return results;
}

std::vector<Duration> repetition_times(const RunReader& record) {
  std::vector<Duration> times;
  for (const RecordedRun& run : record.repetitions())
    if (run.end.verdict == "ok") times.push_back(run.end.completion);
  return times;
}

RecordVerdict verdict_of_repetitions(const RunReader& record, const std::optional<RecordVerdict>& others) {
  const std::vector<RepetitionResult> results = repetition_results(record);
  const auto first = [&](auto wanted) { return first_that(record, results, wanted); };
  const auto is_limit = [](const RecordVerdict& verdict) { return verdict.code == "limit_exceeded"; };
  if (const auto bad = first(
          [&](const RecordVerdict& v) { return (v.verdict == "failed" || v.verdict == "stalled") && !is_limit(v); }))
    return *bad;
  if (const auto bad = first([](const RecordVerdict& v) { return v.verdict == "interrupted"; })) return *bad;
  if (results.size() < planned_repetitions(record)) return unfinished(record);
  if (others) return *others;
  if (const auto bad = first(is_limit)) return *bad;
  if (const auto bad = first([](const RecordVerdict& v) { return v.verdict == "inconclusive"; })) return *bad;
  if (const auto bad = first([](const RecordVerdict& v) { return v.verdict == "degraded"; })) return *bad;
  return results.front().verdict;
}

Json repetitions_json(const RunReader& record) {
  if (record.repetitions().empty()) return nullptr;
  const std::vector<Duration> times = repetition_times(record);
  Json json = {{"planned", planned_repetitions(record)}, {"completed", times.size()}, {"shown", record.shown()}};
  const std::optional<TimeSpread> spread = spread_of(times);
  const auto add = [&](const char* name, Duration TimeSpread::*time) {
    json[name] = spread ? Json(((*spread).*time).ps) : Json(nullptr);
  };
  add("mean_ps", &TimeSpread::mean);
  add("median_ps", &TimeSpread::median);
  add("min_ps", &TimeSpread::shortest);
  add("max_ps", &TimeSpread::longest);
  add("deviation_ps", &TimeSpread::deviation);
  json["coefficient_of_variation"] = spread ? Json(spread->variation) : Json(nullptr);
  json["confidence"] = nullptr;
  if (spread) {
    json["confidence"] = {{"method", "student_t"},
                          {"of", "mean"},
                          {"level", 0.95},
                          {"low_ps", spread->low.ps},
                          {"high_ps", spread->high.ps},
                          {"ratio_low", json_or_null(over_reference(record, spread->low))},
                          {"ratio_high", json_or_null(over_reference(record, spread->high))}};
  }
  json["runs"] = Json::array();
  for (const RepetitionResult& result : repetition_results(record)) {
    json["runs"].push_back({{"repetition", result.number},
                            {"verdict", result.verdict.verdict},
                            {"reason", result.verdict.reason},
                            {"reason_code", result.verdict.code},
                            {"fidelity", result.fidelity},
                            {"completion_time_ps", result.completion ? Json(result.completion->ps) : Json(nullptr)}});
  }
  return json;
}

std::vector<std::string> repetition_lines(const RunReader& record) {
  std::vector<std::string> lines;
  if (record.repetitions().empty()) return lines;
  lines.push_back(all_together(record));
  size_t untold = 0;
  for (const RepetitionResult& result : repetition_results(record)) {
    if (result.verdict.verdict == "ok") continue;
    if (lines.size() > kPrintedTroubles) {
      ++untold;
      continue;
    }
    lines.push_back(fmt::format("{}: {} after {}: {}", result.number, result.verdict.verdict,
                                result.completion ? readable(*result.completion) : "-",
                                line_of_reason(result.verdict.reason)));
  }
  if (untold > 0) lines.push_back(fmt::format("and {} more that are not ok, in report.html", untold));
  return lines;
}

std::string html_repetitions(const RunReader& record) {
  if (record.repetitions().empty()) return {};
  HtmlTable table("repetitions", {{"Repetition"},
                                  {"Completion"},
                                  {"Emulated / reference"},
                                  {"Verdict", HtmlColumn::kText},
                                  {"Fidelity", HtmlColumn::kText},
                                  {"Reason", HtmlColumn::kText}});
  for (const RepetitionResult& result : repetition_results(record)) {
    const std::string name = fmt::format("{}{}", result.number, result.number == record.shown() ? " (shown)" : "");
    // Whatever its limits make of it.
    const auto run = std::ranges::find(record.repetitions(), result.number,
                                       [](const RecordedRun& one) { return one.start.repetition.number; });
    const bool has_ratio = result.completion && run->end.verdict == "ok";
    table.add({HtmlCell::valued(name, result.number), result.completion,
               readable_ratio(has_ratio ? over_reference(record, *result.completion) : std::nullopt),
               result.verdict.verdict, result.fidelity, line_of_reason(result.verdict.reason)});
  }
  return fmt::format("<p>{}.</p>\n", html_escaped(all_together(record))) + std::move(table).finish();
}

}  // namespace rankwire

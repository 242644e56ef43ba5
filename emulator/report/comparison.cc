#include "emulator/report/comparison.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <span>
#include <tuple>
#include <utility>

#include "base/error.h"
#include "base/transport_counters.h"
#include "emulator/diagnosis/diagnosis.h"
#include "emulator/report/assessment.h"
#include "emulator/report/format.h"
#include "emulator/report/gap_parts.h"
#include "emulator/report/jobs.h"

namespace rankwire {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kPrintedOperations = 10;

using Sides = BaseAndOther<const RecordedRun*>;

Sides sides_of(const RunReader& base, const RunReader& other) {
  if (base.emulated() != nullptr && other.emulated() != nullptr) return {base.emulated(), other.emulated()};
  const bool neither = base.emulated() == nullptr && other.emulated() == nullptr;
  if (neither && base.reference() != nullptr && other.reference() != nullptr)
    return {base.reference(), other.reference()};
  fail_input("{} and {} have nothing to compare: both must have an emulated run or a twin, or both a reference alone",
             base.folder().string(), other.folder().string());
}

const char* side_name(const Sides& runs) {
  const Fidelity fidelity = runs.base->start.fidelity;
  return fidelity == runs.other->start.fidelity ? to_string(fidelity) : "emulated";
}

using OperationKey = std::tuple<std::string, std::string, std::string, std::string>;

/// By kind, group, name and job. Of a reference that stands alone its own times.
std::map<OperationKey, Comparison::Operation> operations_of(const RunReader& base, const RunReader& other) {
  std::map<OperationKey, Comparison::Operation> operations;
  const auto add = [&](const RunReader& record, auto member) {
    OperationStatistics statistics(1);
    record.for_each_operation([&](const OperationRow& row) { statistics.add(row); });
    const JobNames jobs(record);
    for (const OperationGroup* group : statistics.groups(statistics.group_count())) {
      Comparison::Operation& operation = operations[{group->kind, group->group, group->name, jobs.name(group->job)}];
      operation.name = group->name;
      operation.kind = group->kind;
      operation.group = group->group;
      operation.job = jobs.name(group->job);
      operation.count.*member.first = group->count;
      operation.mean.*member.second =
          record.emulated() != nullptr ? group->emulated.duration() : group->reference.duration();
    }
  };
  using Counts = BaseAndOther<uint64_t>;
  using Means = BaseAndOther<std::optional<Duration>>;
  add(base, std::pair(&Counts::base, &Means::base));
  add(other, std::pair(&Counts::other, &Means::other));
  return operations;
}

std::vector<Comparison::Operation> changed_operations(const RunReader& base, const RunReader& other) {
  std::vector<Comparison::Operation> list;
  for (auto& [key, operation] : operations_of(base, other)) list.push_back(std::move(operation));
  const auto weight = [](const Comparison::Operation& operation) {
    const std::optional<Duration> extra = operation.extra();
    return extra ? std::abs(extra->ps) : INT64_MAX;  // what only one has comes first
  };
  std::ranges::stable_sort(list, std::ranges::greater(), weight);
  return list;
}

std::vector<Comparison::Job> compared_jobs(const RunReader& base, const RunReader& other, const Sides& runs) {
  std::vector<Comparison::Job> jobs;
  const auto add = [&](const RunReader& record, const RecordedRun* run, auto side) {
    const std::vector<JobResult> results = job_results(record, run);
    for (size_t j = 0; j < results.size(); ++j) {
      const std::string& name = record.jobs()[j].name;
      auto known = std::ranges::find(jobs, name, &Comparison::Job::name);
      if (known == jobs.end()) known = jobs.insert(jobs.end(), Comparison::Job{.name = name, .completion = {}});
      known->completion.*side = results[j].completion;
    }
  };
  using Completions = BaseAndOther<std::optional<Duration>>;
  add(base, runs.base, &Completions::base);
  add(other, runs.other, &Completions::other);
  return jobs;
}

std::vector<Comparison::Counter> different_counters(const Sides& runs) {
  std::vector<Comparison::Counter> different;
  for (const CounterField& counter : transport_counters()) {
    const BaseAndOther<uint64_t> value{runs.base->end.counters.*counter.field, runs.other->end.counters.*counter.field};
    if (value.base != value.other) different.push_back({counter.name, value});
  }
  return different;
}

Comparison::Reasons reasons_of(const RunReader& record) {
  const Diagnosis diagnosis = diagnose(record);
  const RecordedRun* const reference = record.reference();
  return {.path = main_part(diagnosis),
          .waterfall = diagnosis.waterfall,
          .reference = reference != nullptr ? reference->start.model : ""};
}

Json json_of(const std::optional<PathMain>& path) {
  if (!path) return nullptr;
  return {{"operation", path->operation}, {"time_ps", path->time.ps}, {"share", path->share}};
}

/// Of a gap of both: the parts and what the other has more; the whole gap first.
Json waterfalls_json(const BaseAndOther<Comparison::Reasons>& reasons) {
  const auto &base = reasons.base.waterfall, &other = reasons.other.waterfall;
  const auto entry = [&](const auto& of) -> Json {
    return {{"base", base ? Json(of(*base).ps) : Json(nullptr)},
            {"other", other ? Json(of(*other).ps) : Json(nullptr)},
            {"extra", base && other ? Json((of(*other) - of(*base)).ps) : Json(nullptr)}};
  };
  if (!base && !other) return nullptr;
  Json json = {{"gap_ps", entry([](const Waterfall& of) { return of.gap; })}};
  for (size_t i = 0; i < kGapCauses; ++i) {
    const auto cause = static_cast<GapCause>(i);
    json[fmt::format("{}_ps", to_string(cause))] = entry([&](const Waterfall& of) { return of[cause]; });
  }
  return json;
}

/// What a gap is measured against.
std::string reference_text(const std::string& model) {
  if (model == kMedianOfFlow) return "the member of flow at the median of its band";
  if (model == "flow") return "the single run of flow, of perfect symmetry";
  return "the model " + model;
}

/// What either spends its time on, and which parts of the gap to its reference changed, most first.
void add_reasons(std::string& text, const BaseAndOther<Comparison::Reasons>& reasons) {
  for (const auto& [which, of] : {std::pair("base", &reasons.base), std::pair("other", &reasons.other)}) {
    if (!of->path) continue;
    text += fmt::format("path of {}: longest {}, {}, {:.1f} %\n", which, of->path->operation,
                        rankwire::readable(of->path->time), 100 * of->path->share);
  }
  if (!reasons.base.waterfall || !reasons.other.waterfall) return;
  const Waterfall &base = *reasons.base.waterfall, &other = *reasons.other.waterfall;
  text += fmt::format("gap to the reference: {} -> {}\n", signed_time(base.gap), signed_time(other.gap));
  if (reasons.base.reference != reasons.other.reference)
    text += fmt::format("  the references differ, and so do the gaps for that: {} -> {}\n",
                        reference_text(reasons.base.reference), reference_text(reasons.other.reference));
  std::vector<GapCause> changed;
  for (size_t i = 0; i < kGapCauses; ++i)
    if (base.parts[i] != other.parts[i]) changed.push_back(static_cast<GapCause>(i));
  std::ranges::stable_sort(changed, std::ranges::greater(),
                           [&](GapCause cause) { return std::abs((other[cause] - base[cause]).ps); });
  for (const GapCause cause : changed)
    text += fmt::format("  {:>12} {:>12} {:>12}  {}\n", signed_time(base[cause]), signed_time(other[cause]),
                        signed_time(other[cause] - base[cause]), phrase_of(cause));
}

std::optional<Duration> whole_completion(const RecordedRun& run) {
  if (!run.ended || run.end.verdict != "ok") return std::nullopt;
  return run.end.completion;
}

Json json_of(const std::optional<Duration>& duration) {
  return duration ? Json(duration->ps) : Json(nullptr);
}

Json json_of(const std::optional<double>& number) {
  return number ? Json(*number) : Json(nullptr);
}

Json json_of(const std::optional<MessageLatency>& latency) {
  if (!latency) return nullptr;
  return {
      {"count", latency->count}, {"p50_ps", latency->p50.ps}, {"p99_ps", latency->p99.ps}, {"max_ps", latency->max.ps}};
}

Json json_of(const FidelityAssessment& fidelity) {
  return {{"fidelity", fidelity.fidelity}, {"reasons", fidelity.reasons}};
}

/// A setting's value is JSON already.
Json setting_json(const std::string& value) {
  return value.empty() ? Json(nullptr) : Json::parse(value);
}

std::optional<double> mean_ratio(const Comparison::Operation& operation) {
  if (!operation.mean.base || !operation.mean.other) return std::nullopt;
  return ratio_of(*operation.mean.other, *operation.mean.base);
}

std::string readable(const std::optional<Duration>& duration) {
  return duration ? rankwire::readable(*duration) : "-";
}

/// What stands on either side, and how far it can be believed.
void add_sides(std::string& text, const Comparison& comparison) {
  const auto add = [&](const char* which, const auto& of) {
    text += fmt::format("{:<6}{}", which, of(comparison.folder));
    if (of(comparison.runs) > 1) text += fmt::format(" (the median of {} runs)", of(comparison.runs));
    text += fmt::format(", {} run: {}, completion {}", comparison.side, of(comparison.verdict),
                        readable(of(comparison.completion)));
    if (const std::optional<MessageLatency>& messages = of(comparison.messages))
      text += fmt::format("; messages P50 {}, P99 {}", rankwire::readable(messages->p50),
                          rankwire::readable(messages->p99));
    const FidelityAssessment& fidelity = of(comparison.fidelity);
    text += fmt::format("; fidelity {}\n", fidelity.fidelity);
    for (const std::string& reason : fidelity.reasons) text += fmt::format("      {}\n", reason);
    if (!of(comparison.mixed).empty())
      text += fmt::format("      its runs differ in {}\n", fmt::join(of(comparison.mixed), ", "));
  };
  add(
      "base", [](const auto& both) -> const auto& { return both.base; });
  add(
      "other", [](const auto& both) -> const auto& { return both.other; });
}

/// How long requests took on either side, where both have any.
void add_requests(std::string& text, const BaseAndOther<std::optional<RequestFigures>>& requests) {
  if (!requests.base || !requests.other) return;
  for (const RequestQuantity& quantity : request_quantities()) {
    const auto &base = (*requests.base).*quantity.quantiles, &other = (*requests.other).*quantity.quantiles;
    if (!base || !other) continue;
    text += fmt::format("{} of requests:", quantity.title);
    const auto add = [&](const char* name, Duration RequestQuantiles::*at) {
      text += fmt::format(" {} {} -> {}", name, rankwire::readable((*base).*at), rankwire::readable((*other).*at));
    };
    add("P50", &RequestQuantiles::p50);
    add("P95", &RequestQuantiles::p95);
    add("P99", &RequestQuantiles::p99);
    text += '\n';
  }
  const auto rate = [](const RequestFigures& of) { return of.rate(of.within); };
  if (const auto base = rate(*requests.base), other = rate(*requests.other); base && other)
    text += fmt::format("goodput: {} -> {} requests/s\n", four_digits(*base), four_digits(*other));
}

void add_operations(std::string& text, const Comparison& comparison) {
  const auto same = std::ranges::find(comparison.operations, Duration(), &Comparison::Operation::extra);
  const std::span changed(comparison.operations.begin(), same);
  if (changed.empty()) {
    text += "all operations took as long\n";
    return;
  }
  text +=
      fmt::format("operations, those whose time changed most first; means\n  {:>12} {:>12} {:>7} {:>12}  operation\n",
                  "base", "other", "ratio", "in all");
  for (const Comparison::Operation& o : changed.first(std::min(changed.size(), kPrintedOperations))) {
    const std::string job = o.job.empty() ? "" : " of job " + o.job;
    text += fmt::format("  {:>12} {:>12} {:>7} {:>12}  {} ({}{}{}{})\n", readable(o.mean.base), readable(o.mean.other),
                        readable_ratio(mean_ratio(o)), readable(o.extra()), o.name, o.kind, o.group.empty() ? "" : " ",
                        o.group, job);
  }
  if (changed.size() > kPrintedOperations) text += fmt::format("  and {} more\n", changed.size() - kPrintedOperations);
}

}  // namespace

std::optional<Duration> Comparison::Operation::extra() const {
  if (!mean.base || !mean.other) return std::nullopt;
  return (*mean.other - *mean.base) * static_cast<int64_t>(count.other);
}

std::optional<double> Comparison::Job::ratio() const {
  if (!completion.base || !completion.other) return std::nullopt;
  return ratio_of(*completion.other, *completion.base);
}

std::optional<double> Comparison::ratio() const {
  if (!completion.base || !completion.other) return std::nullopt;
  return ratio_of(*completion.other, *completion.base);
}

Comparison compare(const RunRecords& bases, const RunRecords& others) {
  const RunReader &base = median_record(bases), &other = median_record(others);
  const Sides runs = sides_of(base, other);
  Comparison comparison;
  comparison.side = side_name(runs);
  comparison.runs = {bases.size(), others.size()};
  comparison.unlike = workload_difference(base, other);
  comparison.mixed = {mixed_settings(bases), mixed_settings(others)};
  comparison.fidelity = {assess_fidelity(base), assess_fidelity(other)};
  comparison.folder = {base.folder().string(), other.folder().string()};
  // That of the whole record where the run itself says nothing bad.
  const auto verdict = [](const RunReader& record, const RecordedRun& run) {
    return run.end.verdict == "ok" ? verdict_of(record).verdict : run.end.verdict;
  };
  comparison.verdict = {verdict(base, *runs.base), verdict(other, *runs.other)};
  comparison.completion = {whole_completion(*runs.base), whole_completion(*runs.other)};
  const auto is_real = [](const RecordedRun& run) { return run.start.clock == "real"; };
  comparison.varies = is_real(*runs.base) || is_real(*runs.other);
  comparison.reasons = {reasons_of(base), reasons_of(other)};
  comparison.repeated = compare_times(completion_times(bases), completion_times(others));
  comparison.messages = {runs.base->latency, runs.other->latency};
  comparison.requests = {request_figures(base, *runs.base), request_figures(other, *runs.other)};
  comparison.jobs = compared_jobs(base, other, runs);
  comparison.settings = different_settings(base, other);
  comparison.operations = changed_operations(base, other);
  comparison.counters = different_counters(runs);
  return comparison;
}

nlohmann::ordered_json comparison_json(const Comparison& comparison) {
  Json json;
  json["side"] = comparison.side;
  json["folder"] = {{"base", comparison.folder.base}, {"other", comparison.folder.other}};
  json["runs"] = {{"base", comparison.runs.base}, {"other", comparison.runs.other}};
  json["unlike"] = comparison.unlike ? Json(*comparison.unlike) : Json(nullptr);
  json["mixed_settings"] = {{"base", comparison.mixed.base}, {"other", comparison.mixed.other}};
  json["verdict"] = {{"base", comparison.verdict.base}, {"other", comparison.verdict.other}};
  json["fidelity"] = {{"base", json_of(comparison.fidelity.base)}, {"other", json_of(comparison.fidelity.other)}};
  json["completion_time_ps"] = {{"base", json_of(comparison.completion.base)},
                                {"other", json_of(comparison.completion.other)}};
  json["ratio"] = json_of(comparison.ratio());
  json["critical_path"] = {{"base", json_of(comparison.reasons.base.path)},
                           {"other", json_of(comparison.reasons.other.path)}};
  json["waterfall"] = waterfalls_json(comparison.reasons);
  const auto model = [](const std::string& name) { return name.empty() ? Json(nullptr) : Json(name); };
  json["reference_model"] = {{"base", model(comparison.reasons.base.reference)},
                             {"other", model(comparison.reasons.other.reference)}};
  json["repetitions"] = repeated_comparison_json(comparison.repeated);
  json["message_completion_time"] = {{"base", json_of(comparison.messages.base)},
                                     {"other", json_of(comparison.messages.other)}};
  json["requests"] = {{"base", request_figures_json(comparison.requests.base)},
                      {"other", request_figures_json(comparison.requests.other)}};
  json["jobs"] = Json::array();
  for (const Comparison::Job& job : comparison.jobs) {
    json["jobs"].push_back(
        {{"name", job.name},
         {"completion_time_ps", {{"base", json_of(job.completion.base)}, {"other", json_of(job.completion.other)}}},
         {"ratio", json_of(job.ratio())}});
  }
  json["settings"] = Json::array();
  for (const DifferentSetting& setting : comparison.settings) {
    json["settings"].push_back(
        {{"key", setting.key}, {"base", setting_json(setting.base)}, {"other", setting_json(setting.other)}});
  }
  json["operations"] = Json::array();
  for (const Comparison::Operation& o : comparison.operations) {
    json["operations"].push_back({{"name", o.name},
                                  {"kind", o.kind},
                                  {"group", o.group},
                                  {"base", {{"count", o.count.base}, {"mean_ps", json_of(o.mean.base)}}},
                                  {"other", {{"count", o.count.other}, {"mean_ps", json_of(o.mean.other)}}},
                                  {"ratio", json_of(mean_ratio(o))},
                                  {"extra_ps", json_of(o.extra())}});
    if (!o.job.empty()) json["operations"].back()["job"] = o.job;
  }
  json["transport"] = Json::object();
  for (const Comparison::Counter& counter : comparison.counters) {
    json["transport"][counter.name] = {{"base", counter.value.base}, {"other", counter.value.other}};
  }
  return json;
}

std::string comparison_table(const Comparison& comparison) {
  std::string text;
  add_sides(text, comparison);
  if (comparison.unlike) text += fmt::format("the workloads differ: {}\n", *comparison.unlike);
  text += fmt::format("ratio {}\n", readable_ratio(comparison.ratio()));
  if (comparison.repeated) {
    text += fmt::format("repetitions: {}\n", repeated_comparison_text(*comparison.repeated));
  } else if (comparison.varies) {
    text += "repetitions: not two or more of both, so that nothing tells a difference from chance (run.repeat)\n";
  }
  add_reasons(text, comparison.reasons);
  add_requests(text, comparison.requests);
  for (const Comparison::Job& job : comparison.jobs) {
    text += fmt::format("job {}: {} -> {}, ratio {}\n", job.name, readable(job.completion.base),
                        readable(job.completion.other), readable_ratio(job.ratio()));
  }
  text += comparison.settings.empty() ? "the settings are the same\n" : "settings that differ\n";
  for (const DifferentSetting& setting : comparison.settings) {
    const auto shown = [](const std::string& value) { return value.empty() ? std::string("(none)") : value; };
    text += fmt::format("  {}: {} -> {}\n", setting.key, shown(setting.base), shown(setting.other));
  }
  add_operations(text, comparison);
  if (!comparison.counters.empty()) text += "transport counters that differ\n";
  for (const Comparison::Counter& counter : comparison.counters)
    text += fmt::format("  {}: {} -> {}\n", counter.name, counter.value.base, counter.value.other);
  return text;
}

}  // namespace rankwire

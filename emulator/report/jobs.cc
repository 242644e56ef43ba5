#include "emulator/report/jobs.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <utility>
#include <vector>

#include "emulator/record/reference_band.h"
#include "emulator/report/blame.h"
#include "emulator/report/format.h"
#include "emulator/report/gap_parts.h"
#include "emulator/report/html_table.h"
#include "emulator/report/shared_links.h"
#include "emulator/report/shared_ports.h"
#include "emulator/report/time_axis.h"

namespace rankwire {
namespace {

using JobsJson = nlohmann::ordered_json;

/// Told apart also by who does not see all colours (Okabe and Ito).
constexpr std::array kJobColors = {"#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442"};

JobsJson duration_json(const std::optional<Duration>& duration) {
  return duration ? JobsJson(duration->ps) : JobsJson(nullptr);
}

JobsJson time_json(const std::optional<Time>& time) {
  return time ? JobsJson(time->ps) : JobsJson(nullptr);
}

JobsJson result_json(const JobResult* result) {
  if (result == nullptr) return nullptr;
  return {{"begin_ps", time_json(result->span.begin)},
          {"end_ps", time_json(result->span.end)},
          {"completion_time_ps", duration_json(result->completion)},
          {"interference", result->interference ? JobsJson(*result->interference) : JobsJson(nullptr)}};
}

const JobResult* at(const std::vector<JobResult>& results, size_t job) {
  return job < results.size() ? &results[job] : nullptr;
}

std::string time_text(const std::optional<Duration>& time) {
  return time ? readable(*time) : "-";
}

std::optional<Duration> alone_time(const RunReader& record, JobId job) {
  const JobAlone* alone = record.alone(job);
  return alone == nullptr ? std::nullopt : std::optional(alone->completion);
}

/// Which columns a table of jobs has: those in which something stands.
struct JobColumns {
  struct Side {
    const char *name, *title;
    std::vector<JobResult> results;  // by JobId
  };

  explicit JobColumns(const RunReader& record) {
    add("reference", "Reference", job_results(record, record.reference()));
    add("emulated", "Emulated", job_results(record, record.emulated()));
    alone = std::ranges::any_of(record.jobs(), [&](const JobInfo& job) { return record.alone(job.job) != nullptr; });
  }

  std::vector<Side> sides;
  bool alone = false;

 private:
  void add(const char* name, const char* title, std::vector<JobResult> results) {
    if (!results.empty()) sides.push_back({name, title, std::move(results)});
  }
};

/// "5 ms", "after a", "1 ms after a"; "never" where it did not begin in any run that ended.
std::string begin_text(const RunReader& record, const JobInfo& job, const JobResult* emulated,
                       const JobResult* reference) {
  const auto begun = [](const JobResult* result) { return result != nullptr && result->span.begin.has_value(); };
  if ((emulated != nullptr || reference != nullptr) && !begun(emulated) && !begun(reference)) return "never";
  if (!job.after.valid()) return readable(job.start);
  const std::string after = "after " + record.jobs()[job.after.value].name;
  return job.start == Duration(0) ? after : readable(job.start) + " " + after;
}

/// A bar from its beginning to its end for each job and side, in the job's colour.
std::string spans_svg(const RunReader& record, const std::vector<JobResult>& emulated,
                      const std::vector<JobResult>& reference) {
  constexpr int kLeft = 160, kWidth = 960, kBar = 10, kGap = 6, kTop = 8;
  Time end;
  for (const std::vector<JobResult>* side : {&emulated, &reference})
    for (const JobResult& result : *side) end = std::max(end, result.span.end.value_or(Time()));
  if (end <= Time()) return {};
  std::vector<std::pair<const char*, const std::vector<JobResult>*>> sides;
  if (!emulated.empty()) sides.emplace_back(to_string(record.emulated()->start.fidelity), &emulated);
  if (!reference.empty()) sides.emplace_back(to_string(Fidelity::kReference), &reference);
  std::string bars;
  int y = kTop;
  for (const JobInfo& job : record.jobs()) {
    for (const auto& [side, results] : sides) {
      bars += fmt::format("<text x=\"0\" y=\"{}\">{} {}</text>\n", y + kBar, html_escaped(job.name), side);
      const JobSpan& span = (*results)[job.job.value].span;
      if (span.begin && span.end) {
        const double unit = static_cast<double>(kWidth) / static_cast<double>(end.ps);
        bars += fmt::format("<rect x=\"{:.2f}\" y=\"{}\" width=\"{:.2f}\" height=\"{}\" fill=\"{}\"/>\n",
                            kLeft + unit * static_cast<double>(span.begin->ps), y,
                            unit * static_cast<double>((*span.end - *span.begin).ps), kBar, color_of(job));
      }
      y += kBar + 2;
    }
    y += kGap;
  }
  return fmt::format(
             "<div class=\"wide\"><svg role=\"img\" viewBox=\"0 0 {} {}\">\n<title>When each job was at "
             "work</title>\n",
             kLeft + kWidth + 40, y + 20) +
         time_axis_svg(end, {.left = kLeft, .width = kWidth, .height = y}) + bars + "</svg></div>\n";
}

constexpr size_t kPrintedJobs = 5;

/// A few as the configuration has them; of more, which are not all printed, those that others held up most come first.
std::vector<const JobInfo*> in_printed_order(const std::vector<JobInfo>& jobs, const JobColumns& columns) {
  std::vector<const JobInfo*> order;
  for (const JobInfo& job : jobs) order.push_back(&job);
  if (order.size() <= kPrintedJobs || columns.sides.empty()) return order;
  const std::vector<JobResult>& results = columns.sides.back().results;  // the emulated side's, if there is one
  std::ranges::stable_sort(order, std::greater<>(),
                           [&](const JobInfo* job) { return results[job->job.value].interference.value_or(0); });
  return order;
}

/// What the failures of cables have cost the job in this run of the model that knows its time without them.
std::optional<Duration> lost_to_failures(const RunReader& record, const RecordedRun& run, JobId job,
                                         std::optional<Duration> completion) {
  const JobAlone* alone = record.alone(job);
  if (alone == nullptr || !alone->unharmed || !completion || !is_of(run, alone->model)) return std::nullopt;
  return *completion - *alone->unharmed;
}

/// A line for each job that has lost something.
std::vector<std::string> losses(const RunReader& record, const std::vector<JobResult>& reference) {
  std::vector<std::string> lines;
  for (size_t j = 0; j < reference.size(); ++j) {
    if (!reference[j].lost) continue;
    lines.push_back(fmt::format("failures of cables cost {} {} of {} in the reference", record.jobs()[j].name,
                                readable(*reference[j].lost), time_text(reference[j].completion)));
  }
  return lines;
}

}  // namespace

std::string color_of(const JobInfo& job) {
  return job.color.empty() ? kJobColors[job.job.value % kJobColors.size()] : job.color;
}

JobNames::JobNames(const RunReader& record) {
  for (const BackgroundInfo& entry : record.background()) background_[entry.job] = entry.name;
  if (record.jobs().size() < 2) return;
  for (const JobInfo& job : record.jobs()) names_.push_back(job.name);
}

std::string JobNames::name(JobId job) const {
  if (const auto entry = background_.find(job); entry != background_.end()) return entry->second;
  return job.value < names_.size() ? names_[job.value] : std::string();
}

std::string JobNames::with_job(const std::string& text, JobId job) const {
  if (const auto entry = background_.find(job); entry != background_.end()) return "background " + entry->second;
  if (job.value >= names_.size()) return text;
  return fmt::format("{}{}of job {}", text, text.empty() ? "" : " ", names_[job.value]);
}

std::string job_of_rank(const RunReader& record, RankId rank) {
  if (record.background_ends().contains(rank)) return {};
  const auto after = std::ranges::upper_bound(record.jobs(), rank.value, {}, &JobInfo::first_rank);
  return fmt::to_string(after == record.jobs().begin() ? 0 : (after - 1)->job.value);
}

std::vector<JobResult> job_results(const RunReader& record, const RecordedRun* run) {
  std::vector<JobResult> results;
  if (run == nullptr || !run->ended || run->end.jobs.size() != record.jobs().size()) return results;
  for (const JobInfo& job : record.jobs()) {
    JobResult& result = results.emplace_back(JobResult{.span = run->end.jobs[job.job.value]});
    result.completion = result.span.completion();
    const auto alone = alone_time(record, job.job);
    if (result.completion && alone) result.interference = ratio_of(*result.completion, *alone);
    result.lost = lost_to_failures(record, *run, job.job, result.completion);
  }
  return results;
}

nlohmann::ordered_json jobs_json(const RunReader& record, const Diagnosis& diagnosis) {
  JobsJson list = JobsJson::array();
  const std::vector<SharedLinkRow> shared = longest_shared_links(record);
  const SharedPorts ports(record, diagnosis.shares);
  const std::vector<JobResult> emulated = job_results(record, record.emulated());
  const std::vector<JobResult> reference = job_results(record, record.reference());
  for (const JobInfo& job : record.jobs()) {
    const JobAlone* alone = record.alone(job.job);
    JobsJson& json = list.emplace_back(JobsJson{{"job", job.job.value},
                                                {"name", job.name},
                                                {"first_rank", job.first_rank},
                                                {"ranks", job.ranks},
                                                {"iterations", job.iterations},
                                                {"after", nullptr},
                                                {"start_ps", job.start.ps},
                                                {"alone", nullptr},
                                                {"without_failures", nullptr},
                                                {"emulated", result_json(at(emulated, job.job.value))},
                                                {"reference", result_json(at(reference, job.job.value))},
                                                {"blame", job_blame_json(record, diagnosis, job.job)},
                                                {"waterfall", job_waterfall_json(diagnosis, job.job)},
                                                {"shared", shared_links_json(record, shared, job.job)},
                                                {"shared_ports", ports.json(job.job)}});
    if (job.after.valid()) json["after"] = record.jobs()[job.after.value].name;
    if (alone != nullptr) json["alone"] = {{"model", alone->model}, {"completion_time_ps", alone->completion.ps}};
    if (alone != nullptr && alone->unharmed)
      json["without_failures"] = {{"model", alone->model}, {"completion_time_ps", alone->unharmed->ps}};
  }
  return list;
}

std::string jobs_text(const RunReader& record) {
  if (record.jobs().empty()) return {};
  const JobColumns columns(record);
  std::string text =
      fmt::format("job completion times{}\n  {:<14} {:>6}",
                  columns.alone ? ", and how many times those of the job alone they are" : "", "job", "ranks");
  if (columns.alone) text += fmt::format(" {:>10}", "alone");
  for (const JobColumns::Side& side : columns.sides) {
    text += fmt::format(" {:>10}", side.name);
    if (columns.alone) text += fmt::format(" {:>7}", "times");
  }
  text += '\n';
  const std::vector<const JobInfo*> order = in_printed_order(record.jobs(), columns);
  for (size_t i = 0; i < std::min(order.size(), kPrintedJobs); ++i) {
    const JobInfo& job = *order[i];
    text += fmt::format("  {:<14} {:>6}", job.name, job.ranks);
    if (columns.alone) text += fmt::format(" {:>10}", time_text(alone_time(record, job.job)));
    for (const JobColumns::Side& side : columns.sides) {
      const JobResult& result = side.results[job.job.value];
      text += fmt::format(" {:>10}", time_text(result.completion));
      if (columns.alone) text += fmt::format(" {:>7}", readable_ratio(result.interference));
    }
    text += '\n';
  }
  if (order.size() > kPrintedJobs)
    text += fmt::format("  and {} more, less held up, in jobs.csv\n", order.size() - kPrintedJobs);
  for (const std::string& line : losses(record, job_results(record, record.reference()))) text += "  " + line + "\n";
  return text;
}

std::string html_jobs(const RunReader& record, std::span<const PortShare> shares) {
  if (record.jobs().empty()) return {};
  using HtmlColumn::kText;
  const std::vector<JobResult> emulated = job_results(record, record.emulated());
  const std::vector<JobResult> reference = job_results(record, record.reference());
  const JobColumns columns(record);
  std::vector<HtmlTable::Heading> headings = {{"Job", kText}, {"Ranks"}, {"Iterations"}, {"Begins", kText}};
  if (columns.alone) headings.push_back({"Alone"});
  for (const JobColumns::Side& side : columns.sides) {
    headings.push_back({side.title});
    if (columns.alone) headings.push_back({"Times alone"});
  }
  HtmlTable table("jobs", headings);
  for (const JobInfo& job : record.jobs()) {
    std::vector<HtmlCell> cells = {HtmlCell::key(job.name, color_of(job)), job.ranks, job.iterations,
                                   begin_text(record, job, at(emulated, job.job.value), at(reference, job.job.value))};
    if (columns.alone) cells.emplace_back(alone_time(record, job.job));
    for (const JobColumns::Side& side : columns.sides) {
      const JobResult& result = side.results[job.job.value];
      cells.emplace_back(result.completion);
      if (columns.alone) cells.emplace_back(readable_ratio(result.interference));
    }
    table.add(cells);
  }
  std::string html = "<p class=\"note\">Completion times from the beginning of each job to its end";
  if (columns.alone)
    html += "; alone: in the reference, at the same places and from the same time on, while nobody else is at work";
  html += ".</p>\n" + std::move(table).finish();
  for (const std::string& line : losses(record, reference)) html += "<p>" + html_escaped(line) + "</p>\n";
  return html + spans_svg(record, emulated, reference) + html_shared_links(record) + SharedPorts(record, shares).html();
}

std::string jobs_csv(const RunReader& record) {
  std::string csv =
      "fidelity,model,job,name,first_rank,ranks,iterations,begin_ps,end_ps,jct_ps,alone_ps,interference,"
      "lost_to_failures_ps\n";
  const auto number = [](const auto& value) { return value ? fmt::to_string(value->ps) : std::string(); };
  for (const RecordedRun& run : record.runs()) {
    const std::vector<JobResult> results = job_results(record, &run);
    for (size_t j = 0; j < results.size(); ++j) {
      const JobInfo& job = record.jobs()[j];
      const JobResult& result = results[j];
      csv += fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{}\n", to_string(run.start.fidelity),
                         csv_field(run.start.model), job.job.value, csv_field(job.name), job.first_rank, job.ranks,
                         job.iterations, number(result.span.begin), number(result.span.end), number(result.completion),
                         number(alone_time(record, job.job)),
                         result.interference ? fmt::to_string(*result.interference) : "", number(result.lost));
    }
  }
  return csv;
}

}  // namespace rankwire

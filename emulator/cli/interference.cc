// `interference`: how much each job of a configuration holds each other up.
#include "emulator/report/interference.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/log.h"
#include "base/printable.h"
#include "emulator/assembly/run_folder.h"
#include "emulator/cli/commands.h"
#include "emulator/cli/point_runs.h"
#include "emulator/input/config.h"
#include "emulator/report/output_file.h"

namespace rankwire {
namespace {

/// The jobs at work, which there must be two of.
Interference plan_interference(const RunConfig& config, bool pairs) {
  Interference plan{.name = config.name, .jobs = {}, .numbers = {}, .runs = {}};
  for (uint32_t j = 0; j < config.jobs.size(); ++j) {
    if (config.jobs[j].idle) continue;
    plan.jobs.push_back(config.jobs[j].name);
    plan.numbers.push_back(j);
  }
  if (plan.jobs.size() < 2) {
    fail_input(
        "{}: interference needs at least two 'jobs' that are not idle, and there {}; see docs/jobs.md", config.file,
        plan.jobs.empty() ? std::string("is one 'workload' instead") : fmt::format("is one, '{}'", plan.jobs.front()));
  }
  std::vector<std::vector<uint32_t>> sets = interference_sets(static_cast<uint32_t>(plan.jobs.size()), pairs);
  const size_t digits = fmt::formatted_size("{}", sets.size());
  for (std::vector<uint32_t>& jobs : sets) {
    InterferenceRun& run = plan.runs.emplace_back();
    run.jobs = std::move(jobs);
    run.point.folder = fmt::format("point-{:0{}}", plan.runs.size(), digits);
    run.point.reason = "interrupted before it ended";
  }
  return plan;
}

/// What the runs have in common, and how each differs.
class InterferenceRuns {
 public:
  InterferenceRuns(const InterferenceRequest& request, const RunConfig& config, std::filesystem::path folder,
                   Interference& plan)
      : request_(request), config_(config), folder_(std::move(folder)), plan_(plan) {}

  /// All jobs first: that run says when jobs begin that follow others.
  void run() {
    run_some(0, 1);
    read_begins();
    run_some(1, plan_.runs.size());
    for (InterferenceRun& run : plan_.runs) read_interference_run(run, plan_.numbers, folder_ / run.point.folder);
  }

 private:
  void run_some(size_t first, size_t last) {
    std::vector<PointRun> points;
    PointRunOptions options{.folder = folder_,
                            .kind = request_.kind,
                            .jobs = request_.kind == RunKind::kEmulated ? 1
                                                                        : request_.processes.value_or(std::max(
                                                                              1u, std::thread::hardware_concurrency())),
                            .others = {},
                            .columns = {},
                            .open = &open_};
    for (size_t i = 0; i < plan_.runs.size(); ++i) {
      InterferenceRun& run = plan_.runs[i];
      std::optional<std::vector<std::string>> settings;
      if (i >= first && i < last) settings = settings_of(run);
      if (settings) {
        points.push_back({request_.run.config, std::move(*settings), &run.point});
      } else if (i < first || i >= last) {
        options.others.push_back(run.point.folder);
      }
    }
    run_points(options, points);
  }

  /// Nothing where it is not known when a job begins; the point says so then.
  std::optional<std::vector<std::string>> settings_of(InterferenceRun& run) const {
    std::vector<std::string> settings = request_.run.settings;
    for (uint32_t job = 0; job < plan_.jobs.size(); ++job) {
      const uint32_t number = plan_.numbers[job];
      const std::string key = fmt::format("jobs[{}]", number);
      if (!run.has(job)) {
        settings.push_back(key + ".idle=on");
        continue;
      }
      const std::string& after = config_.jobs[number].after;
      if (after.empty() || is_at_work(run, after)) continue;
      if (!begins_[number]) {
        run.point.verdict = "failed";
        run.point.reason = fmt::format("job '{}' follows '{}', and did not begin in the run of all jobs, {}",
                                       plan_.jobs[job], after, plan_.runs.front().point.folder);
        return std::nullopt;
      }
      settings.push_back(key + ".after=none");
      settings.push_back(fmt::format("{}.start={}ps", key, begins_[number]->ps));
    }
    return settings;
  }

  bool is_at_work(const InterferenceRun& run, const std::string& name) const {
    return std::ranges::any_of(run.jobs, [&](uint32_t job) { return plan_.jobs[job] == name; });
  }

  /// On the first side of the run of all jobs.
  void read_begins() {
    begins_.assign(config_.jobs.size(), std::nullopt);
    const InterferenceRun& all = plan_.runs.front();
    if (all.point.sides.empty()) return;
    const RunReader record(folder_ / all.point.folder);
    const std::vector<JobSpan>& spans = record.runs().front().end.jobs;
    for (size_t j = 0; j < std::min(spans.size(), begins_.size()); ++j) begins_[j] = spans[j].begin;
  }

  const InterferenceRequest& request_;
  const RunConfig& config_;
  const std::filesystem::path folder_;
  OpenPorts open_;
  Interference& plan_;
  std::vector<std::optional<Time>> begins_;  // by number of the job
};

}  // namespace

int run_interference(const InterferenceRequest& request) {
  if (request.processes && request.kind == RunKind::kEmulated)
    fail_input(
        "--processes: emulated runs have the machine to themselves, one after the other; see --twin, --reference");
  const RunConfig config = resolve(request.run.config, request.run.settings, request.kind).config;
  Interference plan = plan_interference(config, request.pairs);
  RunFolder folder(
      {request.run.out, std::filesystem::path("runs") / (plan.name + "-interference"), request.run.overwrite});
  folder.keep();
  InterferenceRuns(request, config, folder.path(), plan).run();
  const nlohmann::ordered_json json = interference_json(plan);
  write_file(folder.path() / "interference.json", json.dump(2) + "\n");
  write_file(folder.path() / "interference.csv", interference_csv(plan));
  write_file(folder.path() / "interference.html", interference_html(plan));
  if (request.run.form == OutputForm::kJson) {
    fmt::print("{}\n", json.dump(2));
  } else if (log_verbosity() == Verbosity::kNormal) {
    fmt::print("{}picture  {}\n", printable(interference_text(plan)), (folder.path() / "interference.html").string());
  }
  std::fflush(stdout);
  if (log_verbosity() == Verbosity::kQuiet) std::ranges::for_each(doubtful_runs(plan), log_error);
  return exit_status(plan);
}

}  // namespace rankwire

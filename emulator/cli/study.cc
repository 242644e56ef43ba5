// `study`: the figures of a file, whose points are simulations.
#include "emulator/report/study.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "base/printable.h"
#include "emulator/assembly/run_folder.h"
#include "emulator/cli/asked_columns.h"
#include "emulator/cli/commands.h"
#include "emulator/cli/point_folder.h"
#include "emulator/cli/point_runs.h"
#include "emulator/input/study_file.h"
#include "emulator/report/output_file.h"

namespace rankwire {
namespace {

/// Removes what is not among `chosen`, all of which there must be.
void keep_chosen(StudyFile& study, const StudyRequest& request) {
  const auto known = [&](const std::vector<std::string>& chosen, const char* option, const auto& exists) {
    for (const std::string& name : chosen) {
      if (!exists(name)) fail_input("{}: there is no {} '{}'", request.file, option, name);
    }
  };
  const auto left_out = [](const std::vector<std::string>& chosen, const std::string& name) {
    return !chosen.empty() && std::ranges::find(chosen, name) == chosen.end();
  };
  known(request.figures, "figure",
        [&](const std::string& name) { return std::ranges::count(study.figures, name, &StudyFigure::name) > 0; });
  known(request.groups, "group", [&](const std::string& name) {
    return std::ranges::any_of(study.figures, [&](const StudyFigure& figure) {
      return std::ranges::count(figure.groups, name, &StudyGroup::label) > 0;
    });
  });
  for (StudyFigure& figure : study.figures)
    std::erase_if(figure.groups, [&](const StudyGroup& group) { return left_out(request.groups, group.label); });
  std::erase_if(study.figures, [&](const StudyFigure& figure) {
    return left_out(request.figures, figure.name) || figure.groups.empty();
  });
  if (study.figures.empty()) fail_input("{}: none of these groups is in these figures", request.file);
}

/// Points of one study; those that say the same are one simulation.
class StudyRunner {
 public:
  explicit StudyRunner(const StudyRequest& request) : request_(request) {}

  /// Throws Error(kInput) when a point's configuration is wrong.
  void add(const StudyPoint& point, SweepPoint& result) {
    PointRun run{point.config.string(), point.settings, &result};
    run.settings.insert(run.settings.end(), request_.settings.begin(), request_.settings.end());
    const auto [same, is_new] = first_.try_emplace({run.config, run.settings}, &result);
    copies_.emplace_back(&result, same->second);
    if (!is_new) return;
    try {
      resolve(run.config, run.settings, simulation_kind(request_.twin));
    } catch (const Error& error) {
      fail_at(point.origin, "{}", error.what());
    }
    runs_.push_back(std::move(run));
  }

  /// Those that are simulated, when all have been added.
  const std::vector<PointRun>& points() {
    const size_t digits = fmt::formatted_size("{}", runs_.size());
    for (size_t i = 0; i < runs_.size(); ++i) runs_[i].point->folder = fmt::format("point-{:0{}}", i + 1, digits);
    return runs_;
  }

  void run(const std::filesystem::path& folder, const std::vector<SweepColumn>& columns) {
    run_points({.folder = folder,
                .kind = simulation_kind(request_.twin),
                .jobs = request_.jobs,
                .others = {},
                .columns = columns,
                .part = request_.part},
               runs_);
  }

  /// Tells the others that say the same.
  void copy() {
    for (const auto& [result, source] : copies_) {
      std::vector<std::string> values = std::move(result->values);
      if (result != source) *result = *source;
      result->values = std::move(values);
    }
  }

 private:
  const StudyRequest& request_;
  std::vector<PointRun> runs_;
  std::map<std::pair<std::string, std::vector<std::string>>, SweepPoint*> first_;
  std::vector<std::pair<SweepPoint*, SweepPoint*>> copies_;  ///< every point, and the one that is simulated for it
};

Study plan_study(const StudyFile& file, std::vector<SweepColumn> columns) {
  Study study{file.name, file.title, std::move(columns), {}};
  for (const StudyFigure& figure : file.figures) {
    StudyReportFigure& drawn = study.figures.emplace_back();
    drawn.title = figure.title;
    drawn.lines = figure.form == FigureForm::kLines;
    drawn.sweep = {
        .name = figure.name, .keys = {figure.groups_are, figure.points_are}, .columns = study.columns, .points = {}};
    for (const StudyGroup& group : figure.groups) {
      for (const StudyPoint& point : group.points) {
        drawn.sweep.points.push_back({.values = {group.label, point.label}, .reason = "interrupted before it ended"});
      }
    }
  }
  return study;
}

/// The points of the file beside those of the plan, which are in the same order.
void add_points(const StudyFile& file, Study& study, StudyRunner& runner) {
  for (size_t i = 0; i < file.figures.size(); ++i) {
    auto result = study.figures[i].sweep.points.begin();
    for (const StudyGroup& group : file.figures[i].groups) {
      for (const StudyPoint& point : group.points) runner.add(point, *result++);
    }
  }
}

}  // namespace

int run_study(const StudyRequest& request) {
  StudyFile file = read_study_file(request.file);
  keep_chosen(file, request);
  Study study = plan_study(file, asked_columns(request.columns));
  StudyRunner runner(request);
  add_points(file, study, runner);
  const std::vector<PointRun>& runs = runner.points();
  const PointFolder folder(request.part, {request.out, std::filesystem::path("runs") / study.name, request.overwrite},
                           runs);
  runner.run(folder.path(), study.columns);
  nlohmann::ordered_json json;
  const std::string parts = folder.finish(runs, study.columns, [&] {
    runner.copy();
    std::vector<SweepPoint> points;
    for (const StudyReportFigure& figure : study.figures)
      points.insert(points.end(), figure.sweep.points.begin(), figure.sweep.points.end());
    warn_of_unknown_columns(study.columns, points, folder.path());
    json = study_json(study);
    write_file(folder.path() / "study.json", json.dump(2) + "\n");
    write_file(folder.path() / "study.csv", study_csv(study));
    write_file(folder.path() / "study.html", study_html(study));
  });
  if (request.form == OutputForm::kJson) {
    fmt::print("{}\n", json.dump(2));
  } else if (log_verbosity() == Verbosity::kNormal) {
    fmt::print("{}figures  {}\n", printable(study_tables(study)), (folder.path() / "study.html").string());
    if (!parts.empty()) fmt::print("{}\n", parts);
  }
  std::fflush(stdout);
  if (log_verbosity() == Verbosity::kQuiet) {
    for (const StudyReportFigure& figure : study.figures) std::ranges::for_each(failed_points(figure.sweep), log_error);
  }
  return folder.status(runs);
}

}  // namespace rankwire

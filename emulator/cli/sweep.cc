#include "emulator/cli/sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <set>

#include "base/error.h"
#include "base/log.h"
#include "base/printable.h"
#include "emulator/assembly/run_folder.h"
#include "emulator/cli/asked_columns.h"
#include "emulator/cli/point_folder.h"
#include "emulator/cli/point_runs.h"
#include "emulator/input/config.h"
#include "emulator/report/output_file.h"
#include "emulator/report/sweep.h"

namespace rankwire {
namespace {

constexpr size_t kMostPoints = 10'000;

/// At each `separator` that stands in no brackets.
std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts(1);
  int depth = 0;
  for (const char c : text) {
    if (c == '[' || c == '{') ++depth;
    if (c == ']' || c == '}') --depth;
    if (c == separator && depth == 0) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

/// The points without what comes of them. Settings that no point could run with are errors before the first one runs.
Sweep plan_sweep(const SweepRequest& request) {
  std::vector<SweepAxis> axes;
  Sweep sweep;
  sweep.columns = asked_columns(request.columns);
  for (const std::string& text : request.axes) {
    axes.push_back(parse_sweep_axis(text));
    sweep.keys.insert(sweep.keys.end(), axes.back().keys.begin(), axes.back().keys.end());
  }
  const auto combinations = sweep_settings(axes);
  const size_t digits = fmt::formatted_size("{}", combinations.size());
  for (const std::vector<std::string>& settings : combinations) {
    std::vector<std::string> all = request.run.settings;
    all.insert(all.end(), settings.begin(), settings.end());
    sweep.name = resolve(request.run.config, all, request.kind).config.name;
    SweepPoint& point = sweep.points.emplace_back();
    point.folder = fmt::format("point-{:0{}}", sweep.points.size(), digits);
    for (size_t i = 0; i < settings.size(); ++i) point.values.push_back(settings[i].substr(sweep.keys[i].size() + 1));
    point.reason = "interrupted before it ended";
  }
  return sweep;
}

std::vector<PointRun> sweep_points(const SweepRequest& request, Sweep& sweep) {
  std::vector<PointRun> runs;
  for (SweepPoint& point : sweep.points) {
    std::vector<std::string> settings = request.run.settings;
    for (size_t i = 0; i < sweep.keys.size(); ++i) settings.push_back(sweep.keys[i] + "=" + point.values[i]);
    runs.push_back({request.run.config, std::move(settings), &point});
  }
  return runs;
}

}  // namespace

SweepAxis parse_sweep_axis(std::string_view text) {
  const size_t equals = text.find('=');
  if (equals == 0 || equals == std::string_view::npos)
    fail_input("--sweep {}: 'key=value,value' is expected, such as transport.window=16,32,64", text);
  SweepAxis axis;
  axis.keys = split(text.substr(0, equals), '+');
  for (const std::string& values : split(text.substr(equals + 1), ',')) {
    axis.values.push_back(axis.keys.size() == 1 ? std::vector{values} : split(values, '+'));
    if (axis.values.back().size() != axis.keys.size() || std::ranges::count(axis.values.back(), "") > 0) {
      fail_input("--sweep {}: '{}' is not {}", text, values,
                 axis.keys.size() == 1 ? "a value" : fmt::format("{} values with a + in between", axis.keys.size()));
    }
  }
  return axis;
}

std::vector<std::vector<std::string>> sweep_settings(const std::vector<SweepAxis>& axes) {
  std::set<std::string> keys;
  std::vector<std::vector<std::string>> all(1);
  for (const SweepAxis& axis : axes) {
    for (const std::string& key : axis.keys) {
      if (!keys.insert(key).second) fail_input("--sweep: {} is swept twice", key);
    }
    if (all.size() * axis.values.size() > kMostPoints) fail_input("--sweep: more than {} points", kMostPoints);
    std::vector<std::vector<std::string>> longer;
    for (const std::vector<std::string>& settings : all) {
      for (const std::vector<std::string>& values : axis.values) {
        longer.push_back(settings);
        for (size_t i = 0; i < values.size(); ++i) longer.back().push_back(axis.keys[i] + "=" + values[i]);
      }
    }
    all = std::move(longer);
  }
  return all;
}

int run_sweep(const SweepRequest& request) {
  Sweep sweep = plan_sweep(request);
  const std::vector<PointRun> points = sweep_points(request, sweep);
  const PointFolder folder(
      request.part, {request.run.out, std::filesystem::path("runs") / (sweep.name + "-sweep"), request.run.overwrite},
      points);
  run_points({.folder = folder.path(),
              .kind = request.kind,
              .jobs = request.jobs,
              .others = {},
              .columns = sweep.columns,
              .part = request.part},
             points);
  nlohmann::ordered_json json;
  const std::string parts = folder.finish(points, sweep.columns, [&] {
    warn_of_unknown_columns(sweep.columns, sweep.points, folder.path());
    json = sweep_json(sweep);
    write_file(folder.path() / "sweep.json", json.dump(2) + "\n");
    write_file(folder.path() / "sweep.csv", sweep_csv(sweep));
    write_file(folder.path() / "sweep.html", sweep_html(sweep));
  });
  if (request.run.form == OutputForm::kJson) {
    fmt::print("{}\n", json.dump(2));
  } else if (log_verbosity() == Verbosity::kNormal) {
    fmt::print("{}picture  {}\n", printable(sweep_table(sweep)), (folder.path() / "sweep.html").string());
    if (!parts.empty()) fmt::print("{}\n", parts);
  }
  std::fflush(stdout);
  if (log_verbosity() == Verbosity::kQuiet) std::ranges::for_each(failed_points(sweep), log_error);
  return folder.status(points);
}

}  // namespace rankwire

#include "emulator/cli/sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <list>
#include <set>
#include <thread>

#include "base/error.h"
#include "base/log.h"
#include "emulator/cli/child_process.h"
#include "emulator/cli/interrupt.h"
#include "emulator/cli/progress.h"
#include "emulator/cli/run_folder.h"
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

/// The last line that a point's process wrote.
std::string last_words(const std::filesystem::path& log) {
  std::ifstream file(log);
  std::string line, last;
  while (std::getline(file, line)) {
    if (!line.empty()) last = line;
  }
  return last.empty() ? "ended without a word" : last;
}

/// The points' processes, as many at a time as there are to be.
class SweepRunner {
 public:
  SweepRunner(const SweepRequest& request, const std::filesystem::path& folder, Sweep& sweep)
      : request_(request), folder_(folder), sweep_(sweep) {}

  /// Returns when all have ended. After an interrupt those that run are interrupted as well, and no more are begun.
  void run() {
    const Progress progress(
        "sweep", sweep_.points.size(), [this] { return ended_.load(); }, "points");
    bool told = false;
    while (true) {
      const bool interrupted = interrupt_flag();
      while (!interrupted && running_.size() < request_.jobs && next_ < sweep_.points.size()) start(next_++);
      if (interrupted && !std::exchange(told, true)) {
        for (Running& point : running_) point.process.signal(SIGINT);
      }
      std::erase_if(running_, [this](Running& point) { return has_ended(point); });
      if (running_.empty() && (interrupted || next_ == sweep_.points.size())) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  }

 private:
  struct Running {
    SweepPoint& point;
    ChildProcess process;
  };

  std::filesystem::path log_of(const SweepPoint& point) const { return folder_ / (point.folder + ".log"); }

  void start(size_t index) {
    SweepPoint& point = sweep_.points[index];
    std::vector<std::string> command{std::filesystem::read_symlink("/proc/self/exe"), "simulate", request_.run.config};
    if (request_.twin) command.push_back("--twin");
    const auto add_setting = [&](const std::string& setting) { command.insert(command.end(), {"--set", setting}); };
    std::ranges::for_each(request_.run.settings, add_setting);
    for (size_t i = 0; i < sweep_.keys.size(); ++i) add_setting(sweep_.keys[i] + "=" + point.values[i]);
    command.insert(command.end(), {"--quiet", "--out", folder_ / point.folder});
    std::filesystem::remove_all(folder_ / point.folder);
    running_.push_back({point, ChildProcess(command, log_of(point))});
  }

  bool has_ended(Running& running) {
    if (!running.process.status()) return false;
    ++ended_;
    SweepPoint& point = running.point;
    try {
      read_sweep_point(point, folder_ / point.folder);
      std::filesystem::remove(log_of(point));
    } catch (const Error&) {
      if (interrupt_flag()) return true;
      point.verdict = "failed";
      point.reason = last_words(log_of(point));
    }
    return true;
  }

  const SweepRequest& request_;
  const std::filesystem::path folder_;
  Sweep& sweep_;
  size_t next_ = 0;
  std::list<Running> running_;
  std::atomic<uint64_t> ended_ = 0;
};

/// The points without what comes of them. Settings that no point could run with are errors before the first one runs.
Sweep plan_sweep(const SweepRequest& request) {
  std::vector<SweepAxis> axes;
  Sweep sweep;
  for (const std::string& text : request.axes) {
    axes.push_back(parse_sweep_axis(text));
    sweep.keys.insert(sweep.keys.end(), axes.back().keys.begin(), axes.back().keys.end());
  }
  const auto combinations = sweep_settings(axes);
  const size_t digits = fmt::formatted_size("{}", combinations.size());
  for (const std::vector<std::string>& settings : combinations) {
    std::vector<std::string> all = request.run.settings;
    all.insert(all.end(), settings.begin(), settings.end());
    sweep.name = load_config(request.run.config, all).name;
    SweepPoint& point = sweep.points.emplace_back();
    point.folder = fmt::format("point-{:0{}}", sweep.points.size(), digits);
    for (size_t i = 0; i < settings.size(); ++i) point.values.push_back(settings[i].substr(sweep.keys[i].size() + 1));
    point.reason = "the sweep was interrupted";
  }
  return sweep;
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
  const RunFolder folder(request.run.out.empty() ? std::filesystem::path("runs") / (sweep.name + "-sweep")
                                                 : request.run.out);
  SweepRunner(request, folder.path(), sweep).run();
  const nlohmann::ordered_json json = sweep_json(sweep);
  write_file(folder.path() / "sweep.json", json.dump(2) + "\n");
  write_file(folder.path() / "sweep.csv", sweep_csv(sweep));
  write_file(folder.path() / "sweep.html", sweep_html(sweep));
  if (request.run.form == OutputForm::kJson) {
    fmt::print("{}\n", json.dump(2));
  } else if (log_verbosity() == Verbosity::kNormal) {
    fmt::print("{}picture  {}\n", sweep_table(sweep), (folder.path() / "sweep.html").string());
  }
  std::fflush(stdout);
  return std::ranges::all_of(sweep.points, [](const SweepPoint& point) { return point.verdict == "ok"; }) ? 0 : 1;
}

}  // namespace rankwire

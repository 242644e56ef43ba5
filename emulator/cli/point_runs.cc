#include "emulator/cli/point_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <list>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "base/child_process.h"
#include "base/error.h"
#include "base/log.h"
#include "emulator/cli/interrupt.h"
#include "emulator/cli/points_in_turn.h"
#include "emulator/cli/progress.h"

namespace rankwire {
namespace {

/// The points' processes, as many at a time as there are to be.
class PointRunner {
 public:
  PointRunner(const PointRunOptions& options, const std::vector<PointRun>& runs) : options_(options), runs_(runs) {}

  /// Returns when all have ended. After an interrupt those that run are interrupted as well, and no more are begun.
  void run() {
    const Progress progress(
        options_.kind == RunKind::kEmulated ? "runs" : "simulations", runs_.size(), [this] { return ended_.load(); },
        "points");
    bool told = false;
    while (true) {
      const bool stopping = interrupt_flag();
      while (!stopping && running_.size() < options_.jobs && next_ < runs_.size()) start(next_++);
      if (stopping && !std::exchange(told, true)) {
        for (Running& point : running_) point.process.signal(SIGINT);
      }
      std::erase_if(running_, [this](Running& point) { return has_ended(point); });
      if (running_.empty() && (stopping || next_ == runs_.size())) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  }

 private:
  struct Running {
    SweepPoint& point;
    ChildProcess process;
  };

  std::filesystem::path log_of(const SweepPoint& point) const { return options_.folder / (point.folder + ".log"); }

  void start(size_t index) {
    SweepPoint& point = *runs_[index].point;
    std::vector<std::string> command{std::filesystem::read_symlink("/proc/self/exe")};
    command.insert(command.end(), {options_.kind == RunKind::kEmulated ? "run" : "simulate", runs_[index].config});
    if (options_.kind == RunKind::kTwin) command.push_back("--twin");
    const std::vector<std::string>& settings = runs_[index].settings;
    for (const std::string& setting : settings) command.insert(command.end(), {"--set", setting});
    // The other processes have the other cores.
    const bool is_told =
        std::ranges::any_of(settings, [](std::string_view text) { return text.starts_with("simulation.threads="); });
    if (!is_told && std::min<size_t>(options_.jobs, runs_.size()) > 1)
      command.insert(command.end(), {"--set", "simulation.threads=1"});
    command.insert(command.end(), {"--quiet", "--out", options_.folder / point.folder});
    std::filesystem::remove_all(options_.folder / point.folder);
    running_.push_back({point, ChildProcess(command, log_of(point))});
  }

  bool has_ended(Running& running) {
    if (!running.process.status()) return false;
    ++ended_;
    SweepPoint& point = running.point;
    try {
      read_sweep_point(point, options_.folder / point.folder, options_.columns);
      std::filesystem::remove(log_of(point));
    } catch (const Error&) {
      if (interrupt_flag()) return true;
      point.verdict = "failed";
      point.reason = last_words(log_of(point));
    }
    return true;
  }

  const PointRunOptions& options_;
  const std::vector<PointRun>& runs_;
  size_t next_ = 0;
  std::list<Running> running_;
  std::atomic<uint64_t> ended_ = 0;
};

/// Runs of points that an earlier, larger sweep or study left in the folder. What holds no run is not ours.
void remove_surplus(const PointRunOptions& options, const std::vector<PointRun>& runs) {
  std::vector<std::filesystem::path> surplus;
  for (const std::filesystem::directory_entry& entry : std::filesystem::directory_iterator(options.folder)) {
    const std::string name = entry.path().filename().string();
    const bool planned = std::ranges::any_of(runs, [&](const PointRun& run) { return run.point->folder == name; }) ||
                         std::ranges::find(options.others, name) != options.others.end();
    if (name.starts_with("point-") && !planned && !entry.is_symlink() &&
        std::filesystem::exists(entry.path() / "run.sqlite"))
      surplus.push_back(entry.path());
  }
  for (const std::filesystem::path& run : surplus) std::filesystem::remove_all(run);
}

}  // namespace

void run_points(const PointRunOptions& options, const std::vector<PointRun>& all) {
  if (options.part.is_all()) remove_surplus(options, all);
  std::vector<PointRun> runs;
  for (size_t i = 0; i < all.size(); ++i)
    if (options.part.has(i)) runs.push_back(all[i]);
  size_t ended = 0;
  if (options.kind == RunKind::kEmulated) {
    const std::string obstacle = obstacle_to_one_process(runs);
    if (obstacle.empty()) {
      ended = run_points_in_turn(options, runs);
    } else {
      log_warning(fmt::format("each point opens the ports anew, in a process of its own: {}", obstacle));
    }
  }
  const std::vector<PointRun> left(runs.begin() + static_cast<std::ptrdiff_t>(ended), runs.end());
  if (!left.empty() && !interrupt_flag()) PointRunner(options, left).run();
}

}  // namespace rankwire

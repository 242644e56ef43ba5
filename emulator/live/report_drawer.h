// The report of a run as it goes on, drawn by another process from the record so far.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace rankwire {

/// How a report is drawn.
struct ReportDrawing {
  std::vector<std::string> command;  ///< a program that writes `page`, and what it has to say into `log`
  std::filesystem::path page, log;   ///< files of this alone
  std::filesystem::path finished;    ///< the report that the run itself writes at its end
};

/// Draws when it is asked to, one at a time, on a thread of its own, whose priority is the lowest and goes to the
/// process. A page that was asked for soon after the last is that one: so drawing takes a twentieth of the time at
/// most. The process is not forked, which would hold up every thread of this one that writes into memory.
class ReportDrawer {
 public:
  using Clock = std::chrono::steady_clock;
  /// From the end of one drawing to the next at least this, and 19 times what the drawing took.
  static constexpr std::chrono::seconds kBetween{5};
  static constexpr std::chrono::seconds kLongest{60};         ///< of one drawing; then it is given up
  static constexpr uint64_t kMostMemory = uint64_t{2} << 30;  ///< that the process may have of its own, bytes

  /// Threads stay on the caller's CPUs.
  explicit ReportDrawer(ReportDrawing drawing);
  /// Ends the process if one is at work.
  ~ReportDrawer();
  ReportDrawer(const ReportDrawer&) = delete;
  ReportDrawer& operator=(const ReportDrawer&) = delete;

  struct Drawn {
    std::shared_ptr<const std::string> page;  ///< null: there is none
    std::string trouble;                      ///< why
  };
  /// Any thread. Waits for the page, kLongest at most.
  Drawn draw();
  /// Who waits goes on without a page, also who asks from now on.
  void stop();

  const ReportDrawing& drawing() const { return drawing_; }

 private:
  void serve();
  Drawn draw_now();

  const ReportDrawing drawing_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool asked_ = false, stopping_ = false;
  uint64_t drawings_ = 0;
  Drawn last_;
  Clock::time_point not_before_{};
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace rankwire

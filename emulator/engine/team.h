// What the workers of a run know of each other.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/units.h"

namespace rankwire {

enum class Verdict : uint8_t { kOk, kFailed, kStalled, kInterrupted };

const char* to_string(Verdict verdict);

/// Who has finished, who has made progress when, and how the run has ended. Each worker's thread writes of itself; all
/// read. Nothing but `end` waits or allocates.
class RunTeam {
 public:
  explicit RunTeam(uint32_t workers) : members_(workers) {}

  uint32_t count() const noexcept { return static_cast<uint32_t>(members_.size()); }

  /// All ranks of the worker have finished.
  void finish(uint32_t worker) noexcept { members_[worker].finished.store(true, std::memory_order_release); }
  bool has_finished(uint32_t worker) const noexcept {
    return members_[worker].finished.load(std::memory_order_acquire);
  }
  /// So have those of all workers.
  bool finished() const noexcept {
    return std::ranges::all_of(members_, [](const Member& m) { return m.finished.load(std::memory_order_acquire); });
  }

  /// When the worker last made progress, run time.
  void note_progress(uint32_t worker, Time at) noexcept {
    members_[worker].progress.store(at.ps, std::memory_order_relaxed);
  }
  /// When that was, as it was told last.
  Time progress_of(uint32_t worker) const noexcept {
    return Time(members_[worker].progress.load(std::memory_order_relaxed));
  }
  /// The last progress of any.
  Time last_progress() const noexcept {
    int64_t latest = INT64_MIN;
    for (const Member& member : members_) latest = std::max(latest, member.progress.load(std::memory_order_relaxed));
    return Time(latest);
  }

  /// Ends the run for all workers. The first verdict stands, and with it its reason.
  void end(Verdict verdict, std::string reason) {
    const std::lock_guard lock(mutex_);
    if (ended_.load(std::memory_order_relaxed)) return;
    verdict_ = verdict, reason_ = std::move(reason);
    ended_.store(true, std::memory_order_release);
  }
  bool ended() const noexcept { return ended_.load(std::memory_order_acquire); }
  /// When `ended`, or no worker runs any more: kOk unless somebody has ended the run, and why.
  Verdict verdict() const { return verdict_; }
  const std::string& reason() const { return reason_; }

 private:
  struct alignas(64) Member {
    std::atomic<bool> finished{false};
    std::atomic<int64_t> progress{INT64_MIN};  // picoseconds
  };

  std::vector<Member> members_;
  std::mutex mutex_;  // of verdict_ and reason_
  std::atomic<bool> ended_{false};
  Verdict verdict_ = Verdict::kOk;
  std::string reason_;
};

}  // namespace rankwire

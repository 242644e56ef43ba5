// Which of a run's ranks one of its engines has.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/id.h"
#include "base/units.h"

namespace rankwire {

/// How many iterations of a job have been ended by all its ranks of each shard, and when the last of these ended. Each
/// shard's thread writes of itself; all read. No allocation after construction.
class SharedIterations {
 public:
  explicit SharedIterations(uint32_t shards) : ended_(shards) {}

  /// When the last node of the shard's ranks so far has ended: before `publish` tells of what it ended.
  void note_end(uint32_t shard, Time at) noexcept { ended_[shard].last.store(at.ps, std::memory_order_relaxed); }
  /// All ranks of the shard have ended so many iterations, and need nothing more of them.
  void publish(uint32_t shard, uint32_t ended) noexcept { ended_[shard].count.store(ended, std::memory_order_release); }
  uint32_t ended_by(uint32_t shard) const noexcept { return ended_[shard].count.load(std::memory_order_acquire); }
  /// Of the shard, as of what `ended_by` has told.
  Time last_end_of(uint32_t shard) const noexcept { return Time(ended_[shard].last.load(std::memory_order_relaxed)); }
  /// Iterations that all ranks of all shards have ended.
  uint32_t ended_by_all() const noexcept {
    uint32_t least = UINT32_MAX;
    for (const Ended& ended : ended_) least = std::min(least, ended.count.load(std::memory_order_acquire));
    return least;
  }
  /// Of all shards, as of what `ended_by_all` has told.
  Time last_end() const noexcept {
    int64_t latest = 0;
    for (const Ended& ended : ended_) latest = std::max(latest, ended.last.load(std::memory_order_relaxed));
    return Time(latest);
  }

 private:
  struct alignas(64) Ended {
    std::atomic<uint32_t> count{0};
    std::atomic<int64_t> last{0};  // picoseconds
  };
  std::vector<Ended> ended_;
};

/// The ranks of one engine. Plain data; what it refers to outlives it.
class Shard {
 public:
  /// All ranks of the run.
  Shard() = default;
  /// Those ranks for which `has`, by rank, says so. `number` is the shard's in `iterations`, which are by JobId.
  Shard(std::vector<bool> has, uint32_t number, std::span<SharedIterations> iterations)
      : has_(std::move(has)), number_(number), iterations_(iterations) {}

  bool has(RankId rank) const noexcept { return iterations_.empty() || has_[rank.value]; }
  uint32_t number() const noexcept { return number_; }
  bool has_others() const noexcept { return !iterations_.empty(); }
  /// Null: there are no other shards.
  SharedIterations* iterations(JobId job) const noexcept {
    return iterations_.empty() ? nullptr : &iterations_[job.value];
  }

 private:
  std::vector<bool> has_;
  uint32_t number_ = 0;
  std::span<SharedIterations> iterations_;
};

}  // namespace rankwire

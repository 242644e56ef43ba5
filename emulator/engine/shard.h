// Which of a run's ranks one of its engines has.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/id.h"

namespace rankwire {

/// How many iterations have been ended by all ranks of each shard. Each shard's thread writes its own number; all
/// read. No allocation after construction.
class SharedIterations {
 public:
  explicit SharedIterations(uint32_t shards) : ended_(shards) {}

  /// All ranks of the shard have ended so many iterations, and need nothing more of them.
  void publish(uint32_t shard, uint32_t ended) noexcept { ended_[shard].count.store(ended, std::memory_order_release); }
  /// Iterations that all ranks of all shards have ended.
  uint32_t ended_by_all() const noexcept {
    uint32_t least = UINT32_MAX;
    for (const Ended& ended : ended_) least = std::min(least, ended.count.load(std::memory_order_acquire));
    return least;
  }

 private:
  struct alignas(64) Ended {
    std::atomic<uint32_t> count{0};
  };
  std::vector<Ended> ended_;
};

/// The ranks of one engine. Plain data; what it refers to outlives it.
class Shard {
 public:
  /// All ranks of the run.
  Shard() = default;
  /// Those ranks for which `has`, by rank, says so. `number` is the shard's in `iterations`.
  Shard(std::vector<bool> has, uint32_t number, SharedIterations& iterations)
      : has_(std::move(has)), number_(number), iterations_(&iterations) {}

  bool has(RankId rank) const noexcept { return iterations_ == nullptr || has_[rank.value]; }
  uint32_t number() const noexcept { return number_; }
  /// Null: there are no other shards.
  SharedIterations* iterations() const noexcept { return iterations_; }

 private:
  std::vector<bool> has_;
  uint32_t number_ = 0;
  SharedIterations* iterations_ = nullptr;
};

}  // namespace rankwire

// Which iteration the ranks may begin.
#pragma once

#include <array>
#include <cstdint>
#include <utility>

#include "emulator/engine/shard.h"

namespace rankwire {

/// Counts who has ended which iteration. A rank may begin one when it has ended the one before and all ranks have ended
/// the one before that: of no more than two iterations is anything under way at once. Its shard's thread alone; what
/// other shards' ranks have ended it takes from SharedIterations, whenever it is told to look.
class IterationGate {
 public:
  /// `ranks`: of this shard; `iterations`: that the run has, > 0. `shared`: of all shards, outlives it; null when there
  /// are no others.
  IterationGate(uint32_t ranks, uint32_t iterations, SharedIterations* shared = nullptr, uint32_t shard = 0)
      : ranks_(ranks), iterations_(iterations), shared_(shared), shard_(shard) {
    if (ranks == 0) ended_here_ = iterations;
    publish();
    look();
  }

  /// A rank of this shard has ended this iteration, of which each tells once. Returns whether ranks that wait may go
  /// on.
  bool end(uint32_t iteration) noexcept {
    uint32_t& ended = ended_[iteration & 1];
    if (++ended < ranks_) return false;
    ended = 0;
    ++ended_here_;
    publish();
    return look();
  }
  /// Whether all ranks have ended more iterations than when last looked, so that those that wait may go on.
  bool look() noexcept {
    const uint32_t all = shared_ != nullptr ? shared_->ended_by_all() : ended_here_;
    return std::exchange(ended_by_all_, all) != all;
  }
  /// Whether a rank that has ended all iterations before this one may begin it.
  bool open(uint32_t iteration) const noexcept { return iteration <= ended_by_all_ + 1; }
  uint32_t ended_by_all() const noexcept { return ended_by_all_; }
  /// All ranks of this shard have ended all iterations.
  bool finished() const noexcept { return ended_here_ == iterations_; }

 private:
  void publish() noexcept {
    if (shared_ != nullptr) shared_->publish(shard_, ended_here_);
  }

  const uint32_t ranks_, iterations_;
  SharedIterations* const shared_;
  const uint32_t shard_;
  std::array<uint32_t, 2> ended_{};  // by parity of the iteration: ranks of this shard that have ended it
  uint32_t ended_here_ = 0;          // iterations that all ranks of this shard have ended
  uint32_t ended_by_all_ = 0;        // of all shards, when last looked
};

}  // namespace rankwire

// Which iteration the ranks may begin.
#pragma once

#include <array>
#include <cstdint>

namespace rankwire {

/// Counts who has ended which iteration. A rank may begin one when it has ended the one before and all ranks have ended
/// the one before that: of no more than two iterations is anything under way at once. One thread.
class IterationGate {
 public:
  /// `iterations`: that the run has, > 0.
  IterationGate(uint32_t ranks, uint32_t iterations) : ranks_(ranks), iterations_(iterations) {}

  /// A rank has ended this iteration, of which each tells once. Returns whether it was the last of all ranks, so that
  /// those that wait may go on.
  bool end(uint32_t iteration) noexcept {
    uint32_t& ended = ended_[iteration & 1];
    if (++ended < ranks_) return false;
    ended = 0;
    ++ended_by_all_;
    return true;
  }
  /// Whether a rank that has ended all iterations before this one may begin it.
  bool open(uint32_t iteration) const noexcept { return iteration <= ended_by_all_ + 1; }
  uint32_t ended_by_all() const noexcept { return ended_by_all_; }
  /// All ranks have ended all iterations.
  bool finished() const noexcept { return ranks_ == 0 || ended_by_all_ == iterations_; }

 private:
  const uint32_t ranks_, iterations_;
  std::array<uint32_t, 2> ended_{};  // by parity of the iteration: ranks that have ended it
  uint32_t ended_by_all_ = 0;        // iterations
};

}  // namespace rankwire

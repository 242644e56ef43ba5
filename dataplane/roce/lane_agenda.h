// Which of many lanes have something to do, and when, without asking each.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/units.h"

namespace rankwire {

/// A lane is marked when something has changed for it, and has a time at which it acts by itself. The times stand in
/// blocks of lanes, each of which knows its earliest: one lane at a time is found among few, and hundreds that are due
/// at once cost a comparison each. No allocation after construction; one thread.
class LaneAgenda {
 public:
  explicit LaneAgenda(uint32_t lanes)
      : marks_(lanes / kBlock + 1),
        of_block_(std::min(lanes, kBlock)),
        times_(marks_.size() * kBlock, Time::never()),
        earliest_(marks_.size(), Time::never()) {
    taken_.reserve(lanes);
  }

  /// Does nothing when the lane is marked already.
  void mark(uint32_t lane) noexcept { marks_[lane / kBlock] |= uint64_t{1} << lane % kBlock; }
  /// The lane has something to do at `at`, if not before.
  void wake_by(uint32_t lane, Time at) noexcept {
    times_[lane] = std::min(times_[lane], at);
    earliest_[lane / kBlock] = std::min(earliest_[lane / kBlock], at);
  }
  /// The lane acts by itself at `at`; never(): it does not. What it was before is forgotten.
  void wake_at(uint32_t lane, Time at) noexcept {
    const Time before = times_[lane];
    times_[lane] = at;
    Time& earliest = earliest_[lane / kBlock];
    if (at <= earliest) {
      earliest = at;
    } else if (before == earliest) {
      earliest = *std::ranges::min_element(times_of(lane / kBlock));
    }
  }

  /// Marks the lanes whose time has come by `now`, and calls `begin(lane)` for each that is marked, in ascending order.
  /// Those that it marks are not among them.
  template <class Begin>
  void begin(Time now, Begin begin) noexcept {
    for (uint32_t block = 0; block < marks_.size(); ++block) {
      if (earliest_[block] > now) continue;
      const std::span<const Time> times = times_of(block);
      for (uint32_t i = 0; i < times.size(); ++i) marks_[block] |= uint64_t{times[i] <= now} << i;
    }
    list_marked();
    for (const uint32_t lane : taken_) begin(lane);
  }
  /// Calls `act(lane)` for each lane that is marked, in ascending order; it tells when the lane acts next, whatever has
  /// marked it before or meanwhile. Marks are gone before the first call. Before a lane's turn comes, `expect(lane, n)`
  /// is called, n = kFarthest .. 1 lanes ahead.
  template <class Act, class Expect>
  void take(Act act, Expect expect) noexcept {
    list_marked();
    std::ranges::fill(marks_, 0);
    for (size_t i = 0; i < taken_.size(); ++i) {
      for (size_t ahead = kFarthest; ahead > 0; --ahead)
        if (i + ahead < taken_.size()) expect(taken_[i + ahead], ahead);
      const Time next = act(taken_[i]);
      unmark(taken_[i]);
      wake_at(taken_[i], next);
    }
  }
  static constexpr size_t kFarthest = 5;

  /// Calls `see(lane)` for each marked lane.
  template <class See>
  void look(See see) const noexcept {
    for (uint32_t block = 0; block < marks_.size(); ++block)
      for (uint64_t bits = marks_[block]; bits != 0; bits &= bits - 1)
        see(block * kBlock + static_cast<uint32_t>(std::countr_zero(bits)));
  }
  /// The earliest time, or never() when there is none.
  Time next() const noexcept { return *std::ranges::min_element(earliest_); }
  /// Whose that is. Only when there is one.
  uint32_t first() const noexcept {
    const auto block = static_cast<size_t>(std::ranges::min_element(earliest_) - earliest_.begin());
    const std::span<const Time> times = times_of(static_cast<uint32_t>(block));
    return static_cast<uint32_t>(block * kBlock) +
           static_cast<uint32_t>(std::ranges::find(times, earliest_[block]) - times.begin());
  }

 private:
  static constexpr uint32_t kBlock = 64;

  std::span<const Time> times_of(uint32_t block) const noexcept { return {&times_[block * kBlock], of_block_}; }
  void unmark(uint32_t lane) noexcept { marks_[lane / kBlock] &= ~(uint64_t{1} << lane % kBlock); }
  void list_marked() noexcept {
    taken_.clear();
    look([this](uint32_t lane) { taken_.push_back(lane); });
  }

  std::vector<uint64_t> marks_;  ///< a bit a lane
  const uint32_t of_block_;      ///< lanes of a block: fewer than kBlock where there are no more
  std::vector<Time> times_;      ///< by lane
  std::vector<Time> earliest_;   ///< by block of lanes
  std::vector<uint32_t> taken_;
};

}  // namespace rankwire

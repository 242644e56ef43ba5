// Which of many lanes have something to do, and when, without asking each.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/units.h"

namespace rankwire {

/// A lane is marked when something has changed for it, and has a time at which it acts by itself. The times stand in a
/// binary heap that knows the place of each lane. No allocation after construction; one thread.
class LaneAgenda {
 public:
  explicit LaneAgenda(uint32_t lanes) : is_marked_(lanes), place_(lanes, kNowhere) {
    marked_.reserve(lanes);
    taken_.reserve(lanes);
    heap_.reserve(lanes);
  }

  /// Does nothing when the lane is marked already.
  void mark(uint32_t lane) noexcept {
    if (is_marked_[lane] != 0) return;
    is_marked_[lane] = 1;
    marked_.push_back(lane);
  }
  /// The lane acts by itself at `at`; never(): it does not. What it was before is forgotten.
  void wake_at(uint32_t lane, Time at) noexcept {
    const uint32_t place = place_[lane];
    if (place == kNowhere) {
      if (at == Time::never()) return;
      heap_.push_back({at, lane});
      rise(static_cast<uint32_t>(heap_.size()) - 1);
    } else if (at == Time::never()) {
      remove(place);
    } else if (at < heap_[place].at) {
      heap_[place].at = at;
      rise(place);
    } else if (at > heap_[place].at) {
      heap_[place].at = at;
      sink(place);
    }
  }

  /// Calls `act(lane)` for each lane that is marked or whose time has come by `now`, in ascending order; it tells when
  /// the lane acts next. Marks are gone before the first call.
  template <class Act>
  void take_due(Time now, Act act) noexcept {
    while (!heap_.empty() && heap_.front().at <= now) {
      mark(heap_.front().lane);
      // The last of them gets its next time where it stands.
      if (earliest_behind_first() > now) break;
      remove(0);
    }
    if (marked_.empty()) return;
    taken_.swap(marked_);
    std::sort(taken_.begin(), taken_.end());
    for (const uint32_t lane : taken_) is_marked_[lane] = 0;
    for (const uint32_t lane : taken_) wake_at(lane, act(lane));
    taken_.clear();
  }

  /// Calls `see(lane)` for each marked lane.
  template <class See>
  void look(See see) const noexcept {
    for (const uint32_t lane : marked_) see(lane);
  }
  /// Calls `see(lane)` for those of which one acts by itself as the next but one, and `see_next(lane)` for the next.
  template <class See, class SeeNext>
  void look_ahead(See see, SeeNext see_next) const noexcept {
    for (size_t place = 1; place < std::min<size_t>(heap_.size(), 3); ++place) see(heap_[place].lane);
    if (!heap_.empty()) see_next(heap_.front().lane);
  }
  /// The earliest time of those that are not marked, or earlier; never() when there is none.
  Time next() const noexcept { return heap_.empty() ? Time::never() : heap_.front().at; }

 private:
  static constexpr uint32_t kNowhere = UINT32_MAX;
  struct Entry {
    Time at;
    uint32_t lane;
  };

  Time earliest_behind_first() const noexcept {
    Time earliest = Time::never();
    for (size_t place = 1; place < std::min<size_t>(heap_.size(), 3); ++place)
      earliest = std::min(earliest, heap_[place].at);
    return earliest;
  }
  void put(uint32_t place, const Entry& entry) noexcept {
    heap_[place] = entry;
    place_[entry.lane] = place;
  }
  void rise(uint32_t place) noexcept {
    const Entry entry = heap_[place];
    for (; place > 0 && entry.at < heap_[(place - 1) / 2].at; place = (place - 1) / 2)
      put(place, heap_[(place - 1) / 2]);
    put(place, entry);
  }
  void sink(uint32_t place) noexcept {
    const Entry entry = heap_[place];
    const auto size = static_cast<uint32_t>(heap_.size());
    for (uint32_t child; (child = 2 * place + 1) < size; place = child) {
      if (child + 1 < size && heap_[child + 1].at < heap_[child].at) ++child;
      if (entry.at <= heap_[child].at) break;
      put(place, heap_[child]);
    }
    put(place, entry);
  }
  void remove(uint32_t place) noexcept {
    place_[heap_[place].lane] = kNowhere;
    const Entry last = heap_.back();
    heap_.pop_back();
    if (place == heap_.size()) return;
    put(place, last);
    rise(place);
    sink(place_[last.lane]);
  }

  std::vector<uint8_t> is_marked_;
  std::vector<uint32_t> marked_, taken_;
  std::vector<Entry> heap_;
  std::vector<uint32_t> place_;  ///< by lane: in the heap
};

}  // namespace rankwire

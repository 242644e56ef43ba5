// The deadlines of many queue pairs.
#pragma once

#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/units.h"

namespace rankwire {

/// Each index 0 .. capacity - 1 has at most one deadline. Deadlines are `now` plus one of a few durations, so there is
/// a list for each duration, in which the order of arming is the order of the deadlines (Varghese and Lauck 1987,
/// scheme 2 with insertion at the tail only). Arming and disarming take constant time. No allocation after
/// construction; one thread.
class DeadlineLists {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;
  /// ConnectX's early time-outs, the regular one and the 32 RNR timers are 43.
  static constexpr uint32_t kMaxDurations = 48;

  static constexpr size_t kBytesEach = 2 * sizeof(uint32_t);  ///< memory an index takes

  explicit DeadlineLists(uint32_t capacity = 0)
      : links_(capacity + kMaxDurations, Link{kAbsent, kAbsent}), capacity_(capacity) {}

  /// The deadline of `index` is `wait` after now; what it was before is forgotten. `now` does not decrease much.
  void arm(uint32_t index, Duration wait) noexcept {
    disarm(index);
    const uint32_t end = list_of(wait);
    const uint32_t last = links_[end].previous;
    links_[index] = {last, end};
    links_[last].next = index;
    links_[end].previous = index;
  }
  /// Does nothing when the index has no deadline.
  void disarm(uint32_t index) noexcept {
    const Link link = links_[index];
    if (link.next == kAbsent) return;
    links_[link.previous].next = link.next;
    links_[link.next].previous = link.previous;
    links_[index] = {kAbsent, kAbsent};
  }
  /// The index with the earliest deadline, or kNone. `deadline_of` tells that of an armed index. `disorder`: how much
  /// `now` has decreased at most from one call of `arm` to a later one; so far behind its front a list is searched.
  template <class DeadlineOf>
  uint32_t first(DeadlineOf deadline_of, Duration disorder = Duration()) const noexcept {
    uint32_t earliest = kNone;
    Time deadline = Time::never();
    for (uint32_t list = 0; list < lists_; ++list) {
      const uint32_t end = capacity_ + list;
      Time first_of_list = Time::never();
      for (uint32_t index = links_[end].next; index != end; index = links_[index].next) {
        const Time at = deadline_of(index);
        if (first_of_list <= at - disorder) break;
        first_of_list = std::min(first_of_list, at);
        if (earliest != kNone && at >= deadline) continue;
        earliest = index;
        deadline = at;
      }
    }
    return earliest;
  }

 private:
  static constexpr uint32_t kAbsent = UINT32_MAX;
  struct Link {
    uint32_t previous, next;
  };

  uint32_t list_of(Duration wait) noexcept {
    uint32_t list = 0;
    while (list < lists_ && waits_[list] != wait) ++list;
    if (list == lists_) {
      assert(lists_ < kMaxDurations);
      waits_[lists_++] = wait;
      links_[capacity_ + list] = {capacity_ + list, capacity_ + list};
    }
    return capacity_ + list;
  }

  std::vector<Link> links_;  // of the indexes, then the lists' ends
  uint32_t capacity_;
  uint32_t lists_ = 0;
  std::array<Duration, kMaxDurations> waits_;
};

}  // namespace rankwire

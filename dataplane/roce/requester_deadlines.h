// When requesters do something by themselves.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/units.h"
#include "dataplane/protocol/deadline_lists.h"

namespace rankwire {

/// The deadlines of a transport's requesters, with a time before which none takes effect: that is all that most turns
/// of the loop look at. When a deadline takes effect is `expiry_of(queue_pair)`, not before the deadline itself; the
/// caller may put it off at any time. Its transport's own, in that thread. No allocation after construction.
class RequesterDeadlines {
 public:
  static constexpr uint32_t kNone = DeadlineLists::kNone;
  static constexpr size_t kBytesEach = DeadlineLists::kBytesEach;

  explicit RequesterDeadlines(uint32_t queue_pairs = 0) : lists_(queue_pairs) {}

  /// The requester's deadline was `before` and is `deadline`; never(): there is none. One that is new counts from
  /// `now`.
  [[gnu::always_inline]] void note(uint32_t queue_pair, Time now, Time before, Time deadline) noexcept {
    if (deadline == before) return;
    if (deadline == Time::never()) {
      lists_.disarm(queue_pair);
    } else {
      lists_.arm(queue_pair, deadline - now);
      bound_ = std::min(bound_, deadline);
    }
  }
  /// Forgets the queue pair's deadline, if it has one.
  void disarm(uint32_t queue_pair) noexcept { lists_.disarm(queue_pair); }
  /// From one call of `note` to a later one `now` may decrease so much.
  void allow_disorder(Duration most) noexcept { disorder_ = std::max(disorder_, most); }

  /// The queue pair whose deadline takes effect first, or kNone.
  template <class ExpiryOf>
  uint32_t next(ExpiryOf expiry_of) const noexcept {
    return lists_.first(expiry_of, disorder_);
  }
  /// When that is, if it is before `limit`; otherwise a time from `limit` on before which none takes effect.
  template <class ExpiryOf>
  Time earliest(Time limit, ExpiryOf expiry_of) const noexcept {
    if (bound_ < limit) {
      const uint32_t first = next(expiry_of);
      bound_ = first == kNone ? Time::never() : expiry_of(first);
    }
    return bound_;
  }

 private:
  DeadlineLists lists_;
  mutable Time bound_ = Time::never();  // no deadline takes effect earlier
  Duration disorder_;
};

}  // namespace rankwire

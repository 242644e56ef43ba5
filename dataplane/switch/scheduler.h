// The order in which the priorities of a port send.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "dataplane/switch/options.h"

namespace rankwire {

/// Strict priorities and deficit round robin over the others: see SchedulerOptions. One port's; one thread.
class PortScheduler {
 public:
  /// The priority, one of `eligible` (not empty), whose first frame goes next. `length_of(priority)` is that frame's.
  /// Whoever calls it sends the frame.
  template <class LengthOf>
  uint32_t pick(const SchedulerOptions& options, PrioritySet eligible, LengthOf length_of) noexcept {
    if (const uint32_t strict = eligible & options.strict; strict != 0) return std::bit_width(strict) - 1;
    if (std::has_single_bit(eligible)) {
      const auto only = static_cast<uint32_t>(std::countr_zero(eligible));
      pick_only(only);
      return only;
    }
    while (true) {
      if ((eligible & priority_bit(current_)) != 0) {
        if (!granted_) deficit_[current_] += options.weights[current_] * kQuantum;
        granted_ = true;
        const auto length = static_cast<int32_t>(length_of(current_));
        if (length <= deficit_[current_]) {
          deficit_[current_] -= length;
          return current_;
        }
      } else {
        deficit_[current_] = 0;
      }
      enter((current_ + 1) % kPriorities);
    }
  }

  /// No other priority but `only`, which is not strict, has a frame to send. Once more changes nothing.
  void pick_only(uint32_t only) noexcept {
    if (only != current_) enter(only);
    deficit_[only] = 0;
  }

 private:
  /// Longer than any frame, so that nobody is passed over for long (Shreedhar and Varghese, section 3).
  static constexpr int32_t kQuantum = 16384;

  void enter(uint32_t priority) noexcept {
    current_ = priority;
    granted_ = false;
  }

  std::array<int32_t, kPriorities> deficit_{};
  uint32_t current_ = 0;
  bool granted_ = false;
};

}  // namespace rankwire

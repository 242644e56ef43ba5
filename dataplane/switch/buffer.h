// The packet memory of one switch: who may use how much of it.
#pragma once

#include <algorithm>
#include <cstdint>

#include "dataplane/switch/options.h"

namespace rankwire {

/// What the frames of one priority that came by one port occupy: the reserve as far as it goes, then `headroom`, and
/// the shared buffer for the rest.
struct PriorityGroup {
  Bytes total;
  uint64_t headroom : 63 = 0;  ///< bytes
  bool paused : 1 = false;     ///< XOFF was sent last
};
static_assert(sizeof(PriorityGroup) == 16);

/// Admission as in SAI's model and the MMU of HPCC's simulator (switch-mmu.cc): see BufferOptions. Of a frame that
/// begins in one kind of memory the rest is charged to the next. One thread.
class SharedBuffer {
 public:
  explicit SharedBuffer(const BufferOptions& options) : options_(options) {}

  /// What any output queue may have.
  const std::optional<Bytes>& queue_bound() const noexcept { return options_.queue_limit; }
  Bytes used() const noexcept { return used_; }
  Bytes free() const noexcept { return options_.shared - used_; }
  /// What a priority group of a lossless priority may have of the shared buffer.
  Bytes group_limit() const noexcept { return options_.ingress.of(free()); }
  /// What an output queue of a lossy priority may have.
  Bytes queue_limit() const noexcept { return options_.egress.of(free()); }

  /// Charges `length` and returns true, or changes nothing. `queue`: bytes in the output queue.
  bool admit_lossy(PriorityGroup& group, Bytes queue, Bytes length) noexcept {
    if (queue + length > queue_limit()) return false;
    const Bytes rest = beyond_reserve(group, length);
    if (rest > free()) return false;
    group.total += length;
    used_ += rest;
    return true;
  }
  bool admit_lossless(PriorityGroup& group, Bytes length) noexcept {
    const Bytes rest = beyond_reserve(group, length);
    if (rest.count == 0 || (group.headroom == 0 && rest <= free() && shared(group) + rest <= group_limit())) {
      group.total += length;
      used_ += rest;
      return true;
    }
    if (headroom(group) + rest > options_.headroom) return false;
    group.total += length;
    group.headroom += static_cast<uint64_t>(rest.count);
    return true;
  }

  /// Whether a lossless frame that leaves as soon as it has come would leave no trace: the reserve holds it.
  bool passes_lossless(const PriorityGroup& group, Bytes length) const noexcept {
    return !group.paused && group.headroom == 0 && group.total + length <= options_.reserve && group_limit() > Bytes();
  }

  /// Takes back what a frame of the group was charged: headroom first, reserve last.
  void release(PriorityGroup& group, Bytes length) noexcept {
    const Bytes before = shared(group);
    group.headroom -= static_cast<uint64_t>(std::min(length, headroom(group)).count);
    group.total -= length;
    used_ -= before - shared(group);
  }

  /// XOFF: headroom is in use, or the limit is reached.
  bool must_pause(const PriorityGroup& group) const noexcept {
    return group.headroom > 0 || shared(group) >= group_limit();
  }
  /// XON. An empty group may always resume.
  bool may_resume(const PriorityGroup& group) const noexcept {
    if (group.headroom > 0) return false;
    const Bytes held = shared(group);
    return held.count == 0 || held + options_.resume_offset <= group_limit();
  }

 private:
  static Bytes headroom(const PriorityGroup& group) noexcept { return Bytes(static_cast<int64_t>(group.headroom)); }
  /// What the group has of the shared buffer.
  Bytes shared(const PriorityGroup& group) const noexcept {
    return std::max(Bytes(), group.total - options_.reserve) - headroom(group);
  }
  /// As much of `length` as the rest of the reserve does not hold.
  Bytes beyond_reserve(const PriorityGroup& group, Bytes length) const noexcept {
    return length - std::min(length, std::max(Bytes(), options_.reserve - group.total));
  }

  Bytes used_;
  BufferOptions options_;
};

}  // namespace rankwire

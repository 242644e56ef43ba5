// The packet memory of one switch: who may use how much of it.
#pragma once

#include <algorithm>

#include "dataplane/fabric_options.h"

namespace rankwire {

/// What the frames of one priority that came by one port occupy.
struct PriorityGroup {
  Bytes reserve, shared, headroom;
  bool paused = false;  ///< XOFF was sent last

  Bytes total() const noexcept { return reserve + shared + headroom; }
};

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
    const Bytes reserved = std::min(length, options_.reserve - group.reserve);
    if (length - reserved > free()) return false;
    group.reserve += reserved;
    charge_shared(group, length - reserved);
    return true;
  }
  bool admit_lossless(PriorityGroup& group, Bytes length) noexcept {
    const Bytes reserved = std::min(length, options_.reserve - group.reserve);
    const Bytes rest = length - reserved;
    if (rest.count == 0 || (group.headroom.count == 0 && rest <= free() && group.shared + rest <= group_limit())) {
      group.reserve += reserved;
      charge_shared(group, rest);
      return true;
    }
    if (group.headroom + rest > options_.headroom) return false;
    group.reserve += reserved;
    group.headroom += rest;
    return true;
  }

  /// Takes back what a frame of the group was charged: headroom first, reserve last.
  void release(PriorityGroup& group, Bytes length) noexcept {
    const Bytes headroom = std::min(length, group.headroom);
    group.headroom -= headroom;
    const Bytes shared = std::min(length - headroom, group.shared);
    group.shared -= shared;
    used_ -= shared;
    group.reserve -= length - headroom - shared;
  }

  /// XOFF: headroom is in use, or the limit is reached.
  bool must_pause(const PriorityGroup& group) const noexcept {
    return group.headroom.count > 0 || group.shared >= group_limit();
  }
  /// XON. An empty group may always resume.
  bool may_resume(const PriorityGroup& group) const noexcept {
    if (group.headroom.count > 0) return false;
    return group.shared.count == 0 || group.shared + options_.resume_offset <= group_limit();
  }

 private:
  void charge_shared(PriorityGroup& group, Bytes length) noexcept {
    group.shared += length;
    used_ += length;
  }

  Bytes used_;
  BufferOptions options_;
};

}  // namespace rankwire

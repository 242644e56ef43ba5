// Waiting frames as FIFO lists that share one array.
#pragma once

#include <cstdint>
#include <type_traits>

#include "base/untouched_array.h"
#include "dataplane/wire/frame.h"

namespace rankwire {

/// A frame in a list. `due` and `frame.arrival` mean what the owner of the list says.
struct StoredFrame {
  Frame frame;
  Time due;
  uint32_t next;
};
static_assert(std::is_trivially_copyable_v<StoredFrame> && sizeof(StoredFrame) == 64);

struct FrameList {
  static constexpr uint32_t kNone = UINT32_MAX;
  uint32_t head = kNone, tail = kNone;
  uint32_t count = 0;
};

/// The array is reserved at construction; since freed places are used again first, only as much of it is ever touched
/// as was full at once. One thread.
class FrameStore {
 public:
  /// Throws std::bad_alloc.
  explicit FrameStore(uint32_t capacity) : entries_(capacity) {}

  StoredFrame& operator[](uint32_t place) noexcept { return entries_[place]; }
  const StoredFrame& operator[](uint32_t place) const noexcept { return entries_[place]; }

  /// Returns the frame's place. The owner keeps the sum of all lists within the capacity.
  uint32_t append(FrameList& list, const Frame& frame, Time due) noexcept {
    const uint32_t place = take();
    (*this)[place] = StoredFrame{frame, due, FrameList::kNone};
    if (list.count++ == 0) {
      list.head = place;
    } else {
      (*this)[list.tail].next = place;
    }
    list.tail = place;
    return place;
  }

  /// `list` is not empty.
  void remove_front(FrameList& list) noexcept {
    const uint32_t place = list.head;
    list.head = (*this)[place].next;
    --list.count;
    (*this)[place].next = free_;
    free_ = place;
  }

 private:
  uint32_t take() noexcept {
    if (free_ == FrameList::kNone) return touched_++;
    const uint32_t place = free_;
    free_ = (*this)[place].next;
    return place;
  }

  UntouchedArray<StoredFrame> entries_;
  uint32_t free_ = FrameList::kNone;
  uint32_t touched_ = 0;
};

}  // namespace rankwire

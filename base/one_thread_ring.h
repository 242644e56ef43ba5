// A bounded queue of trivially copyable items within one thread.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <span>
#include <type_traits>

#include "base/untouched_array.h"

namespace rankwire {

/// SpscRing's interface for producer and consumer in one thread. An empty one begins anew at its first place, so that a
/// ring that is emptied often stays in the caches, however large it may grow. Capacity is rounded up to a power of two.
/// No allocation after construction.
template <class T>
class OneThreadRing {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  explicit OneThreadRing(size_t capacity)
      : mask_(std::bit_ceil(capacity < 2 ? size_t{2} : capacity) - 1), items_(mask_ + 1) {}

  size_t capacity() const { return mask_ + 1; }

  /// Appends the leading items that fit and returns their number.
  size_t push(std::span<const T> items) noexcept {
    return push_made(items.size(), [items](size_t i, T& place) { place = items[i]; });
  }
  /// The same with items that are made where they are to stand: `make(i, place)` writes the whole of item i.
  template <class Make>
  size_t push_made(size_t count, Make make) noexcept {
    const size_t n = std::min(count, capacity() - size());
    for (size_t i = 0; i < n; ++i) make(i, items_[(tail_ + i) & mask_]);
    tail_ += n;
    return n;
  }

  /// Moves up to `out.size()` items to `out` and returns their number.
  size_t pop(std::span<T> out) noexcept {
    const size_t n = std::min(out.size(), size());
    for (size_t i = 0; i < n; ++i) out[i] = items_[(head_ + i) & mask_];
    head_ += n;
    if (head_ == tail_) head_ = tail_ = 0;
    return n;
  }

  /// The oldest item, or null when there is none; valid until `pop`.
  const T* front() noexcept { return head_ == tail_ ? nullptr : &items_[head_ & mask_]; }

  size_t size() const noexcept { return tail_ - head_; }

  /// Fetches the memory of the place that is filled next.
  [[gnu::always_inline]] void fetch() const noexcept { __builtin_prefetch(&items_[tail_ & mask_], 1); }

 private:
  const size_t mask_;
  size_t head_ = 0, tail_ = 0;
  UntouchedArray<T> items_;
};

}  // namespace rankwire

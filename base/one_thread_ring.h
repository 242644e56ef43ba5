// A bounded queue of trivially copyable items within one thread.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "base/untouched_array.h"

namespace rankwire {

/// SpscRing's interface for producer and consumer in one thread. The first kNear places are within the object and the
/// others apart; one that has few items, or none, begins anew at its first place, so that a ring that never has many
/// touches little memory, however large it may grow. Capacity is rounded up to a power of two. No allocation after
/// construction.
template <class T>
class OneThreadRing {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  static constexpr size_t kNear = 16;

  explicit OneThreadRing(size_t capacity)
      : mask_(std::bit_ceil(capacity < 2 ? size_t{2} : capacity) - 1), far_(mask_ < kNear ? 0 : mask_ + 1 - kNear) {}

  size_t capacity() const { return mask_ + 1; }

  /// Appends the leading items that fit and returns their number.
  size_t push(std::span<const T> items) noexcept {
    return push_made(items.size(), [items](size_t i, T& place) { place = items[i]; });
  }
  /// The same with items that are made where they are to stand: `make(i, place)` writes the whole of item i.
  template <class Make>
  size_t push_made(size_t count, Make make) noexcept {
    const size_t n = std::min(count, capacity() - size());
    for (size_t i = 0; i < n; ++i) make(i, at(tail_ + i));
    tail_ += n;
    return n;
  }

  /// Moves up to `out.size()` items to `out` and returns their number.
  size_t pop(std::span<T> out) noexcept {
    return pop_while(out, [](const T&) { return true; });
  }
  /// The same of the leading ones that `is_wanted`.
  template <class IsWanted>
  size_t pop_while(std::span<T> out, IsWanted is_wanted) noexcept {
    const size_t most = std::min(out.size(), size());
    size_t n = 0;
    for (const T* item; n < most && is_wanted(*(item = &at(head_ + n))); ++n) out[n] = *item;
    head_ += n;
    const size_t place = head_ & mask_, left = size();
    if (left == 0 || (left <= kFew && place >= kFew && place + left <= capacity())) begin_anew();
    return n;
  }

  /// The oldest item, or null when there is none; valid until `pop`.
  const T* front() const noexcept { return head_ == tail_ ? nullptr : &at(head_); }
  /// The item that `n` others, n < size(), are in front of; valid until `pop`.
  const T& operator[](size_t n) const noexcept { return at(head_ + n); }

  size_t size() const noexcept { return tail_ - head_; }

  /// Fetches the memory of the place that is filled next.
  [[gnu::always_inline]] void fetch_next() const noexcept { __builtin_prefetch(&at(tail_), 1); }
  /// Fetches the memory of the first items, if there are any.
  [[gnu::always_inline]] void fetch_first() const noexcept {
    const T* const first = &at(head_);
    __builtin_prefetch(first);
    __builtin_prefetch(reinterpret_cast<const uint8_t*>(first) + 64);
  }

 private:
  static constexpr size_t kFew = 4;

  T* near() const noexcept { return reinterpret_cast<T*>(const_cast<std::byte*>(near_.data())); }
  T& at(size_t position) const noexcept {
    const size_t place = position & mask_;
    return place < kNear ? near()[place] : far_.data()[place - kNear];
  }
  /// With the few items that it has, which stand together behind their new places.
  void begin_anew() noexcept {
    const size_t count = size();
    for (size_t i = 0; i < count; ++i) near()[i] = at(head_ + i);
    head_ = 0;
    tail_ = count;
  }

  const size_t mask_;
  size_t head_ = 0, tail_ = 0;
  UntouchedArray<T> far_;                                     ///< all but the first places
  alignas(T) std::array<std::byte, kNear * sizeof(T)> near_;  // without time for constructors
};

}  // namespace rankwire

// A bounded single-producer single-consumer queue of trivially copyable items.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <memory>
#include <span>
#include <type_traits>

namespace rankwire {

/// One thread calls `push`, one other calls `pop`. Capacity is rounded up to a power of two. No allocation after
/// construction. Each side caches the other's index, so an uncontended call touches one shared cache line.
template <class T>
class SpscRing {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  explicit SpscRing(size_t capacity)
      : mask_(std::bit_ceil(capacity < 2 ? size_t{2} : capacity) - 1), items_(std::make_unique<T[]>(mask_ + 1)) {}

  size_t capacity() const { return mask_ + 1; }

  /// Appends the leading items that fit and returns their number. Producer only.
  size_t push(std::span<const T> items) noexcept {
    return push_made(items.size(), [items](size_t i, T& place) { place = items[i]; });
  }
  /// The same with items that are made where they are to stand: `make(i, place)` writes the whole of item i.
  template <class Make>
  size_t push_made(size_t count, Make make) noexcept {
    const size_t tail = tail_.load(std::memory_order_relaxed);
    if (capacity() - (tail - cached_head_) < count) cached_head_ = head_.load(std::memory_order_acquire);
    const size_t room = capacity() - (tail - cached_head_);
    const size_t n = count < room ? count : room;
    for (size_t i = 0; i < n; ++i) make(i, items_[(tail + i) & mask_]);
    tail_.store(tail + n, std::memory_order_release);
    return n;
  }

  /// Moves up to `out.size()` items to `out` and returns their number. Consumer only.
  size_t pop(std::span<T> out) noexcept {
    const size_t head = head_.load(std::memory_order_relaxed);
    if (cached_tail_ - head < out.size()) cached_tail_ = tail_.load(std::memory_order_acquire);
    const size_t available = cached_tail_ - head;
    const size_t n = out.size() < available ? out.size() : available;
    for (size_t i = 0; i < n; ++i) out[i] = items_[(head + i) & mask_];
    head_.store(head + n, std::memory_order_release);
    return n;
  }

  /// The oldest item, or null when there is none. Consumer only; valid until `pop` or `drop`.
  const T* front() noexcept {
    const size_t head = head_.load(std::memory_order_relaxed);
    if (cached_tail_ == head) cached_tail_ = tail_.load(std::memory_order_acquire);
    return cached_tail_ == head ? nullptr : &items_[head & mask_];
  }

  /// Removes the oldest item, which `front` has shown. Consumer only.
  void drop() noexcept { head_.store(head_.load(std::memory_order_relaxed) + 1, std::memory_order_release); }

  /// A moment's view from either side.
  size_t size() const noexcept { return tail_.load(std::memory_order_acquire) - head_.load(std::memory_order_acquire); }

 private:
  const size_t mask_;
  std::unique_ptr<T[]> items_;
  alignas(64) std::atomic<size_t> head_{0};
  size_t cached_tail_ = 0;
  alignas(64) std::atomic<size_t> tail_{0};
  size_t cached_head_ = 0;
};

}  // namespace rankwire

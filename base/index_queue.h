// Queues of small integers (queue pairs) for the hot path.
#pragma once

#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace rankwire {

/// First in, first out, each index at most once. An empty one begins anew at its first place, so that one that is
/// emptied often stays in the caches. No allocation after construction; one thread.
class IndexQueue {
 public:
  /// Of 0 .. capacity - 1.
  explicit IndexQueue(uint32_t capacity = 0)
      : items_(std::make_unique<uint32_t[]>(std::bit_ceil(capacity) + capacity / sizeof(uint32_t) + 1)),
        marks_(reinterpret_cast<uint8_t*>(items_.get() + std::bit_ceil(capacity))),
        mask_(std::bit_ceil(capacity) - 1) {}
  /// Of at most `capacity` of the indexes of `marks`: a byte each, 0 to begin with, borrowed. Queues that never hold
  /// the same index share them.
  IndexQueue(uint32_t capacity, std::span<uint8_t> marks)
      : items_(std::make_unique<uint32_t[]>(std::bit_ceil(capacity))),
        marks_(marks.data()),
        mask_(std::bit_ceil(capacity) - 1) {}
  IndexQueue(IndexQueue&&) = default;
  IndexQueue& operator=(IndexQueue&&) = default;

  /// Memory of the places.
  size_t bytes() const noexcept { return (size_t{mask_} + 1) * sizeof(uint32_t); }
  bool empty() const noexcept { return size_ == 0; }
  uint32_t size() const noexcept { return size_; }
  uint32_t front() const noexcept { return items_[head_ & mask_]; }
  /// The index that `n` others, n < size(), are in front of.
  uint32_t at(uint32_t n) const noexcept { return items_[(head_ + n) & mask_]; }
  uint32_t second() const noexcept { return at(1); }
  uint32_t third() const noexcept { return at(2); }
  /// Fetches the memory of the first place.
  [[gnu::always_inline]] void fetch() const noexcept { __builtin_prefetch(&items_[head_ & mask_], 1); }
  /// Does nothing when the index is queued already.
  void push(uint32_t index) noexcept {
    if (marks_[index] != 0) return;
    marks_[index] = 1;
    items_[(head_ + size_++) & mask_] = index;
  }
  /// Moves the first index behind all others.
  void rotate() noexcept {
    if (size_ == 1) return;
    items_[(head_ + size_) & mask_] = front();
    ++head_;
  }
  class Rotation;
  uint32_t pop() noexcept {
    assert(!empty());
    const uint32_t index = front();
    marks_[index] = 0;
    head_ = --size_ == 0 ? 0 : head_ + 1;
    return index;
  }

 private:
  std::unique_ptr<uint32_t[]> items_;  // the places, and behind them the queue's own marks, if it has any
  uint8_t* marks_;                     // not 0: queued
  uint32_t mask_;
  uint32_t head_ = 0;  // counts on
  uint32_t size_ = 0;
};

/// A queue while one loop takes turns from it. What the loop needs of it is in registers, so whatever the loop writes
/// elsewhere, nothing is read again. Until it ends nobody else uses the queue.
class IndexQueue::Rotation {
 public:
  explicit Rotation(IndexQueue& queue) noexcept
      : queue_(queue), items_(queue.items_.get()), mask_(queue.mask_), head_(queue.head_), size_(queue.size_) {
    look();
  }
  ~Rotation() {
    queue_.head_ = size_ == 0 ? 0 : head_;
    queue_.size_ = size_;
  }
  Rotation(const Rotation&) = delete;
  Rotation& operator=(const Rotation&) = delete;

  bool empty() const noexcept { return size_ == 0; }
  uint32_t size() const noexcept { return size_; }
  uint32_t front() const noexcept { return front_; }
  uint32_t second() const noexcept { return second_; }
  uint32_t third() const noexcept { return third_; }
  void rotate() noexcept {
    items_[(head_ + size_) & mask_] = front_;
    take_next();
  }
  void pop() noexcept {
    queue_.marks_[front_] = 0;
    --size_;
    take_next();
  }

 private:
  uint32_t at(uint32_t n) const noexcept { return items_[(head_ + n) & mask_]; }
  void look() noexcept {
    front_ = at(0);
    second_ = at(1);
    third_ = at(2);
  }
  void take_next() noexcept {
    ++head_;
    if (size_ < 3) return look();
    front_ = second_;
    second_ = third_;
    third_ = at(2);
  }

  IndexQueue& queue_;
  uint32_t* const items_;
  const uint32_t mask_;
  uint32_t head_;
  uint32_t size_;
  uint32_t front_, second_, third_;  // as many of them as there are
};

/// Indexes in the order in which they were added last: with one constant time-out, the order of their deadlines
/// (Varghese and Lauck 1987, scheme 2 with insertion at the tail only). All operations take constant time.
class RecencyList {
 public:
  explicit RecencyList(uint32_t capacity = 0) : links_(capacity + 1, Link{kAbsent, kAbsent}), end_(capacity) {
    links_[end_] = {end_, end_};
  }

  bool empty() const noexcept { return links_[end_].next == end_; }
  uint32_t front() const noexcept { return links_[end_].next; }
  void move_to_back(uint32_t index) noexcept {
    remove(index);
    const uint32_t last = links_[end_].previous;
    links_[index] = {last, end_};
    links_[last].next = index;
    links_[end_].previous = index;
  }
  /// Does nothing when the index is not in the list.
  void remove(uint32_t index) noexcept {
    const Link link = links_[index];
    if (link.next == kAbsent) return;
    links_[link.previous].next = link.next;
    links_[link.next].previous = link.previous;
    links_[index] = {kAbsent, kAbsent};
  }

 private:
  static constexpr uint32_t kAbsent = UINT32_MAX;
  struct Link {
    uint32_t previous, next;
  };
  std::vector<Link> links_;
  uint32_t end_;
};

}  // namespace rankwire

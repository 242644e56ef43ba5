#include "dataplane/ports/frame_pool.h"

#include <algorithm>
#include <bit>

namespace rankwire {
namespace {

constexpr uint32_t kAlignment = 64;

constexpr uint32_t aligned(uint32_t size) {
  return (size + kAlignment - 1) / kAlignment * kAlignment;
}

/// Of an odd number, modulo 2^64. It is right in 3 bits to begin with, and Newton's step doubles them.
constexpr uint64_t inverse(uint64_t odd) {
  uint64_t x = odd;
  for (int bits = 3; bits < 64; bits *= 2) x *= 2 - odd * x;
  return x;
}
static_assert(inverse(17) * 17 == 1 && inverse(UINT64_MAX) == UINT64_MAX);

}  // namespace

FramePool::FramePool(size_t frames, uint32_t frame_capacity, PoolUse use)
    : use_(use),
      size_(frames),
      frame_capacity_(aligned(frame_capacity)),
      capacity_shift_(static_cast<uint32_t>(std::countr_zero(frame_capacity_))),
      capacity_inverse_(inverse(frame_capacity_ >> capacity_shift_)),
      memory_(frames * frame_capacity_),
      shapes_(frames),
      mask_(use == PoolUse::kManyThreads ? std::bit_ceil(frames) - 1 : 0),
      cells_(std::make_unique<Cell[]>(mask_ + 1)),
      stack_(use == PoolUse::kOneThread ? frames : 0) {
  if (use == PoolUse::kOneThread) return;
  for (size_t i = 0; i <= mask_; ++i) {
    const bool filled = i < frames;
    cells_[i].turn.store(filled ? i + 1 : i, std::memory_order_relaxed);
    cells_[i].memory = filled ? memory_.data() + i * frame_capacity_ : nullptr;
  }
  give_.store(frames, std::memory_order_release);
}

/// Calls `put(item, memory)` for the leading items and returns their number.
template <class Item, class Put>
inline size_t FramePool::take(std::span<Item> items, Put put) noexcept {
  if (use_ == PoolUse::kOneThread) {
    size_t n = 0;
    for (; n < items.size(); ++n) {
      if (free_ > 0) {
        put(items[n], stack_[--free_]);
      } else if (touched_ < size_) {
        put(items[n], memory_.data() + touched_++ * frame_capacity_);
      } else {
        break;
      }
    }
    return n;
  }
  size_t position = take_.load(std::memory_order_relaxed);
  size_t n = 0;
  do {
    n = 0;
    while (n < items.size() &&
           cells_[(position + n) & mask_].turn.load(std::memory_order_acquire) == position + n + 1) {
      ++n;
    }
    if (n == 0) {
      const size_t current = take_.load(std::memory_order_relaxed);
      if (current == position) return 0;
      position = current;
    }
  } while (n == 0 || !take_.compare_exchange_weak(position, position + n, std::memory_order_relaxed));

  for (size_t i = 0; i < n; ++i) {
    Cell& cell = cells_[(position + i) & mask_];
    put(items[i], cell.memory);
    cell.turn.store(position + i + mask_ + 1, std::memory_order_release);
  }
  return n;
}

template <class Item, class MemoryOf>
inline void FramePool::give_back(std::span<const Item> items, MemoryOf memory_of) noexcept {
  if (use_ == PoolUse::kOneThread) {
    for (const Item& item : items) stack_[free_++] = memory_of(item);
    return;
  }
  size_t position = give_.fetch_add(items.size(), std::memory_order_relaxed);
  for (const Item& item : items) {
    Cell& cell = cells_[position & mask_];
    while (cell.turn.load(std::memory_order_acquire) != position) {
    }
    cell.memory = memory_of(item);
    cell.turn.store(position + 1, std::memory_order_release);
    ++position;
  }
}

size_t FramePool::allocate(std::span<Frame> frames) noexcept {
  return take(frames, [](Frame& frame, uint8_t* memory) {
    frame = Frame();
    frame.head = memory;
    frame.handle = memory;
  });
}

size_t FramePool::allocate(std::span<FrameBuffer> buffers) noexcept {
  return take(buffers, [](FrameBuffer& buffer, uint8_t* memory) { buffer = memory; });
}

void FramePool::release(std::span<const Frame> frames) noexcept {
  give_back(frames, [](const Frame& frame) { return static_cast<uint8_t*>(frame.handle); });
}

void FramePool::release(std::span<const FrameBuffer> buffers) noexcept {
  give_back(buffers, [](FrameBuffer buffer) { return static_cast<uint8_t*>(buffer); });
}

size_t FramePool::available() const noexcept {
  if (use_ == PoolUse::kOneThread) return size_ - touched_ + free_;
  return give_.load(std::memory_order_acquire) - take_.load(std::memory_order_acquire);
}

}  // namespace rankwire

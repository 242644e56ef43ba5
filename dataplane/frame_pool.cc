#include "dataplane/frame_pool.h"

#include <bit>
#include <new>

namespace rankwire {
namespace {

constexpr uint32_t kAlignment = 64;

constexpr uint32_t aligned(uint32_t size) {
  return (size + kAlignment - 1) / kAlignment * kAlignment;
}

}  // namespace

FramePool::FramePool(size_t frames, uint32_t frame_capacity)
    : size_(frames),
      frame_capacity_(aligned(frame_capacity)),
      mask_(std::bit_ceil(frames) - 1),
      cells_(std::make_unique<Cell[]>(mask_ + 1)),
      memory_(static_cast<uint8_t*>(std::aligned_alloc(kAlignment, frames * frame_capacity_))),
      descriptions_(std::make_unique<Frame[]>(frames)) {
  if (!memory_) throw std::bad_alloc();
  for (size_t i = 0; i <= mask_; ++i) {
    const bool filled = i < frames;
    cells_[i].turn.store(filled ? i + 1 : i, std::memory_order_relaxed);
    cells_[i].memory = filled ? memory_.get() + i * frame_capacity_ : nullptr;
  }
  give_.store(frames, std::memory_order_release);
}

size_t FramePool::allocate(std::span<Frame> frames) noexcept {
  size_t position = take_.load(std::memory_order_relaxed);
  size_t n = 0;
  do {
    n = 0;
    while (n < frames.size() &&
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
    frames[i] = Frame();
    frames[i].head = cell.memory;
    frames[i].handle = cell.memory;
    cell.turn.store(position + i + mask_ + 1, std::memory_order_release);
  }
  return n;
}

void FramePool::release(std::span<const Frame> frames) noexcept {
  size_t position = give_.fetch_add(frames.size(), std::memory_order_relaxed);
  for (const Frame& frame : frames) {
    Cell& cell = cells_[position & mask_];
    while (cell.turn.load(std::memory_order_acquire) != position) {
    }
    cell.memory = static_cast<uint8_t*>(frame.handle);
    cell.turn.store(position + 1, std::memory_order_release);
    ++position;
  }
}

size_t FramePool::available() const noexcept {
  return give_.load(std::memory_order_acquire) - take_.load(std::memory_order_acquire);
}

}  // namespace rankwire

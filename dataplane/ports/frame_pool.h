// Frame memory of the ports that do without DPDK.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/untouched_array.h"
#include "dataplane/ports/frame_port.h"

namespace rankwire {

/// Who may use a FramePool.
enum class PoolUse : uint8_t {
  kManyThreads,  ///< at once; a frame that was released is handed out again when all others have been
  kOneThread,    ///< what was released last is handed out first: only as many frames are ever touched as were in use
};

/// A fixed number of frames of fixed capacity. For many threads the free list is a bounded MPMC queue with a turn
/// number a cell (D. Vyukov, "Bounded MPMC queue", 1024cores.net), claimed a batch at a time; for one it is a stack.
/// The pool must outlive every frame taken from it.
///
/// All memory is reserved at construction; the pages of a frame are touched when somebody writes to them.
class FramePool {
 public:
  static constexpr uint32_t kDefaultCapacity = 4352;  ///< headers, 4096 B of payload and ICRC, a multiple of 64

  /// `frames` > 0; `frame_capacity` is in bytes, 64 .. 65535, and rounded up to a multiple of 64. Frames are 64-byte
  /// aligned. Throws std::bad_alloc.
  explicit FramePool(size_t frames, uint32_t frame_capacity = kDefaultCapacity, PoolUse use = PoolUse::kManyThreads);
  FramePool(const FramePool&) = delete;
  FramePool& operator=(const FramePool&) = delete;

  /// Fills the leading frames with empty ones and returns their number: fewer when the pool is empty.
  size_t allocate(std::span<Frame> frames) noexcept;
  /// The same, for whoever needs their memory alone.
  size_t allocate(std::span<FrameBuffer> buffers) noexcept;
  /// Takes back frames of this pool. Waits only for a thread that is within `allocate` on the same cells.
  void release(std::span<const Frame> frames) noexcept;
  void release(std::span<const FrameBuffer> buffers) noexcept;

  /// Room for whoever holds the frame with this memory, as it was allocated, to note its shape.
  FrameShape& shape(const void* memory) noexcept { return shapes_[index_of(memory)]; }

  PoolUse use() const { return use_; }
  uint32_t frame_capacity() const { return frame_capacity_; }
  size_t size() const { return size_; }
  /// Frames that nobody holds; exact only while no other thread uses the pool.
  size_t available() const noexcept;

 private:
  struct Cell {
    std::atomic<size_t> turn;  ///< position p: free to fill; p + 1: filled; p + cells: free to fill in the next lap
    uint8_t* memory;
  };

  /// The division leaves no rest, so it is one by a power of two and a multiplication by the inverse of what else is in
  /// the capacity, modulo 2^64 (Warren, Hacker's Delight, section 10-16).
  uint32_t index_of(const void* memory) const noexcept {
    const auto offset = static_cast<uint64_t>(static_cast<const uint8_t*>(memory) - memory_.data());
    return static_cast<uint32_t>((offset >> capacity_shift_) * capacity_inverse_);
  }
  template <class Item, class Put>
  size_t take(std::span<Item> items, Put put) noexcept;
  template <class Item, class MemoryOf>
  void give_back(std::span<const Item> items, MemoryOf memory_of) noexcept;

  const PoolUse use_;
  const size_t size_;
  const uint32_t frame_capacity_;
  const uint32_t capacity_shift_;    ///< the power of two in it
  const uint64_t capacity_inverse_;  ///< of its odd factor, modulo 2^64
  UntouchedArray<uint8_t> memory_;
  UntouchedArray<FrameShape> shapes_;
  // Of many threads.
  const size_t mask_;
  std::unique_ptr<Cell[]> cells_;
  alignas(64) std::atomic<size_t> take_{0};
  alignas(64) std::atomic<size_t> give_{0};
  // Of one: the free frames apart from those that never were in use.
  UntouchedArray<uint8_t*> stack_;
  size_t free_ = 0, touched_ = 0;
};

}  // namespace rankwire

// Frame memory of the ports that do without DPDK.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>

#include "dataplane/frame_port.h"

namespace rankwire {

/// A fixed number of frames of fixed capacity. Any number of threads may allocate and release at once: the free list is
/// a bounded MPMC queue with a turn number a cell (D. Vyukov, "Bounded MPMC queue", 1024cores.net), claimed a batch at
/// a time. It must outlive every frame taken from it.
///
/// All memory is reserved at construction; the pages of a frame are touched when somebody writes to them.
class FramePool {
 public:
  static constexpr uint32_t kDefaultCapacity = 4352;  ///< headers, 4096 B of payload and ICRC, a multiple of 64

  /// `frames` > 0; `frame_capacity` is in bytes, 64 .. 65535, and rounded up to a multiple of 64. Frames are 64-byte
  /// aligned. Throws std::bad_alloc.
  explicit FramePool(size_t frames, uint32_t frame_capacity = kDefaultCapacity);
  FramePool(const FramePool&) = delete;
  FramePool& operator=(const FramePool&) = delete;

  /// Fills the leading frames with empty ones and returns their number: fewer when the pool is empty.
  size_t allocate(std::span<Frame> frames) noexcept;
  /// Takes back frames of this pool. Waits only for a thread that is within `allocate` on the same cells.
  void release(std::span<const Frame> frames) noexcept;

  /// Room for whoever holds the frame with this memory to describe it.
  Frame& description(const void* memory) noexcept {
    return descriptions_[static_cast<size_t>(static_cast<const uint8_t*>(memory) - memory_.get()) / frame_capacity_];
  }

  uint32_t frame_capacity() const { return frame_capacity_; }
  size_t size() const { return size_; }
  /// Frames that nobody holds; exact only while no other thread uses the pool.
  size_t available() const noexcept;

 private:
  struct Cell {
    std::atomic<size_t> turn;  ///< position p: free to fill; p + 1: filled; p + cells: free to fill in the next lap
    uint8_t* memory;
  };
  struct Free {
    void operator()(uint8_t* memory) const { std::free(memory); }
  };

  const size_t size_;
  const uint32_t frame_capacity_;
  const size_t mask_;
  std::unique_ptr<Cell[]> cells_;
  std::unique_ptr<uint8_t, Free> memory_;
  std::unique_ptr<Frame[]> descriptions_;
  alignas(64) std::atomic<size_t> take_{0};
  alignas(64) std::atomic<size_t> give_{0};
};

}  // namespace rankwire

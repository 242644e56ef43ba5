// The memory that RDMA hardware reads and writes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace rankwire {

/// Zeroed pages of one mapping, huge ones where the system has enough of them reserved. Move-only.
class PinnedMemory {
 public:
  PinnedMemory() = default;
  /// Throws Error(kRun) when the system has not so much memory.
  explicit PinnedMemory(size_t bytes);
  PinnedMemory(PinnedMemory&& other) noexcept;
  PinnedMemory& operator=(PinnedMemory&& other) noexcept;
  ~PinnedMemory();

  std::span<uint8_t> bytes() const noexcept { return bytes_; }
  bool huge_pages() const noexcept { return huge_pages_; }

 private:
  std::span<uint8_t> bytes_;
  bool huge_pages_ = false;
};

/// Equal places for messages in one memory, taken in turn.
struct MessageSlots {
  uint64_t begin = 0;   ///< offset in the memory
  uint64_t stride = 0;  ///< from one to the next; 0: all are one
  uint32_t slots = 1;

  uint64_t place(uint64_t n) const noexcept { return begin + n % slots * stride; }
};

/// Divides memory that does not exist yet.
class MemoryLayout {
 public:
  static constexpr uint64_t kAlignment = 64;  ///< a cache line

  static constexpr uint64_t rounded(uint64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }
  MessageSlots reserve(uint32_t slots, uint64_t bytes_each) {
    const MessageSlots reserved{bytes_, rounded(bytes_each), slots};
    bytes_ += reserved.stride * slots;
    return reserved;
  }
  uint64_t bytes() const { return bytes_; }

 private:
  uint64_t bytes_ = 0;
};

}  // namespace rankwire

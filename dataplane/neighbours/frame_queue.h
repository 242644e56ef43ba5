// Frames of any length that wait in one block of memory.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace rankwire {

/// First in, first out; bounded in bytes. Every frame is contiguous. No allocation after construction; one thread.
class FrameQueue {
 public:
  explicit FrameQueue(uint32_t capacity) : memory_(capacity) {}

  bool empty() const noexcept { return head_ == tail_; }

  /// Takes a copy. False when there is no room.
  bool push(std::span<const uint8_t> frame) noexcept {
    const auto needed = static_cast<uint32_t>(sizeof(Length) + frame.size());
    uint32_t at = tail_;
    if (tail_ >= head_) {
      if (tail_ + needed > memory_.size()) {
        // The frame goes to the beginning, and must not reach head_, since equal ends mean empty.
        if (needed >= head_) return false;
        end_ = tail_;
        at = 0;
      }
    } else if (tail_ + needed >= head_) {
      return false;
    }
    const auto length = static_cast<Length>(frame.size());
    std::memcpy(memory_.data() + at, &length, sizeof length);
    std::ranges::copy(frame, memory_.data() + at + sizeof length);
    tail_ = at + needed;
    return true;
  }

  /// The oldest; valid until the next call. Only when not empty.
  std::span<const uint8_t> pop() noexcept {
    if (head_ == end_ && tail_ < head_) head_ = 0;
    Length length;
    std::memcpy(&length, memory_.data() + head_, sizeof length);
    const std::span<const uint8_t> frame(memory_.data() + head_ + sizeof length, length);
    head_ += static_cast<uint32_t>(sizeof length) + length;
    if (head_ == tail_) head_ = tail_ = 0;
    return frame;
  }

 private:
  using Length = uint16_t;

  std::vector<uint8_t> memory_;
  uint32_t head_ = 0, tail_ = 0;
  uint32_t end_ = 0;  // while tail_ < head_: where the frames behind head_ end
};

}  // namespace rankwire

// An Ethernet frame as everything here sees it, and the room that it takes: in a buffer and on a line.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/units.h"

namespace rankwire {

/// One Ethernet frame without FCS: `head`, then `payload` (may be none), then `tail`. A received frame may stand in
/// `head` alone. Whoever holds the frame may write to `head` but not through `payload`: who changes payload copies it
/// first, wherever it stands.
struct Frame {
  uint8_t* head = nullptr;           ///< writable; capacity FramePort::Capabilities::frame_capacity when allocated
  const uint8_t* payload = nullptr;  ///< borrowed memory that outlives the frame, or null
  void* handle = nullptr;            ///< the port's own
  Time arrival;                      ///< set by `receive`: hardware stamp, or one clock read a burst
  uint16_t head_length = 0;
  uint16_t payload_length = 0;
  uint32_t tail_length = 0;  ///< pad and ICRC behind a borrowed payload, at most 7
  uint8_t tail[8] = {};

  uint32_t length() const { return uint32_t{head_length} + payload_length + tail_length; }
};
static_assert(sizeof(Frame) == 48);

/// Places for frames, without time for their constructors: whoever fills a place writes a whole frame.
template <size_t kFrames>
class FrameRoom {
 public:
  std::span<Frame, kFrames> frames() noexcept {
    return std::span<Frame, kFrames>(reinterpret_cast<Frame*>(room_.data()), kFrames);
  }

 private:
  alignas(Frame) std::array<std::byte, sizeof(Frame) * kFrames> room_;
};

/// Bytes of a line that go with each frame: FCS 4, preamble and SFD 8, gap 12.
constexpr uint32_t kLineOverhead = 24;
/// Bytes that a frame of `length` occupies on an Ethernet line: at least 60 and the overhead.
constexpr Bytes line_bytes(uint32_t length) {
  // In 64 bits: for 32 compilers take a vector instruction, which waits for a length that has just been written.
  const int64_t bytes = length;
  return Bytes((bytes < 60 ? 60 : bytes) + kLineOverhead);
}

/// Where payloads begin, counted from `head` as allocated: at the start of a cache line, so that payload stays where it
/// is whatever is in front of it. Behind the headers' room a buffer has the payload's, and kTrailerRoom.
constexpr uint32_t kHeaderRoom = 128;
constexpr uint32_t kTrailerRoom = 8;

}  // namespace rankwire

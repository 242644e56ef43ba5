// The edge between the protocol and whatever moves frames: a DPDK port, memory, or a port of the virtual switch.
#pragma once

#include <cstdint>
#include <span>

#include "base/transport.h"
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
  uint8_t tail_length = 0;  ///< pad and ICRC behind a borrowed payload, at most 7
  uint8_t tail[7] = {};

  uint32_t length() const { return uint32_t{head_length} + payload_length + tail_length; }
};

/// Bytes that a frame of `length` occupies on an Ethernet line: + FCS 4, preamble and SFD 8, gap 12; at least 64 + 20.
constexpr Bytes line_bytes(uint32_t length) {
  return Bytes((length < 60 ? 60 : length) + 24);
}

/// Where headers end, counted from `head` as allocated, in frames whose payload follows at the start of a cache line. A
/// port that keeps `payload_pattern()` in its frames has it there.
constexpr uint32_t kHeaderRoom = 128;

/// One thread uses a port at a time. Batches in, counts out; nothing allocates, nothing throws.
///
/// Frames belong to the caller from `allocate` or `receive` until `transmit` takes them or `release` gives them back.
/// A frame received from one port may be transmitted on another port of the same kind (a switch does so).
class FramePort {
 public:
  struct Capabilities {
    uint32_t frame_capacity = 0;        ///< bytes that fit into `head` of an allocated frame
    bool payload_by_reference = false;  ///< `transmit` takes frames with a borrowed payload as they are; otherwise the
                                        ///< port linearises them: by a copy, unless it keeps that payload in
                                        ///< its frames at kHeaderRoom
    bool hardware_time = false;         ///< `arrival` is a hardware stamp
  };

  virtual ~FramePort() = default;

  /// Fills the leading frames with empty ones and returns their number: fewer when the pool is empty.
  virtual size_t allocate(std::span<Frame> frames) noexcept = 0;
  /// Sends the leading frames that the port takes and returns their number; those belong to the port from then on.
  virtual size_t transmit(Time now, std::span<const Frame> frames) noexcept = 0;
  virtual size_t receive(Time now, std::span<Frame> frames) noexcept = 0;
  virtual void release(std::span<const Frame> frames) noexcept = 0;
  /// When `receive` next has something, as far as the port can know: `now` or earlier when frames wait, never() when
  /// only an arrival can tell. Ports of the real world return never(); the loop polls them anyway.
  virtual Time next_event() const noexcept = 0;

  virtual Capabilities capabilities() const noexcept = 0;
  virtual PortCounters counters() const = 0;
};

}  // namespace rankwire

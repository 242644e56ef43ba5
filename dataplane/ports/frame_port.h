// The edge between the protocol and whatever moves frames: a DPDK port, memory, or a port of the virtual switch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/transport.h"
#include "base/units.h"
#include "dataplane/wire/frame.h"

namespace rankwire {

/// A buffer of a port for a frame to be sent, opaque: FramePort::Capabilities tell where in it the payload's place is.
using FrameBuffer = void*;

/// What frames made in buffers of a port may have in common. In front of each payload's place its writer has put
/// the headers. Behind it stand the payload and the trailer: `payload_pattern()` as far as it goes, which the port
/// provides, and the writer's pad and ICRC; or all is the writer's own, and then there is no trailer.
struct FrameShape {
  uint32_t payload_length = 0;
  uint16_t header_length = 0;   ///< at most kHeaderRoom
  uint16_t trailer_length = 0;  ///< at most 7, less than kTrailerRoom: a trailer may be written as one word

  bool operator==(const FrameShape&) const = default;
  uint32_t length() const { return header_length + payload_length + trailer_length; }
};

/// Frames alike, one behind the other.
struct FrameRun {
  FrameShape shape;
  uint32_t count = 0;
};

/// One thread uses a port at a time. Batches in, counts out; nothing allocates, nothing throws.
///
/// Frames belong to the caller from `allocate` or `receive` until `transmit` takes them or `release` gives them back.
/// A frame received from one port may be transmitted on another port of the same kind (a switch does so). Whoever sends
/// packets in great numbers takes `reserve`, `complete` and `send` instead: no frame is described one by one, and a
/// payload that is the pattern is never copied.
class FramePort {
 public:
  struct Capabilities {
    uint32_t frame_capacity = 0;        ///< bytes that fit into `head` of an allocated frame
    bool payload_by_reference = false;  ///< `transmit` and `send` take frames with a borrowed payload as they are;
                                        ///< otherwise `transmit` copies it, and the pattern stands in the buffers
    bool hardware_time = false;         ///< `arrival` is a hardware stamp
    bool looks_ahead = false;           ///< `waiting` tells what has been sent here

    uint32_t place_offset = 0;  ///< of the payload's place in a FrameBuffer

    uint8_t* place(FrameBuffer buffer) const { return static_cast<uint8_t*>(buffer) + place_offset; }
    /// Where the trailer goes: behind the payload, or where that would be when it is taken by reference.
    uint8_t* trailer_place(uint8_t* place, uint32_t payload_length) const {
      return place + (payload_by_reference ? 0 : payload_length);
    }
  };

  virtual ~FramePort() = default;

  /// Fills the leading frames with empty ones and returns their number: fewer when the pool is empty.
  virtual size_t allocate(std::span<Frame> frames) noexcept = 0;
  /// Sends the leading frames that the port takes and returns their number; those belong to the port from then on.
  virtual size_t transmit(Time now, std::span<const Frame> frames) noexcept = 0;
  /// Takes buffers for frames to be sent and returns how many: fewer than asked for where the port hands out few at a
  /// time, none when the pool is empty.
  virtual size_t reserve(std::span<FrameBuffer> buffers) noexcept = 0;
  /// The frames in these buffers are complete: as many as the runs have.
  virtual void complete(std::span<const FrameBuffer> buffers, std::span<const FrameRun> runs) noexcept = 0;
  /// Sends the leading ones of complete frames and returns how many the port takes; those buffers belong to the port
  /// from then on, and their places in the span have no meaning.
  virtual size_t send(Time now, std::span<FrameBuffer> buffers) noexcept = 0;
  /// `complete` and `send` of the same buffers at once.
  virtual size_t send_complete(Time now, std::span<FrameBuffer> buffers, std::span<const FrameRun> runs) noexcept {
    complete(buffers, runs);
    return send(now, buffers);
  }
  /// Gives back buffers that were reserved and are not complete.
  virtual void cancel(std::span<const FrameBuffer> buffers) noexcept = 0;
  /// Gives back buffers whose frames are complete and not sent.
  virtual void discard(std::span<const FrameBuffer> buffers) noexcept = 0;
  /// Bytes of a complete frame that is not sent.
  virtual uint32_t length(FrameBuffer buffer) const noexcept = 0;
  /// Where the headers of such a frame begin; null where the port does not tell.
  virtual const uint8_t* head([[maybe_unused]] FrameBuffer buffer) const noexcept { return nullptr; }
  virtual size_t receive(Time now, std::span<Frame> frames) noexcept = 0;
  virtual void release(std::span<const Frame> frames) noexcept = 0;
  /// In virtual time: sends one frame that the other end receives at `arrival`, which may be later than now; those of a
  /// port never decrease. False, and nothing has happened, when there is no room, or when what this port sends is not
  /// held back until it arrives.
  virtual bool send_ahead([[maybe_unused]] Time arrival, [[maybe_unused]] const Frame& frame) noexcept { return false; }
  /// When `receive` next has something, as far as the port can know: `now` or earlier when frames wait, never() when
  /// only an arrival can tell. Ports of the real world return never(); the loop polls them anyway.
  virtual Time next_event() const noexcept = 0;

  /// Of what has been sent here and not been received, held back or not, the frame that `n` others are in front of;
  /// null when there is none, or the port cannot look at it. Until the next `receive`.
  virtual const Frame* waiting([[maybe_unused]] size_t n) const noexcept { return nullptr; }

  /// Frames are going to be sent or received here: fetches memory that this takes, in two steps that lie apart, the
  /// second of which needs what the first has fetched.
  virtual void fetch_queues() const noexcept {}
  virtual void fetch_places() const noexcept {}

  virtual Capabilities capabilities() const noexcept = 0;
  virtual PortCounters counters() const = 0;
};

}  // namespace rankwire

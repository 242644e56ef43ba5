// Frames in DPDK's buffers.
#pragma once

#include <emmintrin.h>
#include <rte_mbuf.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "dataplane/dpdk/pattern.h"
#include "dataplane/ports/frame_port.h"

namespace rankwire {

inline rte_mbuf* mbuf_of(const Frame& frame) noexcept {
  return static_cast<rte_mbuf*>(frame.handle);
}

/// refcnt 1, one segment, no port, as rte_mbuf::rearm_data has them; data_off is to be added.
constexpr uint64_t kFreshMbuf = uint64_t{1} << 16 | uint64_t{1} << 32 | uint64_t{RTE_MBUF_PORT_INVALID} << 48;
static_assert(offsetof(rte_mbuf, refcnt) == offsetof(rte_mbuf, rearm_data) + 2 &&
              offsetof(rte_mbuf, nb_segs) == offsetof(rte_mbuf, rearm_data) + 4 &&
              offsetof(rte_mbuf, port) == offsetof(rte_mbuf, rearm_data) + 6);

/// What the mbuf of a frame to be sent says of it, in one segment: 32 bytes from rearm_data on.
class MbufHead {
 public:
  explicit MbufHead(FrameShape shape) noexcept
      : rearm_(_mm_set_epi64x(0, static_cast<int64_t>(uint64_t{kPlaceOffset - shape.header_length} | kFreshMbuf))),
        lengths_(_mm_set_epi32(0, static_cast<int>(shape.length()), static_cast<int>(shape.length()), 0)) {
    static_assert(offsetof(rte_mbuf, ol_flags) == offsetof(rte_mbuf, rearm_data) + 8 &&
                  offsetof(rte_mbuf, pkt_len) == offsetof(rte_mbuf, rx_descriptor_fields1) + 4 &&
                  offsetof(rte_mbuf, data_len) == offsetof(rte_mbuf, rx_descriptor_fields1) + 8);
  }
  void write(rte_mbuf* mbuf) const noexcept {
    _mm_store_si128(reinterpret_cast<__m128i*>(&mbuf->rearm_data), rearm_);
    _mm_store_si128(reinterpret_cast<__m128i*>(&mbuf->rx_descriptor_fields1), lengths_);
  }

 private:
  __m128i rearm_, lengths_;
};

/// Of a frame that has just been allocated, until finished_mbuf tells its length.
constexpr uint32_t kNoLength = 0;

/// An empty frame in this mbuf.
inline void make_empty(rte_mbuf* mbuf, Frame& frame) noexcept {
  frame.head = place_in(mbuf) - kHeaderRoom;
  frame.payload = nullptr;
  frame.handle = mbuf;
  frame.head_length = frame.payload_length = 0;
  frame.tail_length = 0;
}

/// Whether a frame is still as it was received: what its mbuf says of it holds, and the pattern in it is where it was,
/// since nobody writes to payload (Frame).
inline bool is_as_received(const rte_mbuf* mbuf, const Frame& frame) noexcept {
  return mbuf->pkt_len == frame.head_length && frame.payload_length == 0 && frame.tail_length == 0 &&
         frame.head == static_cast<uint8_t*>(mbuf->buf_addr) + mbuf->data_off;
}

/// The frame's mbuf, made to say what the frame says.
inline rte_mbuf* finished_mbuf(const PatternInPlace& pattern, const Frame& frame) noexcept {
  rte_mbuf* mbuf = mbuf_of(frame);
  // What a receiving device wrote here would be requests to the sending one.
  mbuf->ol_flags &= RTE_MBUF_F_INDIRECT | RTE_MBUF_F_EXTERNAL;
  if (is_as_received(mbuf, frame)) return mbuf;
  uint8_t* const payload = frame.head + frame.head_length;
  uint8_t* const tail = payload + frame.payload_length;
  if (frame.payload_length > 0) std::memcpy(payload, frame.payload, frame.payload_length);
  if (frame.tail_length > 0) std::memcpy(tail, frame.tail, frame.tail_length);
  pattern.overwritten(mbuf, tail + frame.tail_length);
  mbuf->data_off = static_cast<uint16_t>(frame.head - static_cast<uint8_t*>(mbuf->buf_addr));
  const uint32_t length = frame.length();
  mbuf->data_len = static_cast<uint16_t>(length);
  mbuf->pkt_len = length;
  return mbuf;
}

}  // namespace rankwire

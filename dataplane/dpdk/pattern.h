// The payload pattern in the buffers of DPDK ports.
#pragma once

#include <rte_errno.h>
#include <rte_mbuf.h>
#include <rte_mbuf_dyn.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>

#include "base/error.h"
#include "dataplane/ports/frame_port.h"
#include "dataplane/wire/payload.h"

namespace rankwire {

/// The payload's place in a buffer of a port's own pool, whose mbufs have no private area: nothing is read to find it.
constexpr uint32_t kPlaceOffset = RTE_PKTMBUF_HEADROOM + kHeaderRoom;
inline uint8_t* place_in(rte_mbuf* mbuf) noexcept {
  return reinterpret_cast<uint8_t*>(mbuf + 1) + kPlaceOffset;
}

/// The payload pattern as it stands in the buffers of frames, at kHeaderRoom, where nobody but the port writes while a
/// ring's peers keep the rule that payload is copied before it is changed. It is written when a buffer is used for the
/// first time, or after something else has been written to its place. Then only trailers are written over it, and what
/// one has covered is restored when the next goes elsewhere: each mbuf remembers where the last one is in a dynamic
/// field of its own.
class PatternInPlace {
 public:
  PatternInPlace() {
    constexpr rte_mbuf_dynfield kField{
        .name = "rankwire_trailer_place", .size = sizeof(uint16_t), .align = alignof(uint16_t), .flags = 0};
    offset_ = ::rte_mbuf_dynfield_register(&kField);
    if (offset_ < 0) fail_run("no room in mbufs for a field of two bytes: {}", ::rte_strerror(rte_errno));
  }

  /// Makes the first `bytes` of the pattern stand in their place. A trailer may stand behind them already.
  void provide(rte_mbuf* mbuf, uint16_t bytes) const noexcept { provide_up_to(mbuf, mark_of(bytes)); }
  /// The same in each of the mbufs, and `then(mbuf)` for it.
  template <class Then>
  void provide(std::span<void* const> mbufs, uint16_t bytes, Then then) const noexcept {
    const uint16_t mark = mark_of(bytes);
    for (void* const buffer : mbufs) {
      auto* const mbuf = static_cast<rte_mbuf*>(buffer);
      provide_up_to(mbuf, mark);
      then(mbuf);
    }
  }
  /// Something was written up to `end`.
  void overwritten(rte_mbuf* mbuf, const uint8_t* end) const noexcept {
    if (end > place_in(mbuf)) trailer_of(mbuf) = kNothing;
  }

 private:
  // Of the field: the pattern is not there; otherwise it is, but for kTrailerRoom bytes from one less than the value
  // on.
  static constexpr uint16_t kNothing = 0;
  static uint16_t mark_of(uint16_t bytes) noexcept { return static_cast<uint16_t>(bytes + 1); }

  uint16_t& trailer_of(rte_mbuf* mbuf) const noexcept { return *RTE_MBUF_DYNFIELD(mbuf, offset_, uint16_t*); }
  [[gnu::always_inline]] void provide_up_to(rte_mbuf* mbuf, uint16_t mark) const noexcept {
    if (trailer_of(mbuf) != mark) [[unlikely]]
      restore(mbuf, mark);
  }

  // All but what the trailer covers that the mark stands for.
  [[gnu::noinline]] void restore(rte_mbuf* mbuf, uint16_t mark) const noexcept {
    uint8_t* const place = place_in(mbuf);
    uint16_t& trailer = trailer_of(mbuf);
    const auto copy = [&](uint32_t begin, uint32_t end) {
      end = std::min(end, kMaxMtu);
      if (begin < end) std::memcpy(place + begin, payload_pattern().data() + begin, end - begin);
    };
    const uint32_t bytes = mark - 1u;
    const uint32_t begin = trailer == kNothing ? 0 : trailer - 1u;
    const uint32_t end = trailer == kNothing ? kMaxMtu : begin + kTrailerRoom;
    copy(begin, std::min(end, bytes));
    copy(std::max(begin, bytes + kTrailerRoom), end);
    trailer = mark;
  }

  int offset_;
};

}  // namespace rankwire

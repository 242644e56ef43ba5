// Memory of many ports that have something, fetched before each has its turn.
#pragma once

#include <cstddef>

#include "dataplane/ports/frame_port.h"

namespace rankwire {

/// The headers of the first frames that wait at the port.
[[gnu::always_inline]] inline void fetch_frames(const FramePort& port) noexcept {
  constexpr size_t kFrames = 4;
  const Frame* frame = nullptr;
  for (size_t i = 0; i < kFrames && (frame = port.waiting(i)) != nullptr; ++i) {
    __builtin_prefetch(frame->head);
    __builtin_prefetch(frame->head + 63);
  }
}

/// Of `count` ports, of which `port_of(i)` tells the i-th, that with number `i` is going to receive: fetches of those
/// behind it one step each, from the port itself to the headers of its frames.
template <class PortOf>
[[gnu::always_inline]] inline void fetch_behind(size_t i, size_t count, PortOf port_of) noexcept {
  if (i + 4 < count) __builtin_prefetch(port_of(i + 4));
  if (i + 3 < count) port_of(i + 3)->fetch_queues();
  if (i + 2 < count) port_of(i + 2)->fetch_places();
  if (i + 1 < count) fetch_frames(*port_of(i + 1));
}

}  // namespace rankwire

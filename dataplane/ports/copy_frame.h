// The same frame once more.
#pragma once

#include <cstring>

#include "dataplane/wire/frame.h"

namespace rankwire {

/// `copy` is empty, as FramePort::allocate gives it, and its capacity is at least `frame.head_length`. Both have the
/// same borrowed payload from then on.
inline void copy_frame(const Frame& frame, Frame& copy) noexcept {
  std::memcpy(copy.head, frame.head, frame.head_length);
  copy.head_length = frame.head_length;
  copy.payload = frame.payload;
  copy.payload_length = frame.payload_length;
  copy.tail_length = frame.tail_length;
  std::memcpy(copy.tail, frame.tail, sizeof copy.tail);
  copy.arrival = frame.arrival;
}

}  // namespace rankwire

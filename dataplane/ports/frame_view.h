// What stands in a port's buffer.
#pragma once

#include <cstring>

#include "dataplane/ports/frame_port.h"
#include "dataplane/wire/payload.h"

namespace rankwire {

/// The frame that was completed with this shape in a buffer of a port with these capabilities, until it is sent. What
/// is written to its head is sent.
inline Frame frame_in(FrameBuffer buffer, const FrameShape& shape, const FramePort::Capabilities& port) noexcept {
  uint8_t* const place = port.place(buffer);
  Frame frame;
  frame.head = place - shape.header_length;
  frame.head_length = shape.header_length;
  if (shape.trailer_length == 0) {
    frame.head_length = static_cast<uint16_t>(frame.head_length + shape.payload_length);
    return frame;
  }
  frame.payload = port.payload_by_reference ? payload_pattern().data() : place;
  frame.payload_length = static_cast<uint16_t>(shape.payload_length);
  frame.tail_length = shape.trailer_length;
  std::memcpy(frame.tail, port.trailer_place(place, shape.payload_length), shape.trailer_length);
  return frame;
}

}  // namespace rankwire

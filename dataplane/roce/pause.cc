// RoceTransport's part in priority flow control: it obeys pauses and, for a slow receiver, sends them.
#include <algorithm>

#include "dataplane/roce/transport.h"

namespace rankwire {
namespace {

bool is_mac_control(const Frame& frame) noexcept {
  return frame.head_length >= sizeof(EthernetHeader) &&
         reinterpret_cast<const EthernetHeader*>(frame.head)->ether_type == Be16(kEtherTypeMacControl);
}

}  // namespace

// False when the frame is no PAUSE or PFC.
bool RoceTransport::accept_pause(Port& port, const Frame& frame) noexcept {
  const std::optional<PauseFrame> pause = read_pause(frame);
  if (!pause) return false;
  ++port.pause_rx;
  if (bindings_[port.first_lane].pause == PauseMode::kSoftware) port.pauses.receive(*pause, frame.arrival);
  return true;
}

// Moves the frames that the port's slow receiver has room for to the front and returns their number.
size_t RoceTransport::keep_in_buffer(Port& port, std::span<Frame> frames) noexcept {
  const auto lost = std::stable_partition(frames.begin(), frames.end(), [&port](const Frame& frame) {
    return is_mac_control(frame) || port.buffer->take(frame.length(), frame.arrival);
  });
  const auto kept = static_cast<size_t>(lost - frames.begin());
  port.buffer_drops += frames.size() - kept;
  return kept;
}

// Pauses are for the far end of the line, which no pause of its own stops.
void RoceTransport::transmit_pause(TransmitLane& lane, Port& port, Time now) noexcept {
  while (lane.pause_due <= now) {
    const std::span<const FrameBuffer> buffers = lane.next_frames(now, kPauseFrameBytes, 1);
    if (buffers.empty()) return;
    Frame frame;
    frame.head = lane.capabilities().place(buffers[0]) - kPauseFrameBytes;
    write_pause(port.station, priority_pause(lane.priorities().data, port.buffer->take_pause(now)), frame);
    lane.stage(1, {.header_length = kPauseFrameBytes});
    ++port.pause_tx;
    lane.pause_due = port.buffer->pause_due();
  }
}

// What the device itself has counted of them stays in.
void RoceTransport::add_pauses(const Port& port, PortCounters& counters) const {
  counters.pause_tx += port.pause_tx;
  counters.pause_rx += port.pause_rx;
  for (uint32_t priority = 0; priority < kPriorities; ++priority)
    counters.paused[priority] += port.pauses.time_paused(priority, last_now_);
}

}  // namespace rankwire

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

PrioritySet priority_of(const Marking& marking, bool tagged, const std::optional<ClassOptions>& classes) {
  const uint8_t of_tag = tagged ? marking.priority : uint8_t{0};
  if (!classes) return priority_bit(tagged ? of_tag : marking.dscp >> 3);
  return priority_bit(classes->trust == PriorityTrust::kPcp ? of_tag : classes->of_dscp[marking.dscp]);
}

LanePriorities RoceTransport::priorities_of(PortId port) const {
  const auto nic = std::ranges::find(nics_, port, &Nic::port);
  const bool tagged = nic != nics_.end() && nic->vlan.has_value();
  const auto of = [&](const Marking& marking) { return priority_of(marking, tagged, options_.classes); };
  const Markings& markings = options_.markings;
  return {.data = of(markings.data),
          .answers = static_cast<PrioritySet>(of(markings.ack) | of(markings.nak)),
          .notifications = of(markings.cnp)};
}

// Of all its queues together.
Bandwidth RoceTransport::line_rate_of(PortId port) const {
  Bandwidth rate;
  for (const PortBinding& binding : bindings_)
    if (binding.id == port) rate.bits_per_second += binding.rate.bits_per_second;
  return rate;
}

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

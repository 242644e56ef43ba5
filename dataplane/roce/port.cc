#include "dataplane/roce/port.h"

#include <algorithm>
#include <optional>

namespace rankwire {
namespace {

bool is_mac_control(const Frame& frame) noexcept {
  return frame.head_length >= sizeof(EthernetHeader) &&
         reinterpret_cast<const EthernetHeader*>(frame.head)->ether_type == Be16(kEtherTypeMacControl);
}

}  // namespace

bool RocePort::accept_pause(const Frame& frame) noexcept {
  const std::optional<PauseFrame> pause = read_pause(frame);
  if (!pause) return false;
  ++pause_rx;
  if (obeys_pauses) pauses.receive(*pause, frame.arrival);
  return true;
}

size_t RocePort::keep_in_buffer(std::span<Frame> frames) noexcept {
  const auto lost = std::stable_partition(frames.begin(), frames.end(), [this](const Frame& frame) {
    return is_mac_control(frame) || buffer->take(frame.length(), frame.arrival);
  });
  const auto kept = static_cast<size_t>(lost - frames.begin());
  buffer_drops += frames.size() - kept;
  return kept;
}

void RocePort::add_pauses(PortCounters& counters, Time now) const {
  counters.pause_tx += pause_tx;
  counters.pause_rx += pause_rx;
  for (uint32_t priority = 0; priority < kPriorities; ++priority)
    counters.paused[priority] += pauses.time_paused(priority, now);
}

}  // namespace rankwire

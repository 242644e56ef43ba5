#include "dataplane/wire/pause.h"

#include <cstring>

#include "dataplane/wire/headers.h"

namespace rankwire {
namespace {

constexpr uint16_t kOpcodePause = 0x0001, kOpcodePriority = 0x0101;

/// What follows an EthernetHeader with kEtherTypeMacControl (802.3 Annexes 31A, 31B, 31D).
struct PausePayload {
  Be16 opcode;
  Be16 first;  ///< kOpcodePause: the quanta. kOpcodePriority: an octet of zeros, then the class-enable vector
  std::array<Be16, kPriorities> quanta;  ///< kOpcodePriority
};
static_assert(sizeof(PausePayload) == 20 && alignof(PausePayload) == 1);
constexpr size_t kGlobalBytes = sizeof(EthernetHeader) + 2 * sizeof(Be16);
constexpr size_t kPriorityBytes = sizeof(EthernetHeader) + sizeof(PausePayload);

}  // namespace

std::optional<PauseFrame> read_pause(const Frame& frame) noexcept {
  if (frame.head_length < kGlobalBytes) return std::nullopt;
  const auto& ethernet = *reinterpret_cast<const EthernetHeader*>(frame.head);
  if (ethernet.ether_type != Be16(kEtherTypeMacControl) || ethernet.destination != kMacControlGroup)
    return std::nullopt;
  PausePayload payload;
  std::memcpy(&payload, frame.head + sizeof ethernet,
              std::min<size_t>(frame.head_length - sizeof ethernet, sizeof payload));
  PauseFrame pause;
  if (payload.opcode == Be16(kOpcodePause)) {
    pause.kind = PauseFrame::Kind::kGlobal;
    pause.priorities = kAllPriorities;
    pause.quanta.fill(payload.first.value());
    return pause;
  }
  if (payload.opcode != Be16(kOpcodePriority) || frame.head_length < kPriorityBytes) return std::nullopt;
  pause.priorities = static_cast<PrioritySet>(payload.first.value());
  for (uint32_t i = 0; i < kPriorities; ++i)
    if ((pause.priorities & priority_bit(i)) != 0) pause.quanta[i] = payload.quanta[i].value();
  return pause;
}

void write_pause(const MacAddress& source, const PauseFrame& pause, Frame& frame) noexcept {
  std::memset(frame.head, 0, kPauseFrameBytes);
  frame.head_length = kPauseFrameBytes;
  const EthernetHeader ethernet{kMacControlGroup, source, Be16(kEtherTypeMacControl)};
  PausePayload payload;
  if (pause.kind == PauseFrame::Kind::kGlobal) {
    payload.opcode = Be16(kOpcodePause);
    payload.first = Be16(pause.quanta[0]);
  } else {
    payload.opcode = Be16(kOpcodePriority);
    payload.first = Be16(pause.priorities);
    for (uint32_t i = 0; i < kPriorities; ++i)
      if ((pause.priorities & priority_bit(i)) != 0) payload.quanta[i] = Be16(pause.quanta[i]);
  }
  std::memcpy(frame.head, &ethernet, sizeof ethernet);
  std::memcpy(frame.head + sizeof ethernet, &payload, sizeof payload);
}

void PauseTimers::receive(const PauseFrame& pause, Time arrival) noexcept {
  for (uint32_t i = 0; i < kPriorities; ++i) {
    if ((pause.priorities & priority_bit(i)) == 0) continue;
    paused_time_[i] += lasted(i, arrival);
    since_[i] = arrival;
    until_[i] = arrival + pause_time(pause.quanta[i], rate_);
  }
  latest_ = *std::max_element(until_.begin(), until_.end());
}

PrioritySet PauseTimers::paused_of_some(Time now) const noexcept {
  PrioritySet set = 0;
  for (uint32_t i = 0; i < kPriorities; ++i)
    if (until_[i] > now) set |= priority_bit(i);
  return set;
}

Time PauseTimers::next_expiry(Time now) const noexcept {
  Time next = Time::never();
  for (const Time until : until_)
    if (until > now) next = std::min(next, until);
  return next;
}

}  // namespace rankwire

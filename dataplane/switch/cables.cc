// Cables that fail and come back.
#include <algorithm>

#include "dataplane/switch/virtual_fabric.h"

namespace rankwire {

/// Of a cable, or of the routes that follow one.
void VirtualFabric::find_next_change() noexcept {
  const std::vector<CableEvent>& schedule = options_.schedule;
  next_change_ = Time::never();
  if (changes_ < schedule.size()) next_change_ = schedule[changes_].at;
  if (reroutes_ < changes_) next_change_ = std::min(next_change_, schedule[reroutes_].at + options_.convergence);
}

void VirtualFabric::change_next() noexcept {
  const std::vector<CableEvent>& schedule = options_.schedule;
  if (changes_ < schedule.size() && schedule[changes_].at == next_change_) {
    change_cable(schedule[changes_++], next_change_);
  } else {
    ++reroutes_;
    routes_.compute(cable_in_use_);
  }
  ++handled_;
  find_next_change();
}

void VirtualFabric::change_cable(const CableEvent& change, Time now) noexcept {
  const bool up = change.state == CableState::kUp;
  cable_in_use_[change.cable] = up ? 1 : 0;
  for (const uint32_t port : {2 * change.cable, 2 * change.cable + 1}) {
    if (ports_[port].up && !up) silence(port, now);
    ports_[port].up = up;
  }
}

/// What waits for the cable is lost, and no pause survives it.
void VirtualFabric::silence(uint32_t number, Time now) noexcept {
  Port& port = ports_[number];
  FabricFlowControl& control = flow_control_[number];
  port.up = false;
  port.was_down = true;
  details_[number].down_at = now;
  for (uint32_t i = 0; i < kPriorities; ++i) {
    discard_queue(number, i, FabricDrop::kCableDown, now);
    if ((control.storms & priority_bit(i)) != 0) end_storm(number, i, now);
    ingress(number, i).group.paused = false;
  }
  control.pauses.receive(priority_pause(kAllPriorities, 0), now);
  control.asked = 0;
  note_pauses(number, now);
  port.untold = 0;
}

}  // namespace rankwire

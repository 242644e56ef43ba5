// Pauses: those that a port obeys, those that it asks for, and those that last too long.
#include <algorithm>

#include "dataplane/switch/virtual_fabric.h"

namespace rankwire {

PrioritySet VirtualFabric::paused_of_some(uint32_t number, Time now) const noexcept {
  const FabricFlowControl& control = flow_control_[number];
  PrioritySet set = control.pauses.paused(now);
  if (control.storms != 0 && switches_[ports_[number].device].options.watchdog->action == StormAction::kForward) {
    set &= static_cast<PrioritySet>(~control.storms);
  }
  return set;
}

/// What is paused has changed.
void VirtualFabric::note_pauses(uint32_t number, Time now) noexcept {
  Port& port = ports_[number];
  const PauseTimers& pauses = flow_control_[number].pauses;
  port.paused_until = pauses.last_expiry();
  port.pauses_differ = pauses.next_expiry(now) < port.paused_until;
  port.paused = paused_of_some(number, now);
}

void VirtualFabric::obey(uint32_t number, const PauseFrame& pause, Time now) noexcept {
  Port& port = ports_[number];
  FabricFlowControl& control = flow_control_[number];
  const FabricSwitchOptions& options = switches_[port.device].options;
  ++counters_of(number).pauses_rx;
  PauseFrame heeded = pause;
  if (pause.kind == PauseFrame::Kind::kPriority) heeded.priorities &= options.classes.lossless;
  if (heeded.priorities == 0 || !port.up) return;
  const PrioritySet before = control.pauses.paused(now);
  control.pauses.receive(heeded, now);
  note_pauses(number, now);
  const PrioritySet after = control.pauses.paused(now);
  for (uint32_t i = 0; i < kPriorities; ++i) {
    if ((after & ~before & priority_bit(i)) != 0) control.progress[i] = now;
    if (series_ && ((after ^ before) & priority_bit(i)) != 0) {
      series_->pause(queue_number(number, i), (after & priority_bit(i)) != 0, now);
    }
  }
  if (options.watchdog && after != 0 && !control.look_due) {
    control.look_due = true;
    agenda_.push(now + look_interval(*options.watchdog), FabricEventKind::kWatchdog, number);
  }
  serve_or_wake(number, now);
}

void VirtualFabric::ask(uint32_t number, uint32_t priority, Time now) noexcept {
  if (series_) series_->ask(queue_number(number, priority), now);
  flow_control_[number].asked |= priority_bit(priority);
  ports_[number].untold |= priority_bit(priority);
  serve_or_wake(number, now);
}

/// The port's group, which was paused, has room again.
void VirtualFabric::resume(uint32_t number, uint32_t priority, Time now) noexcept {
  flow_control_[number].asked &= static_cast<PrioritySet>(~priority_bit(priority));
  ports_[number].untold |= priority_bit(priority);
  // The port may be the one that is sending: its line is not free, so it is not served within its own turn.
  serve_or_wake(number, now);
}

void VirtualFabric::refresh(uint32_t number, Time now) noexcept {
  const PrioritySet asked = flow_control_[number].asked;
  if (asked == 0) return;
  ports_[number].untold |= asked;
  serve_or_wake(number, now);
}

void VirtualFabric::await_expiry(uint32_t number, Time now) noexcept {
  if (ports_[number].expiry_due) return;
  const Time expiry = flow_control_[number].pauses.next_expiry(now);
  if (expiry == Time::never()) return;
  ports_[number].expiry_due = true;
  agenda_.push(expiry, FabricEventKind::kExpire, number);
}

/// A frame of the queue leaves.
void VirtualFabric::note_progress(uint32_t number, uint32_t priority, Time now) noexcept {
  FabricFlowControl& control = flow_control_[number];
  control.progress[priority] = now;
  if ((control.storms & control.pauses.paused(now) & priority_bit(priority)) != 0) storms_.forward(number, priority);
}

void VirtualFabric::begin_storm(uint32_t number, uint32_t priority, Time now) noexcept {
  FabricFlowControl& control = flow_control_[number];
  control.storms |= priority_bit(priority);
  control.calm_since[priority] = Time::never();
  ++counters_of(number).storms;
  storms_.begin(number, priority, control.progress[priority], now);
  if (switches_[ports_[number].device].options.watchdog->action == StormAction::kDrop)
    discard_queue(number, priority, FabricDrop::kWatchdog, now);
}

void VirtualFabric::end_storm(uint32_t number, uint32_t priority, Time now) noexcept {
  flow_control_[number].storms &= static_cast<PrioritySet>(~priority_bit(priority));
  storms_.end(number, priority, now);
}

/// The watchdog's look at a port that was paused.
void VirtualFabric::look_for_storms(uint32_t number, Time now) noexcept {
  Port& port = ports_[number];
  FabricFlowControl& control = flow_control_[number];
  const WatchdogOptions& options = *switches_[port.device].options.watchdog;
  const PrioritySet paused = control.pauses.paused(now);
  for (uint32_t i = 0; i < kPriorities; ++i) {
    const PrioritySet bit = priority_bit(i);
    if ((control.storms & bit) != 0) {
      if ((paused & bit) != 0) {
        control.calm_since[i] = Time::never();
      } else if (control.calm_since[i] == Time::never()) {
        control.calm_since[i] = now;
      } else if (now - control.calm_since[i] >= options.restoration) {
        end_storm(number, i, now);
      }
    } else if ((paused & port.waiting & bit) != 0 && now - control.progress[i] >= options.detection) {
      begin_storm(number, i, now);
    }
  }
  note_pauses(number, now);
  serve_or_wake(number, now);
  if ((paused | control.storms) == 0) return;
  control.look_due = true;
  agenda_.push(now + look_interval(options), FabricEventKind::kWatchdog, number);
}

}  // namespace rankwire

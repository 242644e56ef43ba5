#include "dataplane/switch/pauses.h"

namespace rankwire {

FabricPauses::FabricPauses(FabricTables& tables, FabricAgenda& agenda, FabricStorms& storms, FabricSeries* series)
    : tables_(tables), agenda_(agenda), storms_(storms), series_(series) {
  flow_control_.reserve(tables.port_count);
  for (uint32_t p = 0; p < tables.port_count; ++p) flow_control_.emplace_back(tables.topology.line_of(p).rate);
}

PrioritySet FabricPauses::paused_of_some(uint32_t number, Time now) const noexcept {
  const FabricFlowControl& control = flow_control_[number];
  PrioritySet set = control.pauses.paused(now);
  if (control.storms != 0 && tables_.switch_of(number).options.watchdog->action == StormAction::kForward) {
    set &= static_cast<PrioritySet>(~control.storms);
  }
  return set;
}

/// What is paused has changed.
void FabricPauses::note_pauses(uint32_t number, Time now) noexcept {
  FabricPort& port = tables_.ports[number];
  const PauseTimers& pauses = flow_control_[number].pauses;
  port.paused_until = pauses.last_expiry();
  port.pauses_differ = pauses.next_expiry(now) < port.paused_until;
  port.paused = paused_of_some(number, now);
}

bool FabricPauses::obey(uint32_t number, const PauseFrame& pause, Time now) noexcept {
  FabricFlowControl& control = flow_control_[number];
  const FabricSwitchOptions& options = tables_.switch_of(number).options;
  ++tables_.counters_of(number).pauses_rx;
  PauseFrame heeded = pause;
  if (pause.kind == PauseFrame::Kind::kPriority) heeded.priorities &= options.classes.lossless;
  if (heeded.priorities == 0 || !tables_.ports[number].up) return false;
  const PrioritySet before = control.pauses.paused(now);
  control.pauses.receive(heeded, now);
  note_pauses(number, now);
  const PrioritySet after = control.pauses.paused(now);
  for (uint32_t i = 0; i < kPriorities; ++i) {
    if ((after & ~before & priority_bit(i)) != 0) control.progress[i] = now;
    if (series_ != nullptr && ((after ^ before) & priority_bit(i)) != 0) {
      series_->pause(FabricTables::queue_number(number, i), (after & priority_bit(i)) != 0, now);
    }
  }
  if (options.watchdog && after != 0 && !control.look_due) await_look(number, now);
  return true;
}

void FabricPauses::await_expiry(uint32_t number, Time now) noexcept {
  if (tables_.ports[number].expiry_due) return;
  const Time expiry = flow_control_[number].pauses.next_expiry(now);
  if (expiry == Time::never()) return;
  tables_.ports[number].expiry_due = true;
  agenda_.push(expiry, FabricEventKind::kExpire, number);
}

void FabricPauses::ask(uint32_t number, uint32_t priority, Time now) noexcept {
  if (series_ != nullptr) series_->ask(FabricTables::queue_number(number, priority), now);
  flow_control_[number].asked |= priority_bit(priority);
  tables_.ports[number].untold |= priority_bit(priority);
}

void FabricPauses::let_go_on(uint32_t number, uint32_t priority) noexcept {
  flow_control_[number].asked &= static_cast<PrioritySet>(~priority_bit(priority));
  tables_.ports[number].untold |= priority_bit(priority);
}

void FabricPauses::note_told(uint32_t number, Time now) noexcept {
  FabricPort& port = tables_.ports[number];
  FabricFlowControl& control = flow_control_[number];
  port.untold = 0;
  if (control.asked == 0 || control.refresh_due) return;
  control.refresh_due = true;
  const uint16_t quanta = tables_.switches[port.device].options.pause_quanta;
  const Duration pause = pause_time(quanta, tables_.line_of(port).times.rate());
  agenda_.push(now + Duration(pause.ps / 2), FabricEventKind::kRefresh, number);
}

bool FabricPauses::repeat(uint32_t number) noexcept {
  FabricFlowControl& control = flow_control_[number];
  control.refresh_due = false;
  tables_.ports[number].untold |= control.asked;
  return control.asked != 0;
}

void FabricPauses::note_progress(uint32_t number, uint32_t priority, Time now) noexcept {
  FabricFlowControl& control = flow_control_[number];
  control.progress[priority] = now;
  if ((control.storms & control.pauses.paused(now) & priority_bit(priority)) != 0) storms_.forward(number, priority);
}

void FabricPauses::begin_storm(uint32_t number, uint32_t priority, Time now) noexcept {
  FabricFlowControl& control = flow_control_[number];
  control.storms |= priority_bit(priority);
  control.calm_since[priority] = Time::never();
  ++tables_.counters_of(number).storms;
  storms_.begin(number, priority, control.progress[priority], now);
}

void FabricPauses::end_storm(uint32_t number, uint32_t priority, Time now) noexcept {
  flow_control_[number].storms &= static_cast<PrioritySet>(~priority_bit(priority));
  storms_.end(number, priority, now);
}

void FabricPauses::await_look(uint32_t number, Time now) noexcept {
  flow_control_[number].look_due = true;
  agenda_.push(now + look_interval(*tables_.switch_of(number).options.watchdog), FabricEventKind::kWatchdog, number);
}

PrioritySet FabricPauses::look_for_storms(uint32_t number, Time now) noexcept {
  FabricPort& port = tables_.ports[number];
  FabricFlowControl& control = flow_control_[number];
  const WatchdogOptions& options = *tables_.switches[port.device].options.watchdog;
  const PrioritySet paused = control.pauses.paused(now);
  PrioritySet begun = 0;
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
      begun |= bit;
    }
  }
  note_pauses(number, now);
  control.look_due = false;
  if ((paused | control.storms) != 0) await_look(number, now);
  return options.action == StormAction::kDrop ? begun : PrioritySet{0};
}

void FabricPauses::silence(uint32_t number, Time now) noexcept {
  FabricPort& port = tables_.ports[number];
  FabricFlowControl& control = flow_control_[number];
  for (uint32_t i = 0; i < kPriorities; ++i) {
    if ((control.storms & priority_bit(i)) != 0) end_storm(number, i, now);
    tables_.ingress(number, i).group.paused = false;
  }
  control.pauses.receive(priority_pause(kAllPriorities, 0), now);
  control.asked = 0;
  note_pauses(number, now);
  port.untold = 0;
}

}  // namespace rankwire

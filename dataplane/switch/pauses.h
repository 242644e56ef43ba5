// Flow control of the ports of a fabric: pauses that a port obeys, those that it asks for, and those that last too
// long.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "base/units.h"
#include "dataplane/switch/agenda.h"
#include "dataplane/switch/series.h"
#include "dataplane/switch/storms.h"
#include "dataplane/switch/tables.h"
#include "dataplane/wire/pause.h"

namespace rankwire {

/// Knows of every port what the other end of its line forbids it, what it forbids the other end, and what its watchdog
/// has taken. It sends nothing and discards nothing: who tells it of a change serves the port thereafter, whose
/// FabricPort::untold says what the next PFC frame is to tell. Events of its ports that it has put on the agenda are
/// given back to it: kRefresh to `repeat`, kWatchdog to `look_for_storms`. No allocation after construction. One
/// thread.
class FabricPauses {
 public:
  /// All are borrowed; `series` is null when nobody takes samples.
  FabricPauses(FabricTables& tables, FabricAgenda& agenda, FabricStorms& storms, FabricSeries* series);

  // Obeyed.
  /// What the port must not begin to send at `now`.
  PrioritySet paused(uint32_t number, Time now) const noexcept { return paused(tables_.ports[number], number, now); }
  /// The same for who has the port's row at hand.
  PrioritySet paused(const FabricPort& port, uint32_t number, Time now) const noexcept {
    if (port.paused_until <= now) return 0;
    return port.pauses_differ ? paused_of_some(number, now) : port.paused;
  }
  /// A pause frame has taken effect: PAUSE for all priorities, PFC for lossless ones. False when it changes nothing
  /// here; otherwise the port is to be served.
  bool obey(uint32_t port, const PauseFrame& pause, Time now) noexcept;
  /// See to a kExpire of the port when the first of its pauses is over, unless there is one already.
  void await_expiry(uint32_t port, Time now) noexcept;
  /// How long the priority has been paused up to `now`.
  Duration time_paused(uint32_t port, uint32_t priority, Time now) const noexcept {
    return flow_control_[port].pauses.time_paused(priority, now);
  }

  // Asked for.
  /// The priority group of the port has had its share: the other end is to pause.
  void ask(uint32_t port, uint32_t priority, Time now) noexcept;
  /// It has room again: the other end may go on.
  void let_go_on(uint32_t port, uint32_t priority) noexcept;
  /// What the other end has been told to pause, or is going to be.
  PrioritySet asked(uint32_t port) const noexcept { return flow_control_[port].asked; }
  /// A PFC frame begins to tell the other end: it is going to be told again when half of the pause is over.
  void note_told(uint32_t port, Time now) noexcept;
  /// That time has come. False when nothing is asked for any more; otherwise the port is to be served.
  bool repeat(uint32_t port) noexcept;

  // Too long.
  /// Frames of these priorities are not to be queued at the port, by StormAction::kDrop.
  bool discards(const FabricTransit& frame) const noexcept {
    return (flow_control_[frame.number].storms & frame.bit) != 0 &&
           frame.device.options.watchdog->action == StormAction::kDrop;
  }
  /// The first frame of the queue begins to wait. Only where there is a watchdog.
  void note_waiting(uint32_t port, uint32_t priority, Time now) noexcept {
    flow_control_[port].progress[priority] = now;
  }
  /// A frame of the queue leaves. The same.
  void note_progress(uint32_t port, uint32_t priority, Time now) noexcept;
  /// The watchdog's look at a port that was paused. Returns the priorities whose queues are to be discarded now; the
  /// port is to be served.
  PrioritySet look_for_storms(uint32_t port, Time now) noexcept;

  /// The cable of the port is down, its queues are empty: no pause survives that.
  void silence(uint32_t port, Time now) noexcept;

 private:
  static Duration look_interval(const WatchdogOptions& watchdog) noexcept {
    return Duration(std::max<int64_t>(1, std::min(watchdog.detection, watchdog.restoration).ps / 4));
  }
  PrioritySet paused_of_some(uint32_t port, Time now) const noexcept;
  void note_pauses(uint32_t port, Time now) noexcept;
  void await_look(uint32_t port, Time now) noexcept;
  void begin_storm(uint32_t port, uint32_t priority, Time now) noexcept;
  void end_storm(uint32_t port, uint32_t priority, Time now) noexcept;

  FabricTables& tables_;
  FabricAgenda& agenda_;
  FabricStorms& storms_;
  FabricSeries* const series_;
  std::vector<FabricFlowControl> flow_control_;  ///< by port
};

}  // namespace rankwire

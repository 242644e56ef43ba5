// The output queues of a fabric: what leaves its ports, and when.
#pragma once

#include <cstdint>

#include "base/units.h"
#include "dataplane/switch/admission.h"
#include "dataplane/switch/agenda.h"
#include "dataplane/switch/hosts.h"
#include "dataplane/switch/options.h"
#include "dataplane/switch/pauses.h"
#include "dataplane/switch/series.h"
#include "dataplane/switch/storms.h"
#include "dataplane/switch/tables.h"
#include "dataplane/wire/pause.h"
#include "fabric/cable_event.h"

namespace rankwire {

/// Queues frames that are admitted, and begins to send when the line is free, what PortScheduler picks of what is not
/// paused, PFC frames before all else. A frame that leaves by a cable becomes a kArrive of the port at its other end, a
/// PFC frame a kPause; what is for a host is put on its line. What leaves makes room, which may let another port's
/// other end go on, and so another port send: all that is one part. No allocation. One thread.
class FabricOutputs {
 public:
  /// Pauses that may be on the cables at once, a port; beyond them they wait.
  static constexpr uint32_t kPausesOfPort = 8;

  /// All are borrowed; `series` is null when nobody takes samples, `observer` when nobody looks on.
  FabricOutputs(FabricTables& tables, FabricAgenda& agenda, FabricStorms& storms, FabricSeries* series,
                FabricPauses& pauses, FabricAdmission& admission, FabricHosts& hosts, FabricObserver* observer)
      : tables_(tables),
        agenda_(agenda),
        storms_(storms),
        series_(series),
        pauses_(pauses),
        admission_(admission),
        hosts_(hosts),
        observer_(observer) {}

  /// The frame, whose packet tells by which port it came, is to leave by the port `number` of the same switch: it is
  /// sent, queued or dropped. In transit.h, inlined where most frames pass.
  void enqueue(uint32_t number, uint32_t handle, Time now) noexcept;
  /// A pause frame from the other end of the port's line takes effect.
  void obey(uint32_t port, const PauseFrame& pause, Time now) noexcept;
  /// An event of the switches' agenda is due; not kArrive.
  void handle(const FabricEvent& event) noexcept;
  /// The cable of the port is in this condition from now on; when it goes down what waits for it is lost. One that
  /// becomes shorter carries nothing for as long as it does, so that no frame overtakes another.
  void change(uint32_t port, const CableCondition& condition, Time now) noexcept;

  /// Of the last frame that came to an output queue.
  uint32_t recent_priority() const noexcept { return recent_priority_; }
  /// Times that a frame has begun to leave.
  uint64_t hops() const noexcept { return hops_; }

 private:
  /// Whether something waits for the line, which is free.
  static bool may_send(const FabricPort& port, Time now) noexcept {
    return (port.waiting | port.untold) != 0 && port.free_at <= now && port.up;
  }
  /// Whether a frame that finds nothing waiting may leave at once.
  static bool may_pass(const FabricPort& output, Time now) noexcept {
    return output.free_at <= now && output.untold == 0 && output.paused_until <= now;
  }

  // transit.h
  void pass(const FabricTransit& frame, bool charged, Time now) noexcept;
  void depart(const FabricTransit& frame, bool charged, Time now) noexcept;
  void release_buffer(const FabricTransit& frame, Time now) noexcept;
  void ask_if_full(const FabricTransit& frame, Time now) noexcept;

  void lose(uint32_t handle, FabricDrop reason, uint32_t port) noexcept;
  void serve(uint32_t port, Time now) noexcept;
  void serve_or_wake(uint32_t port, Time now) noexcept;
  uint32_t schedule(uint32_t port, PrioritySet eligible) noexcept;
  void send(uint32_t port, uint32_t priority, Time now) noexcept;
  bool send_pause(uint32_t port, Time now) noexcept;
  void ask(uint32_t port, uint32_t priority, Time now) noexcept;
  void resume(uint32_t port, uint32_t priority, Time now) noexcept;
  void discard_queue(uint32_t port, uint32_t priority, FabricDrop reason, Time now) noexcept;

  FabricTables& tables_;
  FabricAgenda& agenda_;
  FabricStorms& storms_;
  FabricSeries* const series_;
  FabricPauses& pauses_;
  FabricAdmission& admission_;
  FabricHosts& hosts_;
  FabricObserver* const observer_;
  uint64_t hops_ = 0;
  uint32_t pauses_on_cables_ = 0;
  uint32_t recent_priority_ = 0;
};

}  // namespace rankwire

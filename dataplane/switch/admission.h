// Which frames get a place in the buffers of a fabric's switches.
#pragma once

#include <cstdint>
#include <optional>

#include "base/units.h"
#include "dataplane/switch/pauses.h"
#include "dataplane/switch/series.h"
#include "dataplane/switch/tables.h"

namespace rankwire {

/// Charges frames that come to an output queue to the SharedBuffer of their switch and takes that back, with RED in
/// between. What it says of a priority group (PriorityGroup::paused) the other end has to be told by who asked. No
/// allocation. One thread.
class FabricAdmission {
 public:
  /// All are borrowed; `series` is null when nobody takes samples.
  FabricAdmission(FabricTables& tables, const FabricPauses& pauses, FabricSeries* series)
      : tables_(tables), pauses_(pauses), series_(series) {}

  // To be inlined where every frame passes.
  /// Charges the frame, which RED may have marked, to its switch's buffer, or says why not.
  [[gnu::always_inline]] bool admit(const FabricTransit& frame, FabricDrop& reason) noexcept {
    FabricSwitch& device = frame.device;
    if (!frame.output.up) return reason = FabricDrop::kCableDown, false;
    const bool waits = (frame.output.waiting & frame.bit) != 0;
    const Bytes queued = waits ? frame.queue.queued : Bytes();
    if (!device.plain) [[unlikely]] {
      if (device.watched && pauses_.discards(frame)) return reason = FabricDrop::kWatchdog, false;
      if (const std::optional<Bytes>& limit = device.buffer.queue_bound(); limit && queued + frame.length > *limit)
        return reason = FabricDrop::kTail, false;
    }
    if ((device.lossless & frame.bit) != 0) {
      if (!device.buffer.admit_lossless(frame.group, frame.length)) return reason = FabricDrop::kHeadroom, false;
    } else if (!device.buffer.admit_lossy(frame.group, queued, frame.length)) {
      return reason = FabricDrop::kTail, false;
    }
    // An empty queue is not above any threshold.
    if (!device.marks_arrivals || queued == Bytes() || passes_red(frame.number, frame.handle)) return true;
    device.buffer.release(frame.group, frame.length);
    return reason = FabricDrop::kEarly, false;
  }
  /// A frame has been admitted. Whether its group, lossless, has had its share with it and is paused from now on.
  [[gnu::always_inline]] static bool pauses_group(const FabricTransit& frame) noexcept {
    if ((frame.device.lossless & frame.bit) == 0 || frame.group.paused || !frame.device.buffer.must_pause(frame.group))
      return false;
    frame.group.paused = true;
    return true;
  }
  /// The frame, which was admitted, leaves the buffer. Whether its group was paused and is not any more.
  [[gnu::always_inline]] static bool releases_group(const FabricTransit& frame) noexcept {
    frame.device.buffer.release(frame.group, frame.length);
    if (!frame.group.paused || !frame.device.buffer.may_resume(frame.group)) return false;
    frame.group.paused = false;
    return true;
  }

  /// RED looks at the queue of the frame's priority at `output`: marks the frame, or not; false when it drops it
  /// instead. Only where there is RED.
  bool passes_red(uint32_t output, uint32_t handle) noexcept;

 private:
  FabricTables& tables_;
  const FabricPauses& pauses_;
  FabricSeries* const series_;
};

}  // namespace rankwire

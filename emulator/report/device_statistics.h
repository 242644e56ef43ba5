// What devices under test counted in a run, port by port, beside what was seen at our ends of their cables.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "emulator/record/reader.h"

namespace rankwire {

/// A port of a device. What the device does not count is absent. A counter that falls was reset, and counts from 0.
struct DevicePortStatistics {
  std::string device, port, own_port;
  std::optional<uint64_t> longest_queue;  ///< bytes, of one sample, before the run too
  std::optional<uint64_t> marked, pfc_rx, pfc_tx,
      dropped;                       ///< from time 0 on; of queues together, or of the whole port
  std::vector<double> queue_column;  ///< bytes of the longest queue; this and the next kPlotColumns
  std::vector<bool> marked_column, paused_column, dropped_column;  ///< a sample there shows that there were any
};

/// Of a run that took `end` (> 0), in the order of the record.
std::vector<DevicePortStatistics> device_port_statistics(const DeviceCounters& counters, Time end);

/// What was seen behind one of our ports.
struct OwnPortView {
  uint64_t marks = 0;                   ///< data packets that arrived with ECN CE
  uint64_t lost = 0;                    ///< data packets on the way there that did not arrive
  uint64_t pause_rx = 0, pause_tx = 0;  ///< PFC and PAUSE frames
};

/// By the port's name; absent: there is no such port.
std::optional<OwnPortView> own_port_view(const RunReader& record, const RecordedRun& run, const std::string& port);

/// The largest error of a time of a device's samples; absent where one has no bound, or there is no sample.
std::optional<Duration> clock_error_of(const DeviceCounters& counters, uint32_t device);

/// Where the devices and we do not agree, a sentence each, of drops, marks and pauses: one side saw some and the other
/// none, or they differ by more than a tenth. Of drops that the devices counted beyond our losses only where we had
/// none: what they drop may be acknowledgements, or of others.
std::vector<std::string> device_disagreements(const RunReader& record);

}  // namespace rankwire

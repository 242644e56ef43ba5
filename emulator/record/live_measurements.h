// What is measured in memory while a run goes on, and written beside it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "emulator/record/device_rows.h"
#include "emulator/record/run_record.h"

namespace rankwire {

/// Samples of queues that are new since the update before.
struct QueueUpdate {
  bool anew = false;  ///< what was told before is void: the rows were made fewer, and are told again
  Duration interval;  ///< as of QueueSampling, as what follows
  uint64_t lost = 0;
  std::span<const std::string> ports;
  std::vector<QueueSampleRow> rows;
};

/// A pause storm that has begun or changed since the update before.
struct StormUpdate {
  size_t place = 0;  ///< in the order in which they began, without gaps
  StormRow storm;
};

/// Samples of rates that are new since the update before.
struct RateUpdate {
  bool anew = false;  ///< what was told before is void: the interval has become longer, and all is told again
  RateSampling
      rates;  ///< intervals, and rows lost, as they are by now; those rows that are new, in no order of workers
};

/// Asked by the recorder's thread while the run's own threads measure.
class LiveMeasurements {
 public:
  virtual ~LiveMeasurements() = default;
  /// At most `most` (> 0) new samples; absent when nothing is new. `ports` is valid until the next call.
  virtual std::optional<QueueUpdate> queue_update(size_t) { return std::nullopt; }
  virtual std::vector<StormUpdate> storm_update() { return {}; }
  /// At most `most` (> 0) new samples of each series; absent when nothing is new.
  virtual std::optional<RateUpdate> rate_update(size_t) { return std::nullopt; }
  /// All that devices under test have counted so far; what was told before is void. Absent when nothing is new, or it
  /// is too early to write all of it again.
  virtual std::optional<DeviceCounters> device_update() { return std::nullopt; }
  /// Writes what was captured since the call before into its file. Keeps errors for whoever completes the file.
  virtual void save_captured() {}
};

}  // namespace rankwire

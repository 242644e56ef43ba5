// How well the clock of runs in real time (CLOCK_MONOTONIC) keeps its rate.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/units.h"

namespace rankwire {

/// All clocks of the machine read at one moment, nanoseconds but for `ticks`.
struct ClockReading {
  int64_t monotonic = 0;  ///< CLOCK_MONOTONIC, whose rate the kernel adjusts
  int64_t raw = 0;        ///< CLOCK_MONOTONIC_RAW: the same oscillator, not adjusted
  uint64_t ticks = 0;     ///< of the processor's time stamp counter; 0: none that runs evenly
  int64_t width = 0;      ///< the readings are apart by so much, at most
};
/// The closest of several readings.
ClockReading read_clocks();

struct ClockError {
  Duration time;    ///< from the first reading to the last
  double slew_ppm;  ///< by how much CLOCK_MONOTONIC runs faster than CLOCK_MONOTONIC_RAW, parts per million
  /// How far CLOCK_MONOTONIC was from a straight line over the time stamp counter, at the readings in between, at most,
  /// what they are apart included; absent without such a counter or such readings.
  std::optional<Duration> residual;
};
/// Absent of fewer than two readings, or of no time.
std::optional<ClockError> clock_error(std::span<const ClockReading> readings);

/// Whether /proc/cpuinfo says that the time stamp counter runs evenly, also when the processor is idle or changes its
/// frequency (constant_tsc and nonstop_tsc).
bool has_even_ticks(std::string_view cpuinfo);

}  // namespace rankwire

// When a device's counters were read, on this machine's clock.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace rankwire {

/// Nanoseconds; `asked` and `arrived` of this machine's clock, `stamp` of the device's.
struct SampleTimes {
  std::optional<int64_t> asked;  ///< a call began; absent: the device sends by itself
  int64_t arrived = 0;
  std::optional<int64_t> stamp;
};

/// Nanoseconds of this machine's clock.
struct SampleTime {
  int64_t at = 0;
  std::optional<int64_t> error;  ///< how far it may be off, either way; absent: nothing bounds it
};

struct DeviceClockFit {
  std::vector<SampleTime> times;  ///< of all samples, in their order
  std::optional<int64_t> ahead;   ///< device's clock - this machine's, in the end; absent without stamps
  uint32_t steps = 0;             ///< times that the device's clock was set
};

/// A sample without stamp is put in the middle of its call, half of which is its error, or where none was made to its
/// arrival. A stamp lies between the beginning of its call and the arrival, so that each sample bounds what the
/// device's clock is ahead; all of them together bound it by the least of their upper and the greatest of their lower
/// bounds, whose middle and half distance are offset and error. Where the device sends by itself there are upper bounds
/// alone: the quickest sample then took between nothing and twice `round_trip`, if that is known. Clocks may drift 50
/// us/s each way: that is added to the error, and bounds are of a minute. Where bounds contradict each other the
/// device's clock was set; where there are no lower ones, where three samples in a row agree on 100 ms or 2 round trips
/// more, or one on less.
DeviceClockFit fit_device_clock(std::span<const SampleTimes> samples, std::optional<int64_t> round_trip);

}  // namespace rankwire

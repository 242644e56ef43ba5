// The clock of a NIC, told in the run's time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/units.h"

namespace rankwire {

/// Converts a device's time stamps to the run's clock with a straight line through readings of both: each reading of
/// the device lies between two readings of the run's clock, whose distance bounds its error (Cristian, "Probabilistic
/// clock synchronization", 1989). The line is fitted by least squares, each reading weighing the inverse square of that
/// bound, over the last kReadings, and follows the drift of the device's oscillator.
///
/// The device's counter may begin anywhere and wrap at 64 bits; its rate is not known beforehand. The run's clock may
/// step, as it does when the run begins: the line then keeps its slope and begins anew. No I/O; nothing allocates.
class DeviceClock {
 public:
  static constexpr size_t kReadings = 64;
  /// A reading further from the line than its own bound and this says that one of the clocks was stepped.
  static constexpr Duration kStep = microseconds(100);
  /// Frames do not wait longer in a device: what a stamp says beyond it is not believed.
  static constexpr Duration kPlausible = milliseconds(100);

  /// The device's clock said `ticks` at some moment of `earliest` .. `latest` of the run's clock.
  struct Reading {
    uint64_t ticks = 0;
    Time earliest, latest;
  };

  /// Readings come in order of time.
  void add(const Reading& reading) noexcept;

  /// Whether stamps can be converted: two readings, or one after a step.
  bool ready() const noexcept { return count_ > 0 && slope_ > 0; }
  /// The run's time of a stamp of about now. Only when `ready`.
  Time at(uint64_t ticks) const noexcept;
  /// The time of a stamp that came with a frame found at `now`; `now` itself when the clocks are not fitted, or the
  /// result is not within kPlausible of it.
  Time arrival(uint64_t ticks, Time now) const noexcept;
  /// How far `at` can be off, at the median of the readings that are kept: the distance of a reading's middle from the
  /// line and half its width. 0 when there is none.
  Duration error() const noexcept;

 private:
  /// Position relative to the newest reading, whose ticks and middle are the origin: what is far away loses no digit.
  struct Point {
    double ticks, ps, half_width;
  };
  Point point(const Reading& reading) const noexcept;
  /// The line at `ticks`, in picoseconds from origin_.
  double line(uint64_t ticks) const noexcept;
  bool stepped(const Reading& reading) const noexcept;
  void fit() noexcept;

  std::array<Reading, kReadings> readings_;
  size_t count_ = 0, next_ = 0;  // kept readings, and the place of the next one
  uint64_t origin_ticks_ = 0;
  Time origin_;
  double slope_ = 0;   // picoseconds a tick; 0: not known yet
  double offset_ = 0;  // of the line at origin_ticks_ from origin_, in picoseconds
};

}  // namespace rankwire

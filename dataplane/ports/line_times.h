// Serialization times, computed often.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "base/units.h"
#include "dataplane/wire/frame.h"

namespace rankwire {

/// How long frames take on a line. At the usual rates a byte takes whole picoseconds; otherwise the times of a few
/// lengths are remembered: traffic has few, and the 128-bit division is dear. One thread.
class LineTimes {
 public:
  /// `rate` > 0.
  explicit LineTimes(Bandwidth rate) : rate_(rate) {
    constexpr int64_t kBitsPs = 8'000'000'000'000;
    if (kBitsPs % rate.bits_per_second == 0) byte_ps_ = kBitsPs / rate.bits_per_second;
    known_.fill({UINT32_MAX, Duration()});
  }

  Bandwidth rate() const noexcept { return rate_; }
  /// Of a frame of `length` bytes without FCS, with all that it occupies (`line_bytes`).
  Duration of(uint32_t length) noexcept {
    if (byte_ps_ != 0) return Duration(line_bytes(length).count * byte_ps_);
    Known& known = known_[length * kSpread >> (32 - std::bit_width(kLengths - 1))];
    if (known.length != length) known = {length, serialization_time(line_bytes(length), rate_)};
    return known.time;
  }

 private:
  struct Known {
    uint32_t length;
    Duration time;
  };
  // The factor keeps the lengths of full packets of every kind and of acknowledgements apart, at any path MTU.
  static constexpr uint32_t kLengths = 32, kSpread = 0x27D4EB2F;

  Bandwidth rate_;
  int64_t byte_ps_ = 0;
  std::array<Known, kLengths> known_;
};

}  // namespace rankwire

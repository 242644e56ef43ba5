// Quantities with units. Times are run-relative integer picoseconds (64 bits: 106 days), sizes are integer bytes,
// rates are integer bits per second. There is no implicit conversion from a bare number.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>

namespace rankwire {

struct Bytes {
  int64_t count = 0;

  constexpr Bytes() = default;
  constexpr explicit Bytes(int64_t n) : count(n) {}
  constexpr auto operator<=>(const Bytes&) const = default;
  constexpr Bytes operator+(Bytes o) const { return Bytes(count + o.count); }
  constexpr Bytes operator-(Bytes o) const { return Bytes(count - o.count); }
  constexpr Bytes& operator+=(Bytes o) { return count += o.count, *this; }
  constexpr Bytes& operator-=(Bytes o) { return count -= o.count, *this; }
};

/// A span of time in picoseconds.
struct Duration {
  int64_t ps = 0;

  constexpr Duration() = default;
  constexpr explicit Duration(int64_t picoseconds) : ps(picoseconds) {}
  static constexpr Duration max() { return Duration(std::numeric_limits<int64_t>::max()); }
  constexpr auto operator<=>(const Duration&) const = default;
  constexpr Duration operator+(Duration o) const { return Duration(ps + o.ps); }
  constexpr Duration operator-(Duration o) const { return Duration(ps - o.ps); }
  constexpr Duration operator*(int64_t k) const { return Duration(ps * k); }
  constexpr Duration& operator+=(Duration o) { return ps += o.ps, *this; }
  constexpr Duration& operator-=(Duration o) { return ps -= o.ps, *this; }
};

constexpr Duration nanoseconds(int64_t n) {
  return Duration(n * 1'000);
}
constexpr Duration microseconds(int64_t n) {
  return Duration(n * 1'000'000);
}
constexpr Duration milliseconds(int64_t n) {
  return Duration(n * 1'000'000'000);
}
constexpr Duration seconds(int64_t n) {
  return Duration(n * 1'000'000'000'000);
}

/// A point in time, in picoseconds since the run began; negative before it, while connections are set up.
/// `Time::never()` is later than every event, `Time::long_ago()` earlier, and so far from either end that durations can
/// be added and subtracted.
struct Time {
  int64_t ps = 0;

  constexpr Time() = default;
  constexpr explicit Time(int64_t picoseconds) : ps(picoseconds) {}
  static constexpr Time never() { return Time(std::numeric_limits<int64_t>::max()); }
  static constexpr Time long_ago() { return Time(std::numeric_limits<int64_t>::min() / 4); }
  constexpr auto operator<=>(const Time&) const = default;
  constexpr Time operator+(Duration d) const { return Time(ps + d.ps); }
  constexpr Time operator-(Duration d) const { return Time(ps - d.ps); }
  constexpr Duration operator-(Time o) const { return Duration(ps - o.ps); }
  constexpr Time& operator+=(Duration d) { return ps += d.ps, *this; }
};

struct Bandwidth {
  int64_t bits_per_second = 0;

  constexpr Bandwidth() = default;
  constexpr explicit Bandwidth(int64_t bps) : bits_per_second(bps) {}
  constexpr auto operator<=>(const Bandwidth&) const = default;
};

/// A rational factor, such as 1/64. Both parts are positive.
struct Scale {
  int64_t numerator = 1, denominator = 1;
};

/// The time that `size` takes on a line of rate `rate` (> 0), rounded up to whole picoseconds; computed in 128 bits.
constexpr Duration serialization_time(Bytes size, Bandwidth rate) {
  const __int128 bit_ps = static_cast<__int128>(size.count) * 8 * 1'000'000'000'000;
  return Duration(static_cast<int64_t>((bit_ps + rate.bits_per_second - 1) / rate.bits_per_second));
}

}  // namespace rankwire

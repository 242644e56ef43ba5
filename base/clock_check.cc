#include "base/clock_check.h"

#include <time.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <string>

#if __has_include(<x86intrin.h>)
#include <x86intrin.h>
#endif

namespace rankwire {
namespace {

constexpr int kReadings = 32;

int64_t nanoseconds_of(clockid_t clock) {
  timespec time{};
  ::clock_gettime(clock, &time);
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

uint64_t ticks_now() {
#if __has_include(<x86intrin.h>)
  static const bool is_even = [] {
    std::ifstream file("/proc/cpuinfo");
    const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    return has_even_ticks(text);
  }();
  return is_even ? __rdtsc() : 0;
#else
  return 0;
#endif
}

}  // namespace

ClockReading read_clocks() {
  ClockReading closest;
  for (int i = 0; i < kReadings; ++i) {
    const int64_t before = nanoseconds_of(CLOCK_MONOTONIC);
    ClockReading reading{.raw = nanoseconds_of(CLOCK_MONOTONIC_RAW), .ticks = ticks_now()};
    const int64_t after = nanoseconds_of(CLOCK_MONOTONIC);
    reading.monotonic = before + (after - before) / 2, reading.width = after - before;
    if (i == 0 || reading.width < closest.width) closest = reading;
  }
  return closest;
}

std::optional<ClockError> clock_error(std::span<const ClockReading> readings) {
  if (readings.size() < 2) return std::nullopt;
  const ClockReading &first = readings.front(), &last = readings.back();
  const auto monotonic = static_cast<double>(last.monotonic - first.monotonic);
  const auto raw = static_cast<double>(last.raw - first.raw);
  if (monotonic <= 0 || raw <= 0) return std::nullopt;
  ClockError error{.time = nanoseconds(last.monotonic - first.monotonic),
                   .slew_ppm = (monotonic / raw - 1) * 1e6,
                   .residual = std::nullopt};
  if (first.ticks == 0 || last.ticks <= first.ticks || readings.size() < 3) return error;
  const double rate = monotonic / static_cast<double>(last.ticks - first.ticks);
  double most = 0;
  for (const ClockReading& reading : readings) {
    const double line = static_cast<double>(reading.ticks - first.ticks) * rate;
    const double off = std::abs(static_cast<double>(reading.monotonic - first.monotonic) - line);
    most = std::max(most, off + static_cast<double>(reading.width) / 2);
  }
  error.residual = Duration(std::llround(most * 1000));
  return error;
}

bool has_even_ticks(std::string_view cpuinfo) {
  return cpuinfo.find(" constant_tsc") != cpuinfo.npos && cpuinfo.find(" nonstop_tsc") != cpuinfo.npos;
}

}  // namespace rankwire

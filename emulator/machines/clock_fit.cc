#include "emulator/machines/clock_fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>
#include <vector>

namespace rankwire {
namespace {

/// A sample that counts: when, by the middle of its round trip, and how far ahead the other clock was.
struct Point {
  int64_t at = 0, offset = 0, half = 0;
};

Point point_of(const ClockSample& sample) {
  const int64_t half = (sample.round_trip() + 1) / 2;
  return {.at = sample.sent + half, .offset = sample.answered - (sample.sent + half), .half = half};
}

/// Appends the quick ones of a burst, the quickest first.
void add_quick(std::span<const ClockSample> burst, std::vector<Point>& points) {
  const auto quickest = std::ranges::min_element(burst, {}, &ClockSample::round_trip);
  points.push_back(point_of(*quickest));
  const int64_t most = quickest->round_trip() + quickest->round_trip() / 2;
  for (auto sample = burst.begin(); sample != burst.end(); ++sample)
    if (sample != quickest && sample->round_trip() <= most) points.push_back(point_of(*sample));
}

/// By how much the own clock gains on the source, seconds a second.
double gain(std::span<const SourceReading> readings) {
  const SourceReading &first = readings.front(), &last = readings.back();
  const int64_t source = last.source - first.source;
  return static_cast<double>(last.own - first.own - source) / static_cast<double>(source);
}

int64_t widest(std::span<const SourceReading> readings) {
  return std::ranges::max_element(readings, {}, &SourceReading::half)->half;
}

/// Whether it has been read at two times.
bool has_two(std::span<const SourceReading> readings) {
  return readings.back().source - readings.front().source >= kBurstPause;
}

}  // namespace

int64_t ClockFit::offset_at(int64_t own) const {
  return offset + std::llround(drift * static_cast<double>(own - at));
}

Duration ClockFit::error_after(Duration time) const {
  if (drift_known) return error;
  return error + Duration(std::llround(kUnknownDrift * static_cast<double>(time.ps)));
}

ClockFit fit_clock(std::span<const ClockSample> samples) {
  std::vector<Point> points;
  size_t bursts = 0;
  for (size_t begin = 0, end = 0; begin < samples.size(); begin = end) {
    for (end = begin + 1; end < samples.size() && samples[end].sent - samples[end - 1].received < kBurstPause;) ++end;
    add_quick(samples.subspan(begin, end - begin), points);
    ++bursts;
  }
  ClockFit fit{.at = points.front().at, .offset = points.front().offset, .drift_known = bursts > 1};
  int64_t error = points.front().half;
  if (bursts > 1) {
    // Differences to the first point are small enough for doubles to be exact.
    double mean_at = 0, mean_offset = 0;
    for (const Point& p : points) {
      mean_at += static_cast<double>(p.at - fit.at) / static_cast<double>(points.size());
      mean_offset += static_cast<double>(p.offset - fit.offset) / static_cast<double>(points.size());
    }
    double both = 0, square = 0;
    for (const Point& p : points) {
      const double at = static_cast<double>(p.at - fit.at) - mean_at;
      both += at * (static_cast<double>(p.offset - fit.offset) - mean_offset);
      square += at * at;
    }
    fit.drift = both / square;
    fit.offset += std::llround(mean_offset - fit.drift * mean_at);
    for (const Point& p : points) error = std::max(error, std::abs(p.offset - fit.offset_at(p.at)) + p.half);
  }
  fit.error = Duration(error * 1000);
  return fit;
}

// Where the drift is not known, it is not either between the two readings, which are milliseconds apart.
ClockFit fit_by_source(std::span<const SourceReading> own, std::span<const SourceReading> other, Duration apart) {
  const SourceReading &here = own.front(), &there = other.front();
  const int64_t later = there.source - here.source;
  ClockFit fit{.at = here.own, .offset = there.own - later - here.own, .drift_known = has_two(own) && has_two(other)};
  fit.error = Duration((widest(own) + widest(other)) * 1000) + apart;
  if (fit.drift_known) {
    const double gained = gain(own), gained_there = gain(other);
    fit.offset -= std::llround(gained_there * static_cast<double>(later));
    fit.drift = (gained_there - gained) / (1 + gained);
  } else {
    fit.error =
        fit.error + Duration(std::llround(ClockFit::kUnknownDrift * static_cast<double>(std::abs(later)) * 1000));
  }
  return fit;
}

bool can_both_be(const ClockFit& one, const ClockFit& other, int64_t at) {
  const auto error = [at](const ClockFit& fit) { return fit.error_after(Duration(std::abs(at - fit.at) * 1000)).ps; };
  return std::abs(one.offset_at(at) - other.offset_at(at)) * 1000 <= error(one) + error(other);
}

std::string error_text(Duration error) {
  const double us = static_cast<double>(error.ps) / 1e6;
  return us < 1000 ? fmt::format("{:.3g} us", us) : fmt::format("{:.0f} us", us);
}

}  // namespace rankwire

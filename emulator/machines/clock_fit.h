// What the clock of one machine says when another's says something else.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/units.h"

namespace rankwire {

/// A question to another machine and its answer, in nanoseconds: when it left and when the answer was there by the own
/// clock, and what the other's clock said in between.
struct ClockSample {
  int64_t sent = 0, answered = 0, received = 0;

  int64_t round_trip() const { return received - sent; }
};

/// By how much the other clock is ahead, as a line over the own clock's time.
struct ClockFit {
  int64_t at = 0;      ///< own clock, ns: where the line stands on `offset`
  int64_t offset = 0;  ///< ns
  double drift = 0;    ///< of the other clock, seconds a second
  bool drift_known = false;
  Duration error;  ///< the other clock's answers were no further from the line than this

  /// At a time of the own clock, ns.
  int64_t offset_at(int64_t own) const;
  /// How wrong `offset_at` may be so long behind the last sample: where the drift is not known it may be
  /// kUnknownDrift.
  Duration error_after(Duration time) const;

  /// Of two oscillators that each are within 50 ppm of their frequency, as those of computers are.
  static constexpr double kUnknownDrift = 100e-6;
};

/// Samples come in bursts, with a pause of kBurstPause and more in between. Of a burst those count whose round trip is
/// at most half as long again as that of its quickest: an answer was given somewhere in the round trip, so the quickest
/// say most (D. L. Mills, RFC 5905, section 10, the clock filter; F. Cristian, "Probabilistic clock synchronization",
/// 1989). Of several bursts the line is the least squares' one, of one it is level, at the quickest sample. There is
/// one sample at least.
ClockFit fit_clock(std::span<const ClockSample> samples);

/// A clock that machines have in common, read beside the own one, nanoseconds.
struct SourceReading {
  int64_t own = 0, source = 0;
  int64_t half = 0;  ///< `source` was right at `own`, give or take this

  bool operator==(const SourceReading&) const = default;
};

/// What the other machine's clock says, by a clock that both have read: once before a run, and once more after it, by
/// which the drift is known. `apart`: how far what they have read may be apart. Both have read it once at least.
ClockFit fit_by_source(std::span<const SourceReading> own, std::span<const SourceReading> other, Duration apart);

/// Whether both can be true of one clock at a time of the own one: what they may be wrong by overlaps.
bool can_both_be(const ClockFit& one, const ClockFit& other, int64_t at);

/// In us, for people: of less than a millisecond three digits, else whole ones.
std::string error_text(Duration error);

/// Nanoseconds.
constexpr int64_t kBurstPause = 100'000'000;

}  // namespace rankwire

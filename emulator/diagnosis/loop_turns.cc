#include "emulator/diagnosis/loop_turns.h"

namespace rankwire {
namespace {

/// All turns of a bucket together, in picoseconds; each in its middle.
double time_of(const Histogram::Bucket& turns) {
  const double middle = (static_cast<double>(turns.low.ps) + static_cast<double>(turns.high.ps)) / 2;
  return middle * static_cast<double>(turns.count);
}

}  // namespace

Duration typical_turn(std::span<const Histogram::Bucket> turns) {
  double total = 0, passed = 0;
  for (const Histogram::Bucket& bucket : turns) total += time_of(bucket);
  for (const Histogram::Bucket& bucket : turns)
    if (passed += time_of(bucket); 2 * passed >= total) return bucket.high;
  return Duration();
}

Duration time_in_turns_above(std::span<const Histogram::Bucket> turns, Duration length) {
  double time = 0;
  for (const Histogram::Bucket& bucket : turns)
    if (bucket.low > length) time += time_of(bucket);
  return Duration(static_cast<int64_t>(time));
}

bool turns_explain_messages(Duration message, Duration expected, Duration turn) {
  const Duration longer = message - expected;
  return longer * 20 > message && longer <= turn * kTurnsOfMessage;
}

}  // namespace rankwire

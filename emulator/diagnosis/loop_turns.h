// How long the generator's loop took for its turns, and what that means for the times that it measured.
#pragma once

#include <span>

#include "base/histogram.h"
#include "base/units.h"

namespace rankwire {

/// Half of the loop's time passed in turns that were as long as this, or longer: what something that happens at any
/// moment has to expect. A few long turns weigh as much as their time. The upper bound of a bucket, at most 1/32 above
/// the true value; 0 without turns, as in virtual time.
Duration typical_turn(std::span<const Histogram::Bucket> turns);
/// The time that passed in turns longer than `length`, those of the bucket that `length` is in left out; at most 1/32
/// off.
Duration time_in_turns_above(std::span<const Histogram::Bucket> turns, Duration length);

/// A message waits for the end of the turn in which what it follows arrives, for the next one that sends it, and,
/// where the switch is embedded, for the one after that, which takes it there. Devices are given the benefit of the
/// third.
constexpr int64_t kTurnsOfMessage = 3;

/// Whether half of the messages take longer than `expected` by more than a twentieth of `message`, and by no more than
/// the turns that a message waits for.
bool turns_explain_messages(Duration message, Duration expected, Duration turn);

}  // namespace rankwire

// Why a queue pair that has something to send, or that waits for what it sent to be acknowledged, takes its time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/units.h"

namespace rankwire {

/// At every moment from a post to the acknowledgement of all that was posted a queue pair is in exactly one of these.
enum class Cause : uint8_t {
  kTransmitting,       ///< its packets are being put on the line
  kWindow,             ///< as many packets as its window allows are unacknowledged
  kCongestionControl,  ///< its rate or congestion window does not allow the next packet yet
  kPaused,             ///< the next station has paused its priority
  kReceiverNotReady,   ///< the receiver asked it to wait (RNR NAK)
  kRecovering,         ///< it sends lost packets again, or waits for the time-out that tells which are lost
  kPort,               ///< it may send, and other queue pairs or a busy port are first, or traffic that is modelled
  kAcknowledgement,    ///< all is sent, acknowledgements are under way
};
constexpr size_t kCauses = 8;

/// "congestion_control", as in the columns of flows.csv.
constexpr std::string_view to_string(Cause cause) {
  constexpr std::array<std::string_view, kCauses> kNames = {
      "transmitting", "window", "congestion_control", "paused", "rnr", "recovering", "port", "acknowledgement"};
  return kNames[static_cast<size_t>(cause)];
}

/// Durations by Cause. Together they are the time in which something was posted and not acknowledged.
struct TimeByCause {
  std::array<Duration, kCauses> spent{};

  constexpr Duration& operator[](Cause cause) { return spent[static_cast<size_t>(cause)]; }
  constexpr Duration operator[](Cause cause) const { return spent[static_cast<size_t>(cause)]; }
  constexpr Duration total() const {
    Duration sum;
    for (const Duration duration : spent) sum += duration;
    return sum;
  }
  constexpr TimeByCause& operator+=(const TimeByCause& other) {
    for (size_t i = 0; i < kCauses; ++i) spent[i] += other.spent[i];
    return *this;
  }
  /// `other` is an earlier state of the same.
  constexpr TimeByCause operator-(const TimeByCause& other) const {
    TimeByCause difference;
    for (size_t i = 0; i < kCauses; ++i) difference.spent[i] = spent[i] - other.spent[i];
    return difference;
  }
  constexpr bool operator==(const TimeByCause&) const = default;
};

}  // namespace rankwire

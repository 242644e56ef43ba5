// Link-level flow control: PAUSE (IEEE 802.3-2018 Annex 31B) and priority flow control, PFC (IEEE 802.1Qbb, IEEE
// 802.3-2018 Annex 31D), read, written and timed. These frames go to the next station only, never with a VLAN tag.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include "base/address.h"
#include "base/units.h"
#include "dataplane/wire/frame.h"
#include "dataplane/wire/priority.h"

namespace rankwire {

constexpr uint16_t kEtherTypeMacControl = 0x8808;
constexpr MacAddress kMacControlGroup{{0x01, 0x80, 0xC2, 0x00, 0x00, 0x01}};

/// A frame that pauses its receiver's transmitter.
struct PauseFrame {
  enum class Kind : uint8_t {
    kPriority,  ///< PFC: the named priorities
    kGlobal,    ///< PAUSE: the whole line
  };

  Kind kind = Kind::kPriority;
  PrioritySet priorities = 0;  ///< the class-enable vector; all of them in a kGlobal that was read
  /// By priority, of those named: how long not to send, counted anew from the frame's arrival; 0: go on (XON). Of a
  /// kGlobal all are the same, and [0] is written.
  std::array<uint16_t, kPriorities> quanta{};

  bool operator==(const PauseFrame&) const = default;
};

/// A PFC frame that pauses `priorities` for `quanta`, or with 0 lets them go on.
constexpr PauseFrame priority_pause(PrioritySet priorities, uint16_t quanta) {
  PauseFrame pause{.priorities = priorities};
  for (uint32_t i = 0; i < kPriorities; ++i)
    if ((priorities & priority_bit(i)) != 0) pause.quanta[i] = quanta;
  return pause;
}

/// Of `write_pause`, without FCS.
constexpr uint32_t kPauseFrameBytes = 60;
/// The longest pause that one frame can ask for.
constexpr uint16_t kMaxQuanta = UINT16_MAX;

/// `quanta` times 512 bit times of a line of rate `rate` (> 0), rounded up to whole picoseconds.
constexpr Duration pause_time(uint16_t quanta, Bandwidth rate) {
  return serialization_time(Bytes(int64_t{quanta} * 64), rate);
}

/// Nothing unless the frame is one of the two, addressed to kMacControlGroup, untagged, and as long as its fields.
/// Reads `head` alone. The reserved octet of the class-enable vector and what stands behind the fields are ignored.
std::optional<PauseFrame> read_pause(const Frame& frame) noexcept;

/// Writes a frame of kPauseFrameBytes from the station `source` into an empty frame.
void write_pause(const MacAddress& source, const PauseFrame& pause, Frame& frame) noexcept;

/// What the far end of a line has forbidden a transmitter, priority by priority. One thread.
class PauseTimers {
 public:
  /// `rate`: of the line, > 0; what a quantum is counted by.
  explicit PauseTimers(Bandwidth rate) : rate_(rate) {
    since_.fill(Time::long_ago());
    until_.fill(Time::long_ago());
  }

  /// `pause` has arrived at `arrival`, not before the one before it.
  void receive(const PauseFrame& pause, Time arrival) noexcept;

  /// The priorities that must not begin a frame at `now`. A pause of q quanta that arrived at t is over at t + q
  /// quanta.
  PrioritySet paused(Time now) const noexcept { return latest_ <= now ? PrioritySet{0} : paused_of_some(now); }
  /// When the first of the pauses that last at `now` is over; never() when there is none.
  Time next_expiry(Time now) const noexcept;
  /// When the last of all pauses is, or was, over.
  Time last_expiry() const noexcept { return latest_; }

  /// How long `priority` has been paused up to `now`, which is not before the last arrival.
  Duration time_paused(uint32_t priority, Time now) const noexcept {
    return paused_time_[priority] + lasted(priority, now);
  }

 private:
  PrioritySet paused_of_some(Time now) const noexcept;
  Duration lasted(uint32_t priority, Time now) const noexcept {
    return std::max(Duration(), std::min(until_[priority], now) - since_[priority]);
  }

  Bandwidth rate_;
  // By priority: the last pause as far as it is known, and the time of all those before.
  std::array<Time, kPriorities> since_, until_;
  std::array<Duration, kPriorities> paused_time_{};
  Time latest_ = Time::long_ago();  // of until_; the last member: see RocePort
};

}  // namespace rankwire

// Tells a run that stands still from one that is slow.
#pragma once

#include <cstdint>

#include "base/transport.h"
#include "base/units.h"
#include "emulator/engine/engine.h"

namespace rankwire {

/// A worker stands still when for longer than `timeout` nothing has computed, no node and no message has been
/// completed, and nothing has arrived. A long message that is on its way is progress; frames that are sent and never
/// arrive are not. Where a transport has traffic of others, too, arrivals may be theirs: they count while messages of
/// the engine are under way, and for no longer than `kTrusted` timeouts. Used by the worker's thread alone; engine and
/// transport outlive it.
class Watchdog {
 public:
  enum class Arrivals : uint8_t { kOfEngine, kOfOthersToo };
  static constexpr int64_t kTrusted = 6;  ///< a message of the engine is at worst so many timeouts long

  Watchdog(const Engine& engine, const Transport& transport, Duration timeout, Time now,
           Arrivals arrivals = Arrivals::kOfEngine)
      : engine_(engine),
        transport_(transport),
        timeout_(timeout),
        arrivals_(arrivals),
        last_progress_(now),
        last_completion_(now),
        last_look_(now) {}

  /// To be asked after every turn of the loop.
  bool stands_still(Time now) noexcept {
    const uint64_t completed = engine_.progress();
    if (completed != completed_ || engine_.next_event() != Time::never()) {
      completed_ = completed;
      last_progress_ = last_completion_ = now;
      return false;
    }
    // Collecting the counters every turn would slow down every turn.
    if (now - last_look_ > Duration(timeout_.ps / 8)) look(now);
    return now - last_progress_ > timeout_;
  }
  Time last_progress() const noexcept { return last_progress_; }
  Duration timeout() const noexcept { return timeout_; }

 private:
  void look(Time now) noexcept {
    last_look_ = now;
    const uint64_t arrived = transport_.activity() - transport_.counters().packets_tx;
    const bool counts = arrivals_ == Arrivals::kOfEngine || (engine_.communication().counters().under_way() &&
                                                             now - last_completion_ < timeout_ * kTrusted);
    if (arrived != arrived_ && counts) last_progress_ = now;
    arrived_ = arrived;
  }

  const Engine& engine_;
  const Transport& transport_;
  const Duration timeout_;
  const Arrivals arrivals_;
  Time last_progress_, last_completion_, last_look_;
  uint64_t completed_ = 0;
  uint64_t arrived_ = 0;  // when last looked: all activity but sending
};

}  // namespace rankwire

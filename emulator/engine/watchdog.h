// Tells a run that stands still from one that is slow.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/transport.h"
#include "base/units.h"
#include "emulator/engine/engine.h"

namespace rankwire {

/// A worker stands still when for longer than `timeout` nothing has computed, no node and no message has been
/// completed, and nothing has arrived. A long message that is on its way is progress; frames that are sent and never
/// arrive, and those whose arrival changes nothing, as in a round of NAKs and what is sent again for them, are not.
/// Where a transport has traffic of others, too, arrivals may be theirs: they count while messages of the engine are
/// under way, and for no longer than `kTrusted` timeouts. Used by the worker's thread alone; engine and transport
/// outlive it.
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
  /// It stands still until now because somebody wants it to.
  void excuse(Time now) noexcept { last_progress_ = last_completion_ = now; }
  Time last_progress() const noexcept { return last_progress_; }
  Duration timeout() const noexcept { return timeout_; }

 private:
  void look(Time now) noexcept {
    last_look_ = now;
    const uint64_t arrived = arrivals();
    const bool counts = arrivals_ == Arrivals::kOfEngine || (engine_.communication().counters().under_way() &&
                                                             now - last_completion_ < timeout_ * kTrusted);
    if (arrived > arrived_ && counts) last_progress_ = now;
    arrived_ = std::max(arrived, arrived_);
  }
  /// All activity but sending and what arrived in vain.
  uint64_t arrivals() const noexcept {
    const TransportCounters counters = transport_.counters();
    const uint64_t in_vain = counters.duplicate_packets + counters.out_of_sequence + counters.naks + counters.rnr_naks +
                             counters.rnr_naks_tx + counters.icrc_errors + counters.malformed + counters.unknown_qp;
    return transport_.activity() - counters.packets_tx - in_vain;
  }

  const Engine& engine_;
  const Transport& transport_;
  const Duration timeout_;
  const Arrivals arrivals_;
  Time last_progress_, last_completion_, last_look_;
  uint64_t completed_ = 0;
  uint64_t arrived_ = 0;  // the most when looked
};

}  // namespace rankwire

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
/// What has arrived is looked at every `kLook`th of `timeout`, and when nothing has moved for a 16th of that, and is
/// progress of when the transport last moved anything before: exact where nothing else moves for so long, else not
/// later than the true time by more than the `kLook`th. Where a transport has traffic of others, too, arrivals may be
/// theirs: they count while messages of the engine are under way, and for no longer than `kTrusted` timeouts. Used by
/// the worker's thread alone; engine and transport outlive it.
class Watchdog {
 public:
  enum class Arrivals : uint8_t { kOfEngine, kOfOthersToo };
  static constexpr int64_t kTrusted = 6;  ///< a message of the engine is at worst so many timeouts long
  static constexpr int64_t kLook = 1'024;

  Watchdog(const Engine& engine, const Transport& transport, Duration timeout, Time now,
           Arrivals arrivals = Arrivals::kOfEngine)
      : engine_(engine),
        transport_(transport),
        timeout_(timeout),
        arrivals_(arrivals),
        last_progress_(now),
        last_completion_(now),
        last_look_(now),
        last_move_(now),
        moved_(transport.activity()) {}

  /// To be asked after every turn of the loop. `next`: the next one is known not to be before.
  bool stands_still(Time now, Time next = Time()) noexcept {
    if (const uint64_t moved = transport_.activity(); moved != moved_) moved_ = moved, last_move_ = now;
    // Collecting the counters every turn would slow down every turn. Before a clock jumps they are, so that what has
    // arrived by now is told from what will.
    const Time until = std::max(now, next);
    const Duration most(timeout_.ps / kLook);
    if (until - last_look_ > most || (looked_ != moved_ && until - last_move_ > Duration(most.ps / 16))) look(now);
    const uint64_t completed = engine_.progress();
    if (completed != completed_ || engine_.next_event() != Time::never()) {
      completed_ = completed;
      last_progress_ = last_completion_ = now;
      return false;
    }
    return now - last_progress_ > timeout_;
  }
  /// It stands still until now because somebody wants it to.
  void excuse(Time now) noexcept { last_progress_ = last_completion_ = now; }
  Time last_progress() const noexcept { return last_progress_; }
  Duration timeout() const noexcept { return timeout_; }

 private:
  void look(Time now) noexcept {
    last_look_ = now, looked_ = moved_;
    const uint64_t arrived = arrivals();
    const bool counts = arrivals_ == Arrivals::kOfEngine || (engine_.communication().counters().under_way() &&
                                                             now - last_completion_ < timeout_ * kTrusted);
    if (arrived > arrived_ && counts) last_progress_ = std::max(last_progress_, last_move_);
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
  Time last_move_;       // of anything, sending too
  uint64_t moved_;       // the transport's activity then
  uint64_t looked_ = 0;  // the same when looked
  uint64_t completed_ = 0;
  uint64_t arrived_ = 0;  // the most when looked
};

}  // namespace rankwire

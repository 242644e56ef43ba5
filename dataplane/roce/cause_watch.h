// What keeps the accounts of where the time of queue pairs goes.
#pragma once

#include <cstdint>

#include "base/time_by_cause.h"
#include "base/units.h"
#include "dataplane/congestion/paced_senders.h"
#include "dataplane/protocol/queue_pair.h"
#include "dataplane/roce/cause_accounts.h"
#include "dataplane/roce/lanes.h"
#include "dataplane/roce/queue_pairs.h"

namespace rankwire {

/// Knows from the state of a queue pair what it waits for, and tells the accounts whenever that may have changed.
/// Without accounts (CauseRecording::kOff) nothing but `on` may be called. All that it is made from is borrowed;
/// `paced` is null without congestion control. `now` never decreases for a queue pair. One thread.
class CauseWatch {
 public:
  CauseWatch(const ReliableOptions& reliable, const QueuePairs& pairs, const Lanes& lanes, const PacedSenders* paced,
             CauseAccounts& accounts)
      : on_(accounts.on()), reliable_(reliable), pairs_(pairs), lanes_(lanes), paced_(paced), accounts_(accounts) {}

  bool on() const noexcept { return on_; }

  /// Something about the queue pair has changed.
  void note(uint32_t queue_pair, Time now) noexcept;
  /// The same: packets that take `line_time` go on the line, the first of them `again`.
  void note_transmission(uint32_t queue_pair, Duration line_time, Time now, bool again) noexcept;
  /// As CauseClock::blame.
  void blame(uint32_t queue_pair, Cause cause) noexcept { accounts_.blame(queue_pair, cause); }
  /// The queue pair has failed: from now on it waits for nothing.
  void stop(uint32_t queue_pair, Time now) noexcept;

  /// What the queue pair's clock has run since a message ended there last. What has been told is not charged to
  /// anything else any more.
  TimeByCause take_share(uint32_t queue_pair, Time now) noexcept;
  /// All that it has run.
  TimeByCause read(uint32_t queue_pair, Time now) const noexcept;

  /// What the queue pair, which is not idle, waits for: pauses and transmissions apart, which are known by their
  /// durations.
  Cause cause_of(uint32_t queue_pair) const noexcept;

 private:
  Duration time_paused(uint32_t queue_pair, Time now) const noexcept {
    return lanes_.time_paused(pairs_.ends[queue_pair].lane, now);
  }

  const bool on_;
  const ReliableOptions& reliable_;
  const QueuePairs& pairs_;
  const Lanes& lanes_;
  const PacedSenders* const paced_;
  CauseAccounts& accounts_;
};

}  // namespace rankwire

// Where the time of queue pairs goes, and which of it belongs to which message.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/time_by_cause.h"
#include "base/units.h"
#include "dataplane/roce/cause_clock.h"

namespace rankwire {

/// A clock for each queue pair, and what it has run since a message ended there last: the share of the next that ends.
/// Without accounts (the default) nothing but `on` may be called. `paused` as with CauseClock; `now` never decreases
/// for a queue pair. Its transport's own, in that thread. No allocation after construction.
class CauseAccounts {
 public:
  CauseAccounts() = default;
  /// `transfers`: messages of several requests that are under way at a time; `events`: messages that end between two
  /// calls of `forget_events`.
  CauseAccounts(uint32_t queue_pairs, uint32_t transfers, uint32_t events)
      : clocks_(queue_pairs), told_(queue_pairs), of_transfers_(transfers), of_events_(events) {}

  bool on() const noexcept { return !clocks_.empty(); }

  /// The state of the queue pair may have changed: what it waits for from now on, or nothing when it is idle.
  void note(uint32_t queue_pair, std::optional<Cause> cause, Time now, Duration paused) noexcept {
    if (cause) {
      clocks_[queue_pair].enter(*cause, now, paused);
    } else {
      clocks_[queue_pair].stop(now, paused);
    }
  }
  /// Packets that take `line_time` go on the line at `now`, the first of them `again`.
  void transmit(uint32_t queue_pair, Duration line_time, Time now, bool again) noexcept {
    clocks_[queue_pair].transmit(line_time, now, again);
  }
  /// As CauseClock::blame.
  void blame(uint32_t queue_pair, Cause cause) noexcept { clocks_[queue_pair].blame(cause); }

  /// All that the queue pair's clock has run up to `now`.
  TimeByCause read(uint32_t queue_pair, Time now, Duration paused) const noexcept {
    return clocks_[queue_pair].read(now, paused);
  }
  /// The same since the last call: a message has ended.
  TimeByCause take_share(uint32_t queue_pair, Time now, Duration paused) noexcept {
    const TimeByCause spent = clocks_[queue_pair].read(now, paused);
    return spent - std::exchange(told_[queue_pair], spent);
  }
  /// Adds a request's share to its transfer's.
  void add_to_transfer(uint32_t transfer, const TimeByCause& share) noexcept { of_transfers_[transfer] += share; }
  /// The transfer has ended: its share, which is then that of a new one, 0.
  TimeByCause take_transfer(uint32_t transfer) noexcept {
    return std::exchange(of_transfers_[transfer], TimeByCause());
  }
  /// Keeps the share of a message for its event, which points to it until `forget_events`.
  const TimeByCause* keep(const TimeByCause& share) noexcept {
    assert(kept_ < of_events_.size());
    TimeByCause& kept = of_events_[kept_++];
    kept = share;
    return &kept;
  }
  void forget_events() noexcept { kept_ = 0; }

  /// Memory of what is kept of a queue pair; 0 without accounts.
  size_t bytes_each() const noexcept { return on() ? sizeof(CauseClock) + sizeof(TimeByCause) : 0; }

 private:
  std::vector<CauseClock> clocks_;         // by queue pair
  std::vector<TimeByCause> told_;          // by queue pair: as of the last message that ended
  std::vector<TimeByCause> of_transfers_;  // by transfer under way
  std::vector<TimeByCause> of_events_;
  size_t kept_ = 0;
};

}  // namespace rankwire

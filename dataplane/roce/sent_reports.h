// Messages that have ended at their source, and that the application has not heard of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/event.h"
#include "base/units.h"
#include "dataplane/protocol/message_pool.h"
#include "dataplane/roce/cause_accounts.h"
#include "dataplane/roce/cause_watch.h"
#include "dataplane/roce/options.h"
#include "dataplane/roce/outbound_messages.h"
#include "dataplane/roce/queue_pairs.h"
#include "dataplane/roce/rendezvous.h"
#include "dataplane/roce/roce_counters.h"

namespace rankwire {

/// Settles requests that have finished, and tells the application of the messages that end with them. All that it is
/// made from is borrowed. One thread.
class alignas(64) SentReports {
 public:
  SentReports(const RoceOptions& options, QueuePairs& pairs, OutboundMessages& outbound, CauseAccounts& accounts,
              CauseWatch& causes, Rendezvous& rendezvous, RoceCounters& counters)
      : options_(options),
        tables_(pairs.tables()),
        outbound_(outbound),
        accounts_(accounts),
        causes_(causes),
        rendezvous_(rendezvous),
        counters_(counters) {}

  /// Whether `take` may have something.
  bool any() const noexcept { return outbound_.any_ended() || !outbound_.pool.finished.empty(); }
  /// The events of messages that have ended: how many. Their causes, if recorded, are valid until
  /// CauseAccounts::forget_events.
  size_t take(std::span<Event> events, Time now) noexcept;

  /// By queue pair, the data packets of requests that are not in QueuePairEnd::packets because they are not settled.
  std::vector<uint64_t> packets_under_way() const;
  /// The same of one.
  uint64_t packets_under_way(uint32_t queue_pair) const noexcept;

 private:
  size_t settle(uint32_t slot, std::span<Event> events, Time now) noexcept;
  uint64_t packets_of(const OutboundMessage& request) const noexcept;
  uint64_t packets_so_far(const OutboundMessage& request) const noexcept;
  /// Calls `take` with the data packets of requests that are not settled: of all that have finished, `take(request,
  /// packets)`, and of a queue pair's that have not, `take(packets)`.
  template <class Take>
  void for_each_finished(Take take) const noexcept;
  template <class Take>
  void for_each_unfinished(uint32_t queue_pair, Take take) const noexcept;
  void count_sent(const OutboundMessage& request) noexcept;
  void count_end(const Event& event) noexcept;
  void add_to_transfer(uint32_t transfer, const OutboundMessage& request, Time now) noexcept;

  const RoceOptions& options_;
  const QueuePairTables tables_;
  OutboundMessages& outbound_;
  CauseAccounts& accounts_;
  CauseWatch& causes_;
  Rendezvous& rendezvous_;
  RoceCounters& counters_;
};

}  // namespace rankwire

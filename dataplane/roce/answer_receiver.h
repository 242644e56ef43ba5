// Answers as they arrive: acknowledgements, READ responses, congestion notifications.
#pragma once

#include <cstdint>

#include "base/units.h"
#include "dataplane/congestion/paced_senders.h"
#include "dataplane/protocol/requester.h"
#include "dataplane/roce/latencies.h"
#include "dataplane/roce/options.h"
#include "dataplane/roce/outbound_messages.h"
#include "dataplane/roce/queue_pairs.h"
#include "dataplane/roce/rendezvous.h"
#include "dataplane/roce/requester_steps.h"
#include "dataplane/roce/roce_counters.h"
#include "dataplane/wire/packet.h"

namespace rankwire {

/// Gives answers to the requester of their queue pair, and counts what it makes of them. All that it is made from is
/// borrowed; `paced` is null without congestion control. One thread.
class alignas(64) AnswerReceiver {
 public:
  AnswerReceiver(const RoceOptions& options, QueuePairs& pairs, OutboundMessages& outbound, PacedSenders* paced,
                 RequesterSteps& steps, Rendezvous& rendezvous, Latencies& latencies, RoceCounters& counters)
      : options_(options),
        tables_(pairs.tables()),
        outbound_(outbound),
        paced_(paced),
        steps_(steps),
        rendezvous_(rendezvous),
        latencies_(latencies),
        counters_(counters) {}

  /// An ACK or NAK, which came in by `port`.
  void on_acknowledgement(uint32_t port, uint32_t queue_pair, const Acknowledgement& acknowledgement,
                          Time now) noexcept;
  /// A packet of a READ's response.
  void on_response(uint32_t queue_pair, const ParsedPacket& packet, Time arrival, Time now) noexcept;
  /// A CNP.
  void on_notification(uint32_t queue_pair, Time now) noexcept;

 private:
  void on_progress(uint32_t queue_pair, uint32_t oldest_before, const AckReception& reception, Time now) noexcept;

  const RoceOptions& options_;
  const QueuePairTables tables_;
  OutboundMessages& outbound_;
  PacedSenders* const paced_;
  RequesterSteps& steps_;
  Rendezvous& rendezvous_;
  Latencies& latencies_;
  RoceCounters& counters_;
};

[[gnu::always_inline]] inline void AnswerReceiver::on_acknowledgement(uint32_t port, uint32_t queue_pair,
                                                                      const Acknowledgement& acknowledgement,
                                                                      Time now) noexcept {
  if ((acknowledgement.syndrome & kSyndromeTypeMask) != kSyndromeTypeAck)
    counters_.count_nak(queue_pair, acknowledgement);
  Requester& requester = tables_.requesters[queue_pair];
  const Time deadline = requester.deadline();
  const uint32_t oldest = requester.oldest_unacknowledged();
  const AckReception reception = requester.acknowledge(outbound_.pool, now, acknowledgement);
  if (paced_ != nullptr) on_progress(queue_pair, oldest, reception, now);
  // Where READs are asked for, an acknowledgement waits until their responses have been sent.
  const QueuePairEnd& end = tables_.ends[queue_pair];
  const bool fetches = options_.verb == DataVerb::kRead && !end.at_source;
  if (reception.round_trip != Duration::max() && !fetches) latencies_.add_round_trip(port, reception.round_trip);
  if (reception.outcome != AckOutcome::kProgress) {
    counters_.details.stale_acks += reception.outcome == AckOutcome::kStale;
    counters_.details.ghost_acks += reception.outcome == AckOutcome::kGhost;
    if (reception.outcome == AckOutcome::kImpliedNak) counters_.count_implied_nak(queue_pair);
  }
  if (requester.holds() & Requester::kOutOfCredits) ++counters_.details.out_of_credits;
  steps_.after(queue_pair, now, deadline);
}

}  // namespace rankwire

// Messages at their destination: from the payload to the event.
#pragma once

#include <cstdint>

#include "base/units.h"
#include "dataplane/protocol/message_assembly.h"
#include "dataplane/protocol/responder.h"
#include "dataplane/roce/deliveries.h"
#include "dataplane/roce/lanes.h"
#include "dataplane/roce/latencies.h"
#include "dataplane/roce/options.h"
#include "dataplane/roce/outbound_messages.h"
#include "dataplane/roce/queue_pairs.h"
#include "dataplane/roce/rendezvous.h"
#include "dataplane/roce/roce_counters.h"
#include "dataplane/wire/packet.h"

namespace rankwire {

/// Follows the message that each queue pair is receiving, from requests that its responder has accepted, in their
/// order, and hands it on when it is whole. All that it is made from is borrowed. One thread.
class alignas(64) MessageReceiver {
 public:
  MessageReceiver(const RoceOptions& options, QueuePairs& pairs, const Lanes& lanes, const OutboundMessages& outbound,
                  Deliveries& deliveries, Rendezvous& rendezvous, Latencies& latencies, RoceCounters& counters)
      : options_(options),
        pairs_(pairs),
        tables_(pairs.tables()),
        lanes_(lanes),
        outbound_(outbound),
        deliveries_(deliveries),
        rendezvous_(rendezvous),
        latencies_(latencies),
        counters_(counters) {}

  /// Whether there is memory for the message that the request is the end or the announcement of. A request that is not
  /// admitted is as good as lost: the peer repeats it. What is known already always finds its place, so there is
  /// progress.
  bool admits(uint32_t queue_pair, const ParsedPacket& packet) const noexcept;
  /// The responder has accepted a SEND or WRITE that was admitted.
  void on_payload(uint32_t queue_pair, const ParsedPacket& packet, const Reception& reception, Time arrival,
                  Time now) noexcept;
  /// The responder has accepted a READ.
  void on_read(uint32_t queue_pair, const Reception& reception, Time arrival) noexcept;

 private:
  bool may_be_segment(Verb verb) const noexcept;
  void on_message(uint32_t queue_pair, const Reception& reception, Time arrival) noexcept;
  void on_control(uint32_t queue_pair, const ParsedPacket& packet, Time arrival) noexcept;
  void end_unindexed(uint32_t queue_pair, Time arrival, uint32_t receives) noexcept;
  ReceivedPart end_reception(uint32_t queue_pair, Time arrival) noexcept;
  void measure_one_way(uint32_t queue_pair, Verb verb, uint32_t index, Time arrival) noexcept;

  const RoceOptions& options_;
  const QueuePairs& pairs_;
  const QueuePairTables tables_;
  const Lanes& lanes_;
  const OutboundMessages& outbound_;
  Deliveries& deliveries_;
  Rendezvous& rendezvous_;
  Latencies& latencies_;
  RoceCounters& counters_;
};

}  // namespace rankwire

// Messages that their destination fetches.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "base/event.h"
#include "base/units.h"
#include "dataplane/protocol/message_pool.h"
#include "dataplane/protocol/rendezvous.h"
#include "dataplane/protocol/requester.h"
#include "dataplane/roce/deliveries.h"
#include "dataplane/roce/lanes.h"
#include "dataplane/roce/latencies.h"
#include "dataplane/roce/options.h"
#include "dataplane/roce/outbound_messages.h"
#include "dataplane/roce/queue_pairs.h"
#include "dataplane/roce/request_poster.h"
#include "dataplane/roce/roce_counters.h"
#include "dataplane/wire/packet.h"

namespace rankwire {

/// DataVerb::kRead: takes up what peers offer, READs it and says that it has, and hears the same of what this end
/// offers. All that it is made from is borrowed. One thread.
class Rendezvous {
 public:
  Rendezvous(const RoceOptions& options, QueuePairs& pairs, const Lanes& lanes, OutboundMessages& outbound,
             RequestPoster& poster, Deliveries& deliveries, Latencies& latencies, RoceCounters& counters)
      : options_(options),
        pairs_(pairs),
        lanes_(lanes),
        outbound_(outbound),
        poster_(poster),
        deliveries_(deliveries),
        latencies_(latencies),
        counters_(counters) {}

  /// Whether there is memory for what a SEND of this payload offers, if it offers anything.
  bool admits(ConnectionId connection, std::span<const uint8_t> payload) const noexcept;
  /// A SEND that was admitted has arrived. What is no word of a rendezvous is counted and has no effect.
  void on_message(uint32_t queue_pair, std::span<const uint8_t> payload, Time arrival, Time now) noexcept;
  /// The next packet of a READ's response has arrived.
  void on_fetched(uint32_t queue_pair, const ParsedPacket& packet, const ReadReception& reception, Time arrival,
                  Time now) noexcept;
  /// A READ has failed. Returns the event of its message, unless other parts of that are still to come.
  std::optional<Event> fail(const OutboundMessage& request) noexcept;

 private:
  bool take_up(uint32_t queue_pair, const ReadyToSend& ready, Time now) noexcept;
  bool end_offer(uint32_t queue_pair, uint32_t cookie, Time arrival) noexcept;

  const RoceOptions& options_;
  QueuePairs& pairs_;
  const Lanes& lanes_;
  OutboundMessages& outbound_;
  RequestPoster& poster_;
  Deliveries& deliveries_;
  Latencies& latencies_;
  RoceCounters& counters_;
};

}  // namespace rankwire

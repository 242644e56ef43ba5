// Messages on their way from the application to the requesters.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/message.h"
#include "base/units.h"
#include "dataplane/protocol/message_pool.h"
#include "dataplane/roce/cause_watch.h"
#include "dataplane/roce/options.h"
#include "dataplane/roce/outbound_messages.h"
#include "dataplane/roce/queue_pairs.h"
#include "dataplane/roce/requester_steps.h"
#include "dataplane/roce/roce_counters.h"

namespace rankwire {

/// Makes of a message the requests by which it travels (RoceOptions::verb, split or not), and posts them to the
/// requesters of its connection's queue pairs. All that it is made from is borrowed. One thread.
class alignas(64) RequestPoster {
 public:
  RequestPoster(const RoceOptions& options, QueuePairs& pairs, OutboundMessages& outbound, const CauseWatch& causes,
                RequesterSteps& steps, RoceCounters& counters)
      : options_(options),
        pairs_(pairs),
        tables_(pairs.tables()),
        outbound_(outbound),
        causes_(causes),
        steps_(steps),
        counters_(counters) {}

  /// As Transport::post: the first messages, as many as there is room for. How many.
  size_t post(Time now, std::span<const Message> messages) noexcept;
  /// Posts a request of this end's own, at the time at which it says that it is posted.
  void post_request(const OutboundMessage& request) noexcept;

 private:
  void take(Time now, const Message& message) noexcept;
  void post_parts(OutboundMessage part, uint32_t parts) noexcept;
  void post_part(OutboundMessage part, uint32_t transfer, uint32_t offset) noexcept;
  void post_offer(OutboundMessage part, uint32_t transfer) noexcept;
  void post_data(uint32_t slot, uint32_t offset, Time now) noexcept;
  void post_slot(uint32_t slot, uint32_t queue_pair, Time now) noexcept;

  const RoceOptions& options_;
  QueuePairs& pairs_;
  const QueuePairTables tables_;
  OutboundMessages& outbound_;
  const CauseWatch& causes_;
  RequesterSteps& steps_;
  RoceCounters& counters_;
};

}  // namespace rankwire

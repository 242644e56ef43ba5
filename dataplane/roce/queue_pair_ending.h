// How queue pairs end before their time.
#pragma once

#include <cstdint>

#include "base/units.h"
#include "dataplane/roce/cause_watch.h"
#include "dataplane/roce/deliveries.h"
#include "dataplane/roce/early_packets.h"
#include "dataplane/roce/lanes.h"
#include "dataplane/roce/options.h"
#include "dataplane/roce/outbound_messages.h"
#include "dataplane/roce/queue_pairs.h"
#include "dataplane/roce/requester_deadlines.h"

namespace rankwire {

/// Takes queue pairs into the error state, with all that others keep of them. All that it is made from is borrowed;
/// `early` is null where nothing is kept that comes too early. One thread.
class QueuePairEnding {
 public:
  QueuePairEnding(const RoceOptions& options, QueuePairs& pairs, Lanes& lanes, RequesterDeadlines& deadlines,
                  OutboundMessages& outbound, CauseWatch& causes, Deliveries& deliveries, EarlyPackets* early)
      : options_(options),
        pairs_(pairs),
        lanes_(lanes),
        deadlines_(deadlines),
        outbound_(outbound),
        causes_(causes),
        deliveries_(deliveries),
        early_(early) {}

  /// The queue pair drops what arrives from now on, and what it was to send ends with Failure::kFlushed, or with
  /// kUnreachable if that is why. The error state is the queue pair's, not one half's (IBTA 10.3.1). Nothing changes
  /// where it has failed already.
  void fail(uint32_t queue_pair, Time now) noexcept;
  /// The queue pair's requester has given up. Its peer would never hear of that on the wire, nor would a message's
  /// other parts make sense without this one: as a connection manager would, it ends all queue pairs here that carry
  /// the same messages.
  void fail_connection(uint32_t queue_pair, Time now) noexcept;
  /// Gives frames that came too early back to their ports: of a queue pair that has failed, or at the end.
  void drop_early(uint32_t queue_pair) noexcept;

 private:
  const RoceOptions& options_;
  QueuePairs& pairs_;
  Lanes& lanes_;
  RequesterDeadlines& deadlines_;
  OutboundMessages& outbound_;
  CauseWatch& causes_;
  Deliveries& deliveries_;
  EarlyPackets* const early_;
};

}  // namespace rankwire

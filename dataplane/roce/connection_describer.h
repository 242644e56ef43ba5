// The state of connections, for people.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/connection_state.h"
#include "base/id.h"
#include "base/units.h"
#include "dataplane/congestion/paced_senders.h"
#include "dataplane/protocol/message_parts.h"
#include "dataplane/protocol/queue_pair.h"
#include "dataplane/roce/lanes.h"
#include "dataplane/roce/link_keeper.h"
#include "dataplane/roce/options.h"
#include "dataplane/roce/outbound_messages.h"
#include "dataplane/roce/queue_pairs.h"

namespace rankwire {

/// Says what a connection waits for. Reads, and changes nothing; all that it is made from is borrowed, `paced` is null
/// without congestion control. One thread.
class ConnectionDescriber {
 public:
  ConnectionDescriber(const RoceOptions& options, const ReliableOptions& reliable, const QueuePairs& pairs,
                      const Lanes& lanes, const OutboundMessages& outbound, const PacedSenders* paced,
                      const LinkKeeper& links)
      : options_(options),
        reliable_(reliable),
        pairs_(pairs),
        lanes_(lanes),
        outbound_(outbound),
        paced_(paced),
        links_(links) {}

  /// As Transport::describe.
  std::string describe(ConnectionId connection, Time now) const;
  /// As Transport::states.
  std::vector<QueuePairState> states(ConnectionId connection) const;

 private:
  Hold hold_of(uint32_t queue_pair) const;
  std::string describe_side(uint32_t first, Side side, Time now) const;
  std::string describe_sender(uint32_t queue_pair, Time now) const;
  std::string describe_receiver(uint32_t queue_pair, Time now) const;
  std::string describe_wait(uint32_t queue_pair, Time now) const;
  std::string describe_control(uint32_t queue_pair) const;

  const RoceOptions& options_;
  const ReliableOptions& reliable_;
  const QueuePairs& pairs_;
  const Lanes& lanes_;
  const OutboundMessages& outbound_;
  const PacedSenders* const paced_;
  const LinkKeeper& links_;
};

}  // namespace rankwire

// The way from a queue pair to its peer.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/transport.h"
#include "base/units.h"
#include "dataplane/neighbours/neighbours.h"
#include "dataplane/roce/lanes.h"
#include "dataplane/roce/next_hop_links.h"
#include "dataplane/roce/options.h"
#include "dataplane/roce/outbound_messages.h"
#include "dataplane/roce/queue_pairs.h"
#include "dataplane/roce/requester_steps.h"
#include "dataplane/roce/send_order.h"

namespace rankwire {

/// NeighbourMode::kResolve: opens the link of a queue pair when its next hop is found, fails it when that is given up,
/// and lets it follow a next hop that has moved. Otherwise nothing but `ready`, `not_ready` and `state_of` may be
/// called. All that it is made from is borrowed. One thread.
class LinkKeeper {
 public:
  LinkKeeper(const RoceOptions& options, QueuePairs& pairs, Lanes& lanes, NextHopLinks& hops,
             OutboundMessages& outbound, SendOrder& order, RequesterSteps& steps)
      : options_(options),
        pairs_(pairs),
        lanes_(lanes),
        hops_(hops),
        outbound_(outbound),
        order_(order),
        steps_(steps) {}

  /// The queue pair has been connected: its next hop is asked for. Returns why there is no way to its peer, empty when
  /// there may be one.
  std::string resolve(uint32_t queue_pair);
  /// Tells the queue pairs whose next hop was found, was given up or has moved since the last call.
  void follow(Time now) noexcept;

  /// Whether all NICs have announced themselves, and all queue pairs know whether they reach their peers.
  bool ready() const noexcept;
  /// The connections with a queue pair whose peer is not reached, and why.
  std::vector<ConnectFailure> not_ready() const;
  /// For people: what is known of the queue pair's next hop, which is not found.
  std::string state_of(uint32_t queue_pair) const;

 private:
  void update(uint32_t queue_pair, const NextHop& hop, Time now) noexcept;

  const RoceOptions& options_;
  QueuePairs& pairs_;
  Lanes& lanes_;
  NextHopLinks& hops_;
  OutboundMessages& outbound_;
  SendOrder& order_;
  RequesterSteps& steps_;
};

}  // namespace rankwire

// What congestion control is made of, from options and plan.
#pragma once

#include <memory>

#include "base/transport.h"
#include "dataplane/congestion/paced_senders.h"
#include "dataplane/congestion/rate_holds.h"
#include "dataplane/protocol/queue_pair.h"
#include "dataplane/roce/lanes.h"
#include "dataplane/roce/mark_responder.h"
#include "dataplane/roce/options.h"
#include "dataplane/roce/queue_pairs.h"

namespace rankwire {

/// What holds the queue pairs to what their algorithms and `holds` allow; null when none has an algorithm and `holds`
/// is null.
std::unique_ptr<PacedSenders> make_paced_senders(const RoceOptions& options, const ReliableOptions& reliable,
                                                 const TransportPlan& plan, const QueuePairs& pairs, const Lanes& lanes,
                                                 RateHolds* holds);

/// What answers marked packets; null when nobody does.
std::unique_ptr<MarkResponder> make_mark_responder(const RoceOptions& options, const QueuePairs& pairs,
                                                   const Lanes& lanes);

}  // namespace rankwire

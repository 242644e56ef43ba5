// What may come of frames that have not been looked at.
#pragma once

#include <cstdint>

#include "base/units.h"
#include "dataplane/roce/lanes.h"
#include "dataplane/roce/outbound_messages.h"
#include "dataplane/roce/queue_pairs.h"
#include "dataplane/wire/frame.h"

namespace rankwire {

/// Tells which frames the application may have to hear of, from their opcodes, and of acknowledgements from what their
/// requester waits for. All that it is made from is borrowed.
/// One thread.
class ReportForecast {
 public:
  /// `keeps_early`: packets that come too early are kept, so one that fills a gap may end a message whose end is here.
  ReportForecast(const QueuePairs& pairs, const Lanes& lanes, const OutboundMessages& outbound, bool keeps_early)
      : pairs_(pairs), lanes_(lanes), outbound_(outbound), keeps_early_(keeps_early) {}

  /// Of what the lane's port holds nothing is reported before then.
  Time next_report_of(uint32_t lane) const noexcept;
  /// Whether something may come of the frame that the application must hear of: of what only its queue pair's lane
  /// notices, no.
  bool may_report(const Frame& frame) const noexcept;

 private:
  const QueuePairs& pairs_;
  const Lanes& lanes_;
  const OutboundMessages& outbound_;
  const bool keeps_early_;
};

}  // namespace rankwire

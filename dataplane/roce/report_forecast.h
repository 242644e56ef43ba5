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
/// requester waits for. All that it is made from is borrowed. One thread.
class ReportForecast {
 public:
  /// `keeps_early`: packets that come too early are kept, so one that fills a gap may end a message whose end is here.
  ReportForecast(const QueuePairs& pairs, const Lanes& lanes, const OutboundMessages& outbound, bool keeps_early)
      : pairs_(pairs), lanes_(lanes), outbound_(outbound), keeps_early_(keeps_early) {}

  /// When the first frame arrives at the lane's port, of those that are on their way there, that the application may
  /// have to hear of; never() when there is none. Of a port that cannot show them (FramePort::waiting): when the first
  /// arrives, as far as the port knows.
  Time next_report_of(uint32_t lane) const noexcept;
  /// Whether the application may have to hear of the frame: not of one that changes nothing but its queue pair or its
  /// port, such as a packet inside a message, a pause, a CNP, or an acknowledgement that ends no message.
  bool may_report(const Frame& frame) const noexcept;

 private:
  const QueuePairs& pairs_;
  const Lanes& lanes_;
  const OutboundMessages& outbound_;
  const bool keeps_early_;
};

}  // namespace rankwire

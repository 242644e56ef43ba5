// Turns of queue pairs to send requests.
#pragma once

#include <cstdint>

#include "base/units.h"
#include "dataplane/protocol/requester.h"
#include "dataplane/roce/options.h"
#include "dataplane/roce/outbound_messages.h"
#include "dataplane/roce/packet_codec.h"
#include "dataplane/roce/queue_pairs.h"
#include "dataplane/roce/request_sender.h"
#include "dataplane/roce/request_writer.h"
#include "dataplane/roce/transmit_lane.h"
#include "dataplane/wire/header_template.h"

namespace rankwire {

/// Lets the senders of a lane, without congestion control, have their turns of RoceOptions::turn packets. Both
/// functions may be called only while the lane has a sender, and return false when it has no frames. All that it is
/// made from is borrowed. One thread.
class alignas(64) RequestTurns {
 public:
  RequestTurns(const RoceOptions& options, const ReliableOptions& reliable, const PacketCodec& codec, QueuePairs& pairs,
               const OutboundMessages& outbound, RequestSender& sender)
      : turn_(options.turn),
        joins_(codec.writer.has_short_way() && options.causes == CauseRecording::kOff),
        reliable_(reliable),
        writer_(codec.writer),
        tables_(pairs.tables()),
        outbound_(outbound),
        sender_(sender) {}

  /// Turns of one or several senders, whose packets go into the frames of a burst one behind the other: up to the first
  /// that has something out of the ordinary to send, or headers of another length.
  bool transmit(TransmitLane& lane, Time now) noexcept;
  /// The turn of the first of them, or what is left of it.
  bool transmit_turn(TransmitLane& lane, Time now) noexcept;

 private:
  using FrameBuffers = RequestSender::FrameBuffers;

  template <class Queue>
  void look_ahead(const Queue& senders, const Requester* requesters, const HeaderTemplate* templates,
                  uint32_t turn) const noexcept;
  template <class Queue>
  void end_turn(Queue& senders, bool goes_on) const noexcept;
  uint32_t transmit_singles(TransmitLane& lane, FrameBuffers buffers, Time now) noexcept;
  uint32_t transmit_parts(TransmitLane& lane, FrameBuffers buffers, Time now) noexcept;
  uint32_t transmit_messages(TransmitLane& lane, FrameBuffers buffers, Time now) noexcept;

  const uint32_t turn_;
  const bool joins_;  // queue pairs' packets into one burst, since no account asks whose each was
  const ReliableOptions& reliable_;
  const RequestWriter& writer_;
  const QueuePairTables tables_;
  const OutboundMessages& outbound_;
  RequestSender& sender_;
};

}  // namespace rankwire

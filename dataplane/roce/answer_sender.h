// Answers to the peers' requests: acknowledgements and READ responses.
#pragma once

#include <cstdint>
#include <span>

#include "base/units.h"
#include "dataplane/ports/frame_port.h"
#include "dataplane/protocol/responder.h"
#include "dataplane/roce/options.h"
#include "dataplane/roce/outbound_messages.h"
#include "dataplane/roce/packet_codec.h"
#include "dataplane/roce/queue_pairs.h"
#include "dataplane/roce/roce_counters.h"
#include "dataplane/roce/send_order.h"
#include "dataplane/roce/transmit_lane.h"

namespace rankwire {

/// Writes what responders owe into frames of their lane. Each function returns false when there was no frame for it.
/// All that it is made from is borrowed. One thread.
class AnswerSender {
 public:
  AnswerSender(const RoceOptions& options, const PacketCodec& codec, QueuePairs& pairs, OutboundMessages& outbound,
               SendOrder& order, RoceCounters& counters)
      : options_(options), codec_(codec), pairs_(pairs), outbound_(outbound), order_(order), counters_(counters) {}

  /// The first acknowledgement that the lane owes.
  bool transmit_reply(TransmitLane& lane, Time now) noexcept;
  /// The turn of the first of the lane's readers: as many packets of its oldest READ's response as are alike, at most
  /// RoceOptions::turn. If it owes more, it becomes the last.
  bool transmit_reader(TransmitLane& lane, Time now) noexcept;
  /// READ responses until `turn` packets of the queue pair's turn are sent, or as many as are owed.
  bool transmit_responses(TransmitLane& lane, uint32_t queue_pair, uint32_t turn, Time now) noexcept;

 private:
  uint32_t transmit_response(TransmitLane& lane, uint32_t queue_pair, uint32_t limit, Time now) noexcept;
  void write_response(uint32_t queue_pair, const ResponseRun& run, Time now, std::span<const FrameBuffer> buffers,
                      const FramePort::Capabilities& port) noexcept;

  const RoceOptions& options_;
  const PacketCodec& codec_;
  QueuePairs& pairs_;
  OutboundMessages& outbound_;
  SendOrder& order_;
  RoceCounters& counters_;
};

}  // namespace rankwire

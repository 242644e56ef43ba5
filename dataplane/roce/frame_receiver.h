// Received frames.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/units.h"
#include "dataplane/protocol/responder.h"
#include "dataplane/roce/answer_receiver.h"
#include "dataplane/roce/deliveries.h"
#include "dataplane/roce/lanes.h"
#include "dataplane/roce/notification_sender.h"
#include "dataplane/roce/options.h"
#include "dataplane/roce/packet_codec.h"
#include "dataplane/roce/queue_pairs.h"
#include "dataplane/roce/receive_batch.h"
#include "dataplane/roce/request_receiver.h"
#include "dataplane/roce/roce_counters.h"
#include "dataplane/wire/frame.h"
#include "dataplane/wire/receive_check.h"

namespace rankwire {

/// Takes frames from ports, finds out what they are and hands them to whom they are for: packets whose ICRC and
/// addresses are right to their queue pair, pauses and neighbours' frames to their port. All others are counted. All
/// that it is made from is borrowed; `notices` is null where marked packets are not answered. One thread.
class alignas(64) FrameReceiver {
 public:
  FrameReceiver(const RoceOptions& options, const PacketCodec& codec, QueuePairs& pairs, Lanes& lanes,
                const Deliveries& deliveries, RequestReceiver& requests, AnswerReceiver& answers,
                NotificationSender* notices, RoceCounters& counters)
      : mtu_(options.mtu),
        pattern_(options.payload == PayloadMode::kPattern),
        check_(codec.check),
        responder_options_(pairs.responder_options()),
        tables_(pairs.tables()),
        lanes_(lanes),
        deliveries_(deliveries),
        requests_(requests),
        answers_(answers),
        notices_(notices),
        counters_(counters) {}

  /// Takes what the lane's port has received by `now`: a burst at most, and no more than the application has room for.
  void receive(uint32_t lane, Time now) noexcept;

 private:
  /// Received frames whose headers `MirrorImage::follow` each other, and the queue pair that they seem to be for.
  struct Run {
    uint32_t queue_pair;
    uint32_t count;
  };

  uint32_t find_runs(std::span<const Frame> frames, std::span<Run, ReceiveBatch::kFrames> runs) const noexcept;
  size_t accept_image(uint32_t port, std::span<const Frame> run, uint32_t presumed, Time now) noexcept;
  bool accept_acknowledgement(uint32_t port, uint32_t queue_pair, const Frame& frame, Time now) noexcept;
  size_t accept_middles(uint32_t queue_pair, std::span<const Frame> run, Time now) noexcept;
  void count_data(uint32_t queue_pair, uint64_t packets) noexcept;
  bool accept_middle(uint32_t queue_pair, const Frame& frame, Time now) noexcept;
  bool accept(uint32_t port, const Frame& frame, Time now) noexcept;

  const uint32_t mtu_;
  const bool pattern_;  // what payloads are, if they are right
  const IcrcCheck& check_;
  const ResponderOptions& responder_options_;
  const QueuePairTables tables_;
  Lanes& lanes_;
  const Deliveries& deliveries_;
  RequestReceiver& requests_;
  AnswerReceiver& answers_;
  NotificationSender* const notices_;
  RoceCounters& counters_;
  ReceiveBatch batch_;
};

}  // namespace rankwire

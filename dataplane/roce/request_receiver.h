// Requests as they arrive.
#pragma once

#include <cstdint>

#include "base/index_queue.h"
#include "base/units.h"
#include "dataplane/protocol/responder.h"
#include "dataplane/roce/deliveries.h"
#include "dataplane/roce/early_packets.h"
#include "dataplane/roce/lanes.h"
#include "dataplane/roce/message_receiver.h"
#include "dataplane/roce/queue_pair_ending.h"
#include "dataplane/roce/queue_pairs.h"
#include "dataplane/roce/receive_batch.h"
#include "dataplane/roce/roce_counters.h"
#include "dataplane/roce/send_order.h"
#include "dataplane/wire/frame.h"
#include "dataplane/wire/packet.h"

namespace rankwire {

/// Gives requests to the responder of their queue pair, each in its turn: what it accepts to the message that they
/// belong to, what it owes to the order of senders. With `early` (null: without) those of WRITEs that come too early
/// are kept until it is their turn. All that it is made from is borrowed. No allocation after construction; one thread.
class alignas(64) RequestReceiver {
 public:
  RequestReceiver(QueuePairs& pairs, Lanes& lanes, EarlyPackets* early, const Deliveries& deliveries,
                  MessageReceiver& messages, SendOrder& order, QueuePairEnding& ending, RoceCounters& counters)
      : responder_options_(pairs.responder_options()),
        tables_(pairs.tables()),
        lanes_(lanes),
        early_(early),
        deliveries_(deliveries),
        messages_(messages),
        order_(order),
        ending_(ending),
        counters_(counters),
        place_later_(early != nullptr ? pairs.size() : 0) {}

  /// Whether requests may be kept.
  bool keeps_early() const noexcept { return early_ != nullptr; }
  /// The request has arrived for the queue pair.
  void on_request(uint32_t queue_pair, const ParsedPacket& packet, Time arrival, Time now) noexcept;

  // Where requests may be kept.
  /// A WRITE's packet that came too early is kept until those before it are there. kNoRoom: it is none, or must be
  /// dropped.
  EarlyPackets::Outcome keep_early(uint32_t queue_pair, const Frame& frame, const ParsedPacket& packet) noexcept;
  /// The queue pair has got further: those that were kept and whose turn it is. What arrived before `arrival` is
  /// complete only now. Those that the application has no room for are left to `place_waiting`.
  void place_early(uint32_t queue_pair, Time arrival, Time now) noexcept {
    if (early_->any(queue_pair)) [[unlikely]]
      place_kept(queue_pair, arrival, now);
  }

  /// Whether the application must make room for some whose turn it is.
  bool any_waiting() const noexcept { return !place_later_.empty(); }
  void place_waiting(Time now) noexcept {
    while (any_waiting() && deliveries_.room() > ReceiveBatch::kFrames) place_early(place_later_.pop(), now, now);
  }

 private:
  void place_kept(uint32_t queue_pair, Time arrival, Time now) noexcept;

  const ResponderOptions& responder_options_;
  const QueuePairTables tables_;
  Lanes& lanes_;
  EarlyPackets* const early_;
  const Deliveries& deliveries_;
  MessageReceiver& messages_;
  SendOrder& order_;
  QueuePairEnding& ending_;
  RoceCounters& counters_;
  IndexQueue place_later_;  // queue pairs with some that the application had no room for
};

}  // namespace rankwire

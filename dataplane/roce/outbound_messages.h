// The messages that a transport has taken and not yet reported, and those that its peers offer it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/index_queue.h"
#include "dataplane/protocol/message_parts.h"
#include "dataplane/protocol/requester.h"
#include "dataplane/roce/options.h"
#include "dataplane/roce/queue_pair.h"

namespace rankwire {

/// How many of each kind as many messages need as may be in flight.
struct MessageRoom {
  /// Throws Error(kInput) when they are more than OutboundMessage::context can number.
  MessageRoom(const RoceOptions& options, uint32_t messages_in_flight);

  uint32_t messages = 0;   ///< posted and not reported
  uint32_t requests = 0;   ///< that they consist of, those that fetch and announce included
  uint32_t transfers = 0;  ///< messages of several requests
  uint32_t offers = 0;     ///< parts that peers are to fetch
  uint32_t gets = 0;       ///< parts that are fetched from peers
  uint32_t assembled = 0;  ///< messages that arrive in parts
};

/// All slots, and what binds them: the requests of a transfer, the offers of a queue pair in the order in which they
/// were made. Every slot is taken and given back by whoever knows the message; `pool` is shared with the requesters. No
/// allocation after construction; its transport's own, in that thread.
class OutboundMessages {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;

  OutboundMessages(const ReliableOptions& reliable, const MessageRoom& room, uint32_t queue_pairs)
      : pool(reliable, room.requests),
        transfers(room.transfers),
        offers(room.offers),
        gets(room.gets),
        capacity_(room.messages),
        ended_(room.transfers),
        offered_(room.offers > 0 ? queue_pairs : 0) {}

  RequesterPool pool;
  SlotPool<Transfer> transfers;
  SlotPool<Offer> offers;
  SlotPool<Get> gets;

  /// How many more messages may be taken.
  uint32_t room() const noexcept { return capacity_ - taken_; }
  void take(uint32_t messages) noexcept { taken_ += messages; }
  /// A message that was taken has been reported.
  void reported() noexcept { --taken_; }

  /// A request of the transfer has finished: what the transfer learns from it.
  void add(uint32_t transfer, const OutboundMessage& request) noexcept {
    Transfer& whole = transfers[transfer];
    whole.retransmissions += request.retransmissions;
    whole.fail(request.failure);
    if (!request.started()) return;
    whole.first_tx = std::min(whole.first_tx, request.first_tx);
    whole.last_tx = std::max(whole.last_tx, request.last_tx);
    whole.acked = std::max(whole.acked, request.acked);
  }
  /// One of the things that the transfer waits for has come.
  void end_part(uint32_t transfer) noexcept {
    if (--transfers[transfer].outstanding == 0) ended_.push(transfer);
  }
  bool any_ended() const noexcept { return !ended_.empty(); }
  /// The transfer that ended first; it is the caller's to give back.
  uint32_t take_ended() noexcept { return ended_.pop(); }

  /// The offer stands behind those that the queue pair has made before.
  void push_offer(uint32_t queue_pair, uint32_t offer) noexcept {
    Offered& offered = offered_[queue_pair];
    (offered.oldest == kNone ? offered.oldest : offers[offered.newest].next) = offer;
    offered.newest = offer;
  }
  /// The first that the peer has not said to have fetched, or kNone.
  uint32_t oldest_offer(uint32_t queue_pair) const noexcept {
    return offered_.empty() ? kNone : offered_[queue_pair].oldest;
  }
  /// Takes it away; it stays open.
  void pop_offer(uint32_t queue_pair) noexcept {
    Offered& offered = offered_[queue_pair];
    offered.oldest = offers[offered.oldest].next;
  }
  /// As rankwire::close_offer, and ends the part of its transfer.
  void close_offer(uint32_t offer, Failure failure) noexcept {
    const uint32_t transfer = rankwire::close_offer(offers, offer, transfers, failure);
    if (transfer != kNone) end_part(transfer);
  }
  /// The queue pair has failed: none of its offers will be fetched any more.
  void close_offers(uint32_t queue_pair, Failure failure) noexcept {
    for (uint32_t offer; (offer = oldest_offer(queue_pair)) != kNone;) {
      pop_offer(queue_pair);
      close_offer(offer, failure);
    }
  }

  /// Memory of what is kept of queue pairs.
  size_t bytes() const noexcept { return offered_.size() * sizeof(Offered); }

 private:
  struct Offered {
    uint32_t oldest = kNone, newest = kNone;
  };

  const uint32_t capacity_;
  uint32_t taken_ = 0;
  IndexQueue ended_;              // transfers that are not reported
  std::vector<Offered> offered_;  // by queue pair, with DataVerb::kRead
};

}  // namespace rankwire

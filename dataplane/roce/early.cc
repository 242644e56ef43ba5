// What RoceTransport does with packets of a WRITE that come before their turn.
#include <algorithm>

#include "dataplane/roce/transport.h"

namespace rankwire {

// A WRITE's packet that came too early, until those before it are there. kNoRoom: it must be dropped, or is none.
EarlyPackets::Outcome RoceTransport::keep_early(uint32_t queue_pair, const Frame& frame,
                                                const ParsedPacket& packet) noexcept {
  const QueuePairEnd& end = pairs_->ends[queue_pair];
  const uint32_t expected = pairs_->responders[queue_pair].expected_psn();
  if (end.failed || !is_write(packet.opcode) || psn_distance(expected, packet.psn) <= 0)
    return EarlyPackets::Outcome::kNoRoom;
  const EarlyPackets::Outcome outcome = early_->keep(queue_pair, expected, {frame, packet.psn, end.lane});
  if (outcome == EarlyPackets::Outcome::kKept) ++counters_->details.out_of_order;
  if (outcome == EarlyPackets::Outcome::kDuplicate) counters_->count_duplicate(queue_pair);
  return outcome;
}

// Hands on those whose turn it is. What has arrived before `arrival` is complete only now.
void RoceTransport::place_early(uint32_t queue_pair, Time arrival) noexcept {
  EarlyPacket early;
  while (early_->due(queue_pair, pairs_->responders[queue_pair].expected_psn())) {
    // The application takes a message a packet at most, and those of the burst at hand have their room.
    if (deliveries_->room() <= kReceiveBurst) return place_later_.push(queue_pair);
    early_->take(queue_pair, pairs_->responders[queue_pair].expected_psn(), early);
    on_request(queue_pair, parse(early.frame), std::max(early.frame.arrival, arrival));
    (*lanes_)[early.lane].port().release({&early.frame, 1});
  }
}

}  // namespace rankwire

#include "dataplane/roce/request_receiver.h"

#include <algorithm>

namespace rankwire {

void RequestReceiver::on_request(uint32_t queue_pair, const ParsedPacket& packet, Time arrival, Time now) noexcept {
  if (tables_.ends[queue_pair].failed) return;
  if (!messages_.admits(queue_pair, packet)) {
    ++counters_.details.not_admitted;
    return;
  }
  Responder& responder = tables_.responders[queue_pair];
  const Reception reception = responder.receive(responder_options_, packet);
  switch (reception.arrival) {
    case Arrival::kAccepted:
      if (reception.verb == Verb::kRead) {
        messages_.on_read(queue_pair, reception, arrival);
      } else {
        messages_.on_payload(queue_pair, packet, reception, arrival, now);
      }
      break;
    case Arrival::kDuplicate:
      counters_.count_duplicate(queue_pair);
      break;
    case Arrival::kGap:
    case Arrival::kAhead:
      counters_.count_out_of_sequence(queue_pair);
      break;
    case Arrival::kRefused:
      ++counters_.details.refused;
      break;
    case Arrival::kNotReady:
      ++counters_.of[queue_pair].not_ready;
      break;
    case Arrival::kDropped:
      break;
  }
  order_.owe_answer(queue_pair, now);
  if (reception.arrival == Arrival::kRefused) ending_.fail(queue_pair, now);
}

EarlyPackets::Outcome RequestReceiver::keep_early(uint32_t queue_pair, const Frame& frame,
                                                  const ParsedPacket& packet) noexcept {
  const QueuePairEnd& end = tables_.ends[queue_pair];
  const uint32_t expected = tables_.responders[queue_pair].expected_psn();
  if (end.failed || !is_write(packet.opcode) || psn_distance(expected, packet.psn) <= 0)
    return EarlyPackets::Outcome::kNoRoom;
  const EarlyPackets::Outcome outcome = early_->keep(queue_pair, expected, {frame, packet.psn, end.lane});
  if (outcome == EarlyPackets::Outcome::kKept) ++counters_.details.out_of_order;
  if (outcome == EarlyPackets::Outcome::kDuplicate) counters_.count_duplicate(queue_pair);
  return outcome;
}

void RequestReceiver::place_kept(uint32_t queue_pair, Time arrival, Time now) noexcept {
  EarlyPacket early;
  while (early_->due(queue_pair, tables_.responders[queue_pair].expected_psn())) {
    // The application takes a message a packet at most, and those of the burst at hand have their room.
    if (deliveries_.room() <= ReceiveBatch::kFrames) return place_later_.push(queue_pair);
    early_->take(queue_pair, tables_.responders[queue_pair].expected_psn(), early);
    on_request(queue_pair, parse(early.frame), std::max(early.frame.arrival, arrival), now);
    lanes_[early.lane].port().release({&early.frame, 1});
  }
}

}  // namespace rankwire

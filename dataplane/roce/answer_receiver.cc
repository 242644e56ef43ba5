#include "dataplane/roce/answer_receiver.h"

namespace rankwire {

void AnswerReceiver::on_response(uint32_t queue_pair, const ParsedPacket& packet, Time arrival, Time now) noexcept {
  Requester& requester = tables_.requesters[queue_pair];
  const Time deadline = requester.deadline();
  const ReadReception reception = requester.respond(outbound_.pool, now, packet);
  switch (reception.outcome) {
    case ResponseOutcome::kAccepted:
      rendezvous_.on_fetched(queue_pair, packet, reception, arrival, now);
      break;
    case ResponseOutcome::kDuplicate:
      ++counters_.totals.duplicate_packets;
      break;
    case ResponseOutcome::kImpliedNak:
      counters_.count_implied_nak(queue_pair);
      [[fallthrough]];
    case ResponseOutcome::kStale:
      counters_.count_out_of_sequence(queue_pair);
      break;
    case ResponseOutcome::kMalformed:
      ++counters_.details.malformed_responses;
      break;
    case ResponseOutcome::kGhost:
      ++counters_.details.ghost_acks;
      break;
    case ResponseOutcome::kFailed:
      break;
  }
  steps_.after(queue_pair, now, deadline);
}

void AnswerReceiver::on_notification(uint32_t queue_pair, Time now) noexcept {
  ++counters_.totals.cnp_rx;
  const bool heeded =
      paced_ != nullptr && paced_->control().heeds_notifications(queue_pair) && !tables_.ends[queue_pair].failed;
  ++(heeded ? counters_.notified[queue_pair].handled : counters_.of[queue_pair].notifications_ignored);
  if (heeded) paced_->control().notified(queue_pair, now);
}

// An acknowledgement has come; before it `oldest_before` was the oldest packet not acknowledged.
void AnswerReceiver::on_progress(uint32_t queue_pair, uint32_t oldest_before, const AckReception& reception,
                                 Time now) noexcept {
  const int64_t packets = psn_distance(oldest_before, tables_.requesters[queue_pair].oldest_unacknowledged());
  CongestionControl& control = paced_->control();
  if (packets > 0) control.acknowledged(queue_pair, now, Bytes(packets * options_.mtu), reception.round_trip);
  if (reception.outcome == AckOutcome::kRewind || reception.outcome == AckOutcome::kImpliedNak)
    control.rewound(queue_pair, now);
}

}  // namespace rankwire

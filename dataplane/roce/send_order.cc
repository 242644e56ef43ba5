#include "dataplane/roce/send_order.h"

#include "dataplane/protocol/requester.h"

namespace rankwire {

void SendOrder::offer(uint32_t queue_pair, Time now) noexcept {
  const uint16_t lane = pairs_.ends[queue_pair].lane;
  if (paced_ == nullptr || paced_->offer(queue_pair, lane, pairs_.requesters[queue_pair].in_flight(), now))
    lanes_[lane].senders.push(queue_pair);
}

void SendOrder::place(uint32_t queue_pair, Time now) noexcept {
  const Requester& requester = pairs_.requesters[queue_pair];
  const QueuePairEnd& end = pairs_.ends[queue_pair];
  const bool has_work = requester.can_send(reliable_) || pairs_.owes_response(queue_pair);
  if (!has_work || end.link != LinkState::kOpen) {
    paced_->rest(queue_pair);
  } else if (paced_->place(queue_pair, end.lane, requester.in_flight(), now)) {
    lanes_[end.lane].senders.push(queue_pair);
  }
  if (causes_.on()) causes_.note(queue_pair, now);
}

void SendOrder::owe_answer(uint32_t queue_pair, Time now) noexcept {
  const QueuePairEnd& end = pairs_.ends[queue_pair];
  if (end.link != LinkState::kOpen) return;
  Responder& responder = pairs_.responders[queue_pair];
  TransmitLane& lane = lanes_[end.lane];
  watch_.mark(end.lane);
  if (responder.response_pending()) {
    if (paced_ != nullptr) return offer(queue_pair, now);
    lane.readers.push(queue_pair);
  } else if (responder.reply_due(pairs_.responder_options()) && lane.answers.room() > 0) {
    lane.answers.push({queue_pair, responder.take_reply()});
  } else if (responder.reply_owed()) {
    if (responder.reply_due(pairs_.responder_options())) ++counters_.details.answers_merged;
    lane.repliers.push(queue_pair);
  }
}

}  // namespace rankwire

// RoceTransport's setting up.
#include <utility>

#include "dataplane/roce/transport.h"

namespace rankwire {

std::vector<EndPoint> RoceTransport::prepare(const TransportPlan& plan) {
  check_options(options_);
  check_plan(plan);
  make_parts(plan);
  std::vector<EndPoint> ends;
  for (uint32_t i = 0; i < pairs_->size(); ++i) ends.push_back(pairs_->end_point(i));
  return ends;
}

// Each after what it is made from.
void RoceTransport::make_parts(const TransportPlan& plan) {
  const MessageRoom room(options_, plan.messages_in_flight);
  codec_.emplace(options_);
  pairs_.emplace(options_, plan, bindings_, room.offers);
  const uint32_t queue_pairs = pairs_->size();
  lanes_.emplace(options_, bindings_, *pairs_, bells_ != nullptr);
  watch_.emplace(bells_, bindings_);
  latencies_ = Latencies(lanes_->ports());
  if (options_.neighbours == NeighbourMode::kResolve) hops_ = NextHopLinks(lanes_->ports(), queue_pairs);
  deadlines_ = RequesterDeadlines(queue_pairs);
  if (options_.causes == CauseRecording::kOn) accounts_ = CauseAccounts(queue_pairs, room.transfers, room.messages);
  make_congestion_control(plan);
  counters_.emplace(queue_pairs, paced_ || marks_, options_.verb == DataVerb::kRead);
  outbound_.emplace(reliable_, room, queue_pairs);
  early_.reset();
  if (options_.out_of_order > 0) early_.emplace(queue_pairs, lanes_->size(), options_.out_of_order);
  EarlyPackets* const early = early_ ? &*early_ : nullptr;
  causes_.emplace(reliable_, *pairs_, *lanes_, paced_.get(), accounts_);
  order_.emplace(reliable_, *pairs_, *lanes_, *watch_, paced_.get(), *causes_, *counters_);
  deliveries_.emplace(options_, *pairs_, *counters_, room.assembled);
  ending_.emplace(options_, *pairs_, *lanes_, deadlines_, *outbound_, *causes_, *deliveries_, early);
  steps_.emplace(reliable_, loop_, *pairs_, *lanes_, *watch_, *outbound_, deadlines_, paced_.get(), *causes_, *order_,
                 *ending_, *counters_);
  poster_.emplace(options_, *pairs_, *outbound_, *causes_, *steps_, *counters_);
  rendezvous_.emplace(options_, *pairs_, *lanes_, *outbound_, *poster_, *deliveries_, latencies_, *counters_);
  messages_.emplace(options_, *pairs_, *lanes_, *outbound_, *deliveries_, *rendezvous_, latencies_, *counters_);
  reports_.emplace(options_, *pairs_, *outbound_, accounts_, *causes_, *rendezvous_, *counters_);
  links_.emplace(options_, *pairs_, *lanes_, hops_, *outbound_, *order_, *steps_);
  if (marks_) notices_.emplace(options_.profile.notification_hop_limit, *pairs_, *lanes_, *watch_, *marks_, *counters_);
  NotificationSender* const notices = notices_ ? &*notices_ : nullptr;
  requests_.emplace(*pairs_, *lanes_, early, *deliveries_, *messages_, *order_, *ending_, *counters_);
  answers_.emplace(options_, *pairs_, *outbound_, paced_.get(), *steps_, *rendezvous_, latencies_, *counters_);
  receiver_.emplace(options_, *codec_, *pairs_, *lanes_, *deliveries_, *requests_, *answers_, notices, *counters_);
  answer_sender_.emplace(options_, *codec_, *pairs_, *outbound_, *order_, *counters_);
  request_sender_.emplace(reliable_, *codec_, *pairs_, *outbound_, *causes_, *steps_, *counters_);
  turns_.emplace(options_, reliable_, *codec_, *pairs_, *outbound_, *request_sender_);
  transmitter_.emplace(options_, reliable_, *pairs_, *lanes_, paced_.get(), *order_, *answer_sender_, *request_sender_,
                       *turns_, notices, *counters_);
}

std::vector<ConnectFailure> RoceTransport::connect(std::span<const EndPoint> remote) {
  const std::vector<const EndPoint*> peers = pairs_->peers_among(remote);
  std::vector<ConnectFailure> failures;
  for (uint32_t i = 0; i < pairs_->size(); ++i) {
    std::string reason = connect_queue_pair(i, peers[i]);
    const ConnectionId connection = pairs_->ends[i].connection;
    if (reason.empty() || (!failures.empty() && failures.back().connection == connection)) continue;
    failures.push_back({connection, std::move(reason)});
  }
  return failures;
}

std::string RoceTransport::connect_queue_pair(uint32_t queue_pair, const EndPoint* peer) {
  std::string reason = pairs_->connect(queue_pair, peer, codec_->pattern_icrc);
  if (reason.empty() && options_.neighbours == NeighbourMode::kResolve) return links_->resolve(queue_pair);
  return reason;
}

size_t RoceTransport::bytes_per_queue_pair() const noexcept {
  if (!pairs_ || pairs_->size() == 0) return 0;
  const size_t bytes = pairs_->bytes() + lanes_->bytes() + counters_->bytes() + hops_.bytes() + outbound_->bytes() +
                       (paced_ ? paced_->bytes() : 0) + (early_ ? pairs_->size() * EarlyPackets::kBytesEach : 0);
  return bytes / pairs_->size() + RequesterDeadlines::kBytesEach + accounts_.bytes_each();
}

}  // namespace rankwire

// RoceTransport's setting up.
#include <utility>

#include "dataplane/roce/transport.h"

namespace rankwire {

std::vector<EndPoint> RoceTransport::prepare(const TransportPlan& plan) {
  check_options(options_);
  check_plan(plan);
  make_parts(plan);
  std::vector<EndPoint> ends;
  ends.reserve(pairs_->size());
  for (uint32_t i = 0; i < pairs_->size(); ++i) ends.push_back(pairs_->end_point(i));
  return ends;
}

// Each after what it is made from.
void RoceTransport::make_parts(const TransportPlan& plan) {
  const MessageRoom room(options_, plan.messages_in_flight);
  codec_.emplace(options_);
  short_way_ = codec_->writer.has_short_way();
  joins_turns_ = short_way_ && options_.causes == CauseRecording::kOff;
  pairs_.emplace(options_, plan, bindings_, room.offers);
  const uint32_t queue_pairs = pairs_->size();
  lanes_.emplace(options_, bindings_, *pairs_, bells_ != nullptr);
  watch_.emplace(bells_, bindings_);
  latencies_ = Latencies(lanes_->ports());
  if (options_.neighbours == NeighbourMode::kResolve) hops_ = NextHopLinks(lanes_->ports(), queue_pairs);
  deadlines_ = RequesterDeadlines(queue_pairs);
  if (options_.causes == CauseRecording::kOn) causes_ = CauseAccounts(queue_pairs, room.transfers, room.messages);
  make_congestion_control(plan);
  counters_.emplace(queue_pairs, paced_ || marks_, options_.verb == DataVerb::kRead);
  outbound_.emplace(reliable_, room, queue_pairs);
  assembly_ = MessageAssembly(room.assembled);
  early_.reset();
  place_later_ = IndexQueue(options_.out_of_order > 0 ? queue_pairs : 0);
  if (options_.out_of_order > 0) early_.emplace(queue_pairs, lanes_->size(), options_.out_of_order);
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
  if (reason.empty() && options_.neighbours == NeighbourMode::kResolve) return resolve_next_hop(queue_pair);
  return reason;
}

size_t RoceTransport::queue_pair_bytes() const noexcept {
  if (!pairs_ || pairs_->size() == 0) return 0;
  const size_t each = RequesterDeadlines::kBytesEach + causes_.bytes_each() + (early_ ? EarlyPackets::kBytesEach : 0);
  return pairs_->bytes() + lanes_->bytes() + counters_->bytes() + hops_.bytes() + outbound_->bytes() +
         (paced_ ? paced_->bytes() : 0) + pairs_->size() * each;
}

size_t RoceTransport::bytes_per_queue_pair() const noexcept {
  const size_t bytes = queue_pair_bytes();
  return bytes == 0 ? 0 : bytes / pairs_->size();
}

}  // namespace rankwire

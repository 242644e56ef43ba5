// What RoceTransport tells of itself: counters, and the state of connections for people.
#include <fmt/format.h>

#include "base/transport_counters.h"
#include "dataplane/roce/transport.h"

namespace rankwire {
namespace {

double milliseconds_of(Duration duration) {
  return static_cast<double>(duration.ps) / 1e9;
}

}  // namespace

RdmaCounters RoceTransport::rdma_of(PortId port) const {
  RdmaCounters sum;
  for (uint32_t i = 0; i < pairs_->size(); ++i)
    if (bindings_[pairs_->ends[i].lane].id == port) sum += counters_->rdma(i);
  return sum;
}

std::vector<FlowCounters> RoceTransport::flows() const {
  if (!pairs_) return {};
  const std::vector<uint64_t> under_way = reports_->packets_under_way();
  std::vector<FlowCounters> flows;
  for (size_t c = 0; c < pairs_->connections.size(); ++c) {
    const ConnectionEnds& ends = pairs_->connections[c];
    for (uint32_t member = 0; member < options_.queue_pairs; ++member) {
      FlowCounters& flow = flows.emplace_back();
      flow.connection = ConnectionId(static_cast<uint32_t>(c));
      flow.member = static_cast<uint16_t>(member);
      if (ends.source != kNone) {
        const uint32_t source = ends.source + member;
        const QueuePairEnd& end = pairs_->ends[source];
        const QueuePairCounters& counters = counters_->of[source];
        flow.source_qp = kFirstQueuePair + source;
        flow.destination_qp = pairs_->peer_number(source);
        flow.messages = end.messages;
        flow.bytes = end.bytes;
        flow.packets = end.packets + under_way[source];
        flow.retransmitted = counters.retransmitted;
        flow.naks = counters.naks;
        flow.rnr_naks = counters.not_ready_naks;
        flow.timeouts = counters.timeouts;
        if (end.connection == flow.connection) flow.source_end = counters_->rdma(source);
        if (causes_->on()) flow.causes = causes_->read(source, last_now_);
      }
      if (ends.destination != kNone) {
        const uint32_t destination = ends.destination + member;
        flow.source_qp = pairs_->peer_number(destination);
        flow.destination_qp = kFirstQueuePair + destination;
        flow.marks = counters_->of[destination].marks;
        if (pairs_->ends[destination].connection == flow.connection)
          flow.destination_end = counters_->rdma(destination);
      }
    }
  }
  return flows;
}

std::vector<NamedCounter> RoceTransport::details() const {
  if (!counters_) return {};
  std::vector<NamedCounter> details;
  counters_->append_details(details);
  details.push_back({"pacing_slips", paced_ ? paced_->slips() : 0});
  details.push_back({"pacing_displaced", paced_ ? paced_->displaced() : 0});
  NeighbourCounters neighbours;
  uint64_t buffer_drops = 0;
  for (uint32_t port = 0; port < lanes_->ports(); ++port) {
    neighbours += lanes_->port(port).neighbours.counters();
    buffer_drops += lanes_->port(port).buffer_drops;
  }
  if (buffer_drops > 0) details.push_back({"receive_buffer_drops", buffer_drops});
  for (const NamedCounter& counter : named(neighbours)) details.push_back(counter);
  counters_->append_rejects(details);
  return details;
}

// Why the oldest message is not finished.
std::string RoceTransport::describe_wait(uint32_t queue_pair) const {
  const Requester& requester = pairs_->requesters[queue_pair];
  const QueuePairEnd& end = pairs_->ends[queue_pair];
  if (end.link == LinkState::kUnconnected) return "not connected";
  if (end.link == LinkState::kUnreachable) return "in the error state: " + links_->state_of(queue_pair);
  if (requester.state() == Requester::State::kError) return "in the error state";
  if (end.link == LinkState::kResolving) return "waiting for its next hop: " + links_->state_of(queue_pair);
  if (requester.idle())
    return outbound_->oldest_offer(queue_pair) == kNone
               ? "idle"
               : fmt::format("waiting for the peer to fetch message {}",
                             outbound_->offers[outbound_->oldest_offer(queue_pair)].index);
  const OutboundMessage& oldest = outbound_->pool.messages[requester.oldest_message()];
  const uint8_t holds = requester.holds();
  if (holds & Requester::kReceiverNotReady)
    return fmt::format("waiting for the receiver to be ready until {:.3f} ms",
                       milliseconds_of(requester.deadline() - Time()));
  const std::string since = oldest.started() && oldest.last_tx != Time::never()
                                ? fmt::format(" since {:.3f} ms", milliseconds_of(last_now_ - oldest.last_tx))
                                : std::string();
  std::string reason;
  if (holds & Requester::kOutOfCredits) reason = "out of credits, ";
  if (requester.in_flight() >= reliable_.window) reason = "window full, ";
  const TransmitLane& lane = (*lanes_)[end.lane];
  if (!lane.may_send(lane.priorities().data)) reason += "paused by the next station, ";
  if (oldest.verb == Verb::kRead && requester.reads_outstanding() > 0)
    return fmt::format("{}waiting for the READ response with psn {:#x}{}", reason, requester.oldest_unacknowledged(),
                       since);
  if (requester.deadline() == Time::never() && requester.in_flight() == 0)
    return fmt::format("{}waiting for its turn to send message {}", reason, oldest.index);
  return fmt::format("{}waiting for ACK of psn {:#x}{}", reason, requester.oldest_unacknowledged(), since);
}

std::string RoceTransport::describe_sender(uint32_t queue_pair) const {
  const Requester& requester = pairs_->requesters[queue_pair];
  std::string retries = fmt::format("{}/{}", requester.retries(), options_.profile.retry_count);
  if (requester.not_ready_retries() > 0) retries += fmt::format(", not ready {}", requester.not_ready_retries());
  return fmt::format("source QP {:#x} psn {:#x} unacked {} window {} retries {} {}", kFirstQueuePair + queue_pair,
                     requester.next_psn(), requester.in_flight(), reliable_.window, retries,
                     describe_wait(queue_pair) + describe_control(queue_pair));
}

std::string RoceTransport::describe_receiver(uint32_t queue_pair) const {
  const Responder& responder = pairs_->responders[queue_pair];
  const QueuePairEnd& end = pairs_->ends[queue_pair];
  std::string text =
      fmt::format("destination QP {:#x} expects psn {:#x}, {} messages delivered", kFirstQueuePair + queue_pair,
                  responder.expected_psn(), pairs_->inboxes[queue_pair].delivered);
  if (responder.receives() == 0) text += ", no receive posted";
  if (end.link == LinkState::kUnconnected) return text + ", not connected";
  if (end.failed && responder.state() == Responder::State::kError)
    return text + ", in the error state: it refused a request";
  if (end.failed) return text + ", in the error state";
  if (end.link != LinkState::kOpen) return text + ", its next hop: " + links_->state_of(queue_pair);
  if (!pairs_->requesters[queue_pair].idle() && options_.verb == DataVerb::kRead)
    text += ", fetching: " + describe_wait(queue_pair);
  return text;
}

// The first queue pair that is not idle, and how many others are not.
std::string RoceTransport::describe_side(uint32_t first, Side side) const {
  uint32_t shown = first, others = 0;
  bool stuck = false;
  for (uint32_t i = first; i < first + options_.queue_pairs; ++i) {
    const bool busy = pairs_->ends[i].link != LinkState::kOpen || pairs_->ends[i].failed ||
                      !pairs_->requesters[i].idle() || outbound_->oldest_offer(i) != kNone;
    if (!busy) continue;
    if (stuck) {
      ++others;
    } else {
      shown = i;
      stuck = true;
    }
  }
  std::string text = side == Side::kSource ? describe_sender(shown) : describe_receiver(shown);
  if (others > 0) text += fmt::format(", and {} more of its {} queue pairs are not idle", others, options_.queue_pairs);
  return text;
}

std::string RoceTransport::describe(ConnectionId connection) const {
  const ConnectionEnds& ends = pairs_->connections[connection.value];
  std::string text;
  if (ends.source != kNone) text = describe_side(ends.source, Side::kSource);
  if (ends.destination != kNone)
    text += (text.empty() ? "" : "; ") + describe_side(ends.destination, Side::kDestination);
  if (text.empty()) return "not on this transport";
  for (uint32_t port = 0; port < lanes_->ports(); ++port)
    for (const AddressConflict& conflict : lanes_->port(port).neighbours.conflicts())
      if (conflict.nic == ends.source_nic || conflict.nic == ends.destination_nic)
        text += fmt::format("; {} claims {} too", to_string(conflict.mac),
                            to_string(pairs_->nics()[conflict.nic.value].ip));
  return text;
}

}  // namespace rankwire

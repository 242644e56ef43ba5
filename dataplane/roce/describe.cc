// What RoceTransport tells of itself: counters, and the state of connections for people.
#include <fmt/format.h>

#include "base/transport_counters.h"
#include "dataplane/roce/transport.h"

namespace rankwire {
namespace {

double milliseconds_of(Duration duration) {
  return static_cast<double>(duration.ps) / 1e9;
}

constexpr std::array<std::string_view, static_cast<size_t>(Reject::kScattered) + 1> kRejectNames = {
    "",
    "arp_rx",
    "icmp_rx",
    "icmpv6_rx",
    "foreign_vlan_tag",
    "foreign_ether_type",
    "foreign_ip_protocol",
    "foreign_udp_port",
    "foreign_runt",
    "rejected_truncated",
    "rejected_ip_version",
    "rejected_ip_checksum",
    "rejected_ip_fragment",
    "rejected_ip_length",
    "rejected_udp_length",
    "rejected_bth_version",
    "rejected_partition_key",
    "rejected_opcode",
    "rejected_extended_header",
    "rejected_pad",
    "rejected_scattered",
};

}  // namespace

// 0 before it is known.
uint32_t RoceTransport::peer_queue_pair(uint32_t queue_pair) const {
  return templates_[queue_pair].transport().bth.destination_qp.value();
}

// Data packets of requests that have not been counted because they have not been reported, by queue pair.
std::vector<uint64_t> RoceTransport::packets_under_way() const {
  std::vector<uint64_t> packets(ends_.size());
  const auto add = [&](uint32_t slot) {
    for (; slot != OutboundMessage::kNone; slot = pool_->messages[slot].next) {
      const OutboundMessage& request = pool_->messages[slot];
      packets[request.queue_pair] += packets_of_request(request);
    }
  };
  if (!pool_) return packets;
  add(pool_->finished.head);
  for (const Requester& requester : requesters_) add(requester.oldest_message());
  return packets;
}

RdmaCounters RoceTransport::rdma_of(uint32_t queue_pair) const {
  const QueuePairCounters& own = flow_counters_[queue_pair];
  const NotificationCounters notified =
      notification_counters_.empty() ? NotificationCounters() : notification_counters_[queue_pair];
  return {.out_of_sequence = own.out_of_sequence,
          .duplicate_request = own.duplicates,
          .out_of_buffer = own.not_ready,
          .packet_seq_err = own.naks,
          .implied_nak_seq_err = reads_.empty() ? 0 : reads_[queue_pair].implied_naks,
          .local_ack_timeout_err = own.timeouts,
          .rnr_nak_retry_err = own.not_ready_naks,
          .np_ecn_marked_roce_packets = notified.marked_packets,
          .np_cnp_sent = notified.sent,
          .rp_cnp_handled = notified.handled,
          .rp_cnp_ignored = own.notifications_ignored};
}

RdmaCounters RoceTransport::rdma_of(PortId port) const {
  RdmaCounters sum;
  for (uint32_t i = 0; i < ends_.size(); ++i)
    if (bindings_[ends_[i].lane].id == port) sum += rdma_of(i);
  return sum;
}

std::vector<FlowCounters> RoceTransport::flows() const {
  const std::vector<uint64_t> under_way = packets_under_way();
  std::vector<FlowCounters> flows;
  for (size_t c = 0; c < connections_.size(); ++c) {
    const ConnectionEnds& ends = connections_[c];
    for (uint32_t member = 0; member < options_.queue_pairs; ++member) {
      FlowCounters& flow = flows.emplace_back();
      flow.connection = ConnectionId(static_cast<uint32_t>(c));
      flow.member = static_cast<uint16_t>(member);
      if (ends.source != kNone) {
        const uint32_t source = ends.source + member;
        const QueuePairEnd& end = ends_[source];
        const QueuePairCounters& counters = flow_counters_[source];
        flow.source_qp = kFirstQueuePair + source;
        flow.destination_qp = peer_queue_pair(source);
        flow.messages = end.messages;
        flow.bytes = end.bytes;
        flow.packets = end.packets + under_way[source];
        flow.retransmitted = counters.retransmitted;
        flow.naks = counters.naks;
        flow.rnr_naks = counters.not_ready_naks;
        flow.timeouts = counters.timeouts;
        if (end.connection == flow.connection) flow.source_end = rdma_of(source);
        if (causes_.on()) flow.causes = causes_.read(source, last_now_, time_paused(source, last_now_));
      }
      if (ends.destination != kNone) {
        const uint32_t destination = ends.destination + member;
        flow.source_qp = peer_queue_pair(destination);
        flow.destination_qp = kFirstQueuePair + destination;
        flow.marks = flow_counters_[destination].marks;
        if (ends_[destination].connection == flow.connection) flow.destination_end = rdma_of(destination);
      }
    }
  }
  return flows;
}

std::vector<NamedCounter> RoceTransport::details() const {
  std::vector<NamedCounter> details = {
      {"misdirected", details_.misdirected},         {"stale_acks", details_.stale_acks},
      {"ghost_acks", details_.ghost_acks},           {"malformed_responses", details_.malformed_responses},
      {"out_of_credits", details_.out_of_credits},   {"refused", details_.refused},
      {"not_admitted", details_.not_admitted},       {"unindexed_messages", details_.unindexed},
      {"unknown_offers", details_.unknown_offers},   {"answers_merged", details_.answers_merged},
      {"placed_out_of_order", details_.out_of_order}};
  RdmaCounters rdma;
  for (uint32_t i = 0; i < flow_counters_.size(); ++i) rdma += rdma_of(i);
  for (const NamedCounter& counter :
       {NamedCounter{"np_cnp_sent", rdma.np_cnp_sent},
        NamedCounter{"np_ecn_marked_roce_packets", rdma.np_ecn_marked_roce_packets},
        NamedCounter{"rp_cnp_handled", rdma.rp_cnp_handled}, NamedCounter{"rp_cnp_ignored", rdma.rp_cnp_ignored},
        NamedCounter{"pacing_slips", paced_ ? paced_->slips() : 0},
        NamedCounter{"pacing_displaced", paced_ ? paced_->displaced() : 0}})
    details.push_back(counter);
  NeighbourCounters neighbours;
  uint64_t buffer_drops = 0;
  for (const auto& port : ports_) {
    neighbours += port->neighbours.counters();
    buffer_drops += port->buffer_drops;
  }
  if (buffer_drops > 0) details.push_back({"receive_buffer_drops", buffer_drops});
  for (const NamedCounter& counter : named(neighbours)) details.push_back(counter);
  uint64_t foreign = 0;
  for (size_t i = 0; i < rejects_.size(); ++i)
    if (is_foreign(static_cast<Reject>(i)) && !is_for_neighbours(static_cast<Reject>(i))) foreign += rejects_[i];
  details.push_back({"foreign", foreign});
  for (size_t i = 1; i < rejects_.size(); ++i)
    if (rejects_[i] > 0) details.push_back({kRejectNames[i], rejects_[i]});
  return details;
}

// Why the oldest message is not finished.
std::string RoceTransport::describe_wait(uint32_t queue_pair) const {
  const Requester& requester = requesters_[queue_pair];
  const QueuePairEnd& end = ends_[queue_pair];
  if (end.link == LinkState::kUnconnected) return "not connected";
  if (end.link == LinkState::kUnreachable) return "in the error state: " + next_hop_state(queue_pair);
  if (requester.state() == Requester::State::kError) return "in the error state";
  if (end.link == LinkState::kResolving) return "waiting for its next hop: " + next_hop_state(queue_pair);
  if (requester.idle())
    return oldest_offer(queue_pair) == kNone
               ? "idle"
               : fmt::format("waiting for the peer to fetch message {}", offers_[oldest_offer(queue_pair)].index);
  const OutboundMessage& oldest = pool_->messages[requester.oldest_message()];
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
  const TransmitLane& lane = lanes_[end.lane];
  if (!lane.may_send(lane.priorities().data)) reason += "paused by the next station, ";
  if (oldest.verb == Verb::kRead && requester.reads_outstanding() > 0)
    return fmt::format("{}waiting for the READ response with psn {:#x}{}", reason, requester.oldest_unacknowledged(),
                       since);
  if (requester.deadline() == Time::never() && requester.in_flight() == 0)
    return fmt::format("{}waiting for its turn to send message {}", reason, oldest.index);
  return fmt::format("{}waiting for ACK of psn {:#x}{}", reason, requester.oldest_unacknowledged(), since);
}

std::string RoceTransport::describe_sender(uint32_t queue_pair) const {
  const Requester& requester = requesters_[queue_pair];
  std::string retries = fmt::format("{}/{}", requester.retries(), options_.profile.retry_count);
  if (requester.not_ready_retries() > 0) retries += fmt::format(", not ready {}", requester.not_ready_retries());
  return fmt::format("source QP {:#x} psn {:#x} unacked {} window {} retries {} {}", kFirstQueuePair + queue_pair,
                     requester.next_psn(), requester.in_flight(), reliable_.window, retries,
                     describe_wait(queue_pair) + describe_control(queue_pair));
}

std::string RoceTransport::describe_receiver(uint32_t queue_pair) const {
  const Responder& responder = responders_[queue_pair];
  const QueuePairEnd& end = ends_[queue_pair];
  std::string text =
      fmt::format("destination QP {:#x} expects psn {:#x}, {} messages delivered", kFirstQueuePair + queue_pair,
                  responder.expected_psn(), inboxes_[queue_pair].delivered);
  if (responder.receives() == 0) text += ", no receive posted";
  if (end.link == LinkState::kUnconnected) return text + ", not connected";
  if (end.failed && responder.state() == Responder::State::kError)
    return text + ", in the error state: it refused a request";
  if (end.failed) return text + ", in the error state";
  if (end.link != LinkState::kOpen) return text + ", its next hop: " + next_hop_state(queue_pair);
  if (!requesters_[queue_pair].idle() && options_.verb == DataVerb::kRead)
    text += ", fetching: " + describe_wait(queue_pair);
  return text;
}

// The first queue pair that is not idle, and how many others are not.
std::string RoceTransport::describe_side(uint32_t first, Side side) const {
  uint32_t shown = first, others = 0;
  bool stuck = false;
  for (uint32_t i = first; i < first + options_.queue_pairs; ++i) {
    const bool busy =
        ends_[i].link != LinkState::kOpen || ends_[i].failed || !requesters_[i].idle() || oldest_offer(i) != kNone;
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
  const ConnectionEnds& ends = connections_[connection.value];
  std::string text;
  if (ends.source != kNone) text = describe_side(ends.source, Side::kSource);
  if (ends.destination != kNone)
    text += (text.empty() ? "" : "; ") + describe_side(ends.destination, Side::kDestination);
  if (text.empty()) return "not on this transport";
  for (const auto& port : ports_)
    for (const AddressConflict& conflict : port->neighbours.conflicts())
      if (conflict.nic == ends.source_nic || conflict.nic == ends.destination_nic)
        text += fmt::format("; {} claims {} too", to_string(conflict.mac), to_string(nics_[conflict.nic.value].ip));
  return text;
}

}  // namespace rankwire

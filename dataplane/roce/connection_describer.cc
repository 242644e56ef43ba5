#include "dataplane/roce/connection_describer.h"

#include <fmt/format.h>

#include "dataplane/protocol/requester.h"

namespace rankwire {
namespace {

double milliseconds_of(Duration duration) {
  return static_cast<double>(duration.ps) / 1e9;
}

}  // namespace

Hold ConnectionDescriber::hold_of(uint32_t queue_pair) const {
  const Requester& requester = pairs_.requesters[queue_pair];
  const QueuePairEnd& end = pairs_.ends[queue_pair];
  if (end.link == LinkState::kUnconnected) return Hold::kNotConnected;
  if (end.link == LinkState::kUnreachable || end.link == LinkState::kResolving) return Hold::kNextHop;
  if (requester.state() == Requester::State::kError) return Hold::kBroken;
  if (requester.idle()) return outbound_.oldest_offer(queue_pair) == QueuePairs::kNone ? Hold::kNothing : Hold::kFetch;
  const uint8_t holds = requester.holds();
  // Between two NAKs it has sent again and waits for an answer as others do.
  const bool is_refused = requester.not_ready_retries() > 0 && requester.retries() == 0;
  if ((holds & Requester::kReceiverNotReady) || is_refused) return Hold::kReceiver;
  if (holds & Requester::kOutOfCredits) return Hold::kNoCredits;
  const TransmitLane& lane = lanes_[end.lane];
  if (!lane.may_send(lane.priorities().data)) return Hold::kPaused;
  const bool is_asked = requester.in_flight() > 0 || requester.reads_outstanding() > 0 || requester.retries() > 0;
  return is_asked ? Hold::kAnswer : Hold::kTurn;
}

// The destination fetches with READs by requests of its own.
std::vector<QueuePairState> ConnectionDescriber::states(ConnectionId connection) const {
  const ConnectionEnds& ends = pairs_.connections[connection.value];
  std::vector<QueuePairState> states(options_.queue_pairs);
  for (uint32_t member = 0; member < states.size(); ++member) {
    QueuePairState& state = states[member];
    if (ends.source != QueuePairs::kNone) {
      const uint32_t source = ends.source + member;
      state.hold = hold_of(source);
      state.retries = pairs_.requesters[source].retries();
      state.source_number = pairs_.number_of(source), state.destination_number = pairs_.peer_number(source);
      state.unacknowledged = pairs_.requesters[source].oldest_unacknowledged();
    }
    if (ends.destination != QueuePairs::kNone) {
      const uint32_t destination = ends.destination + member;
      state.source_number = pairs_.peer_number(destination), state.destination_number = pairs_.number_of(destination);
      state.expected = pairs_.responders[destination].expected_psn();
    }
  }
  return states;
}

// Why the oldest message is not finished.
std::string ConnectionDescriber::describe_wait(uint32_t queue_pair, Time now) const {
  const Requester& requester = pairs_.requesters[queue_pair];
  const QueuePairEnd& end = pairs_.ends[queue_pair];
  if (end.link == LinkState::kUnconnected) return "not connected";
  if (end.link == LinkState::kUnreachable) return "in the error state: " + links_.state_of(queue_pair);
  if (requester.state() == Requester::State::kError) return "in the error state";
  if (end.link == LinkState::kResolving) return "waiting for its next hop: " + links_.state_of(queue_pair);
  if (requester.idle())
    return outbound_.oldest_offer(queue_pair) == QueuePairs::kNone
               ? "idle"
               : fmt::format("waiting for the peer to fetch message {}",
                             outbound_.offers[outbound_.oldest_offer(queue_pair)].index);
  const OutboundMessage& oldest = outbound_.pool.messages[requester.oldest_message()];
  const uint8_t holds = requester.holds();
  if (holds & Requester::kReceiverNotReady)
    return fmt::format("waiting for the receiver to be ready until {:.3f} ms",
                       milliseconds_of(requester.deadline() - Time()));
  const std::string since = oldest.started() && oldest.last_tx != Time::never()
                                ? fmt::format(" since {:.3f} ms", milliseconds_of(now - oldest.last_tx))
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

// Empty where nothing is held back.
std::string ConnectionDescriber::describe_control(uint32_t queue_pair) const {
  if (paced_ == nullptr) return {};
  std::string text;
  const Allowance& allowance = paced_->allowance(queue_pair);
  if (paced_->is_paced(queue_pair) && allowance.rate > Bandwidth())
    text += fmt::format(", paced at {:.3f} Gb/s, next packet from {:.6f} ms",
                        static_cast<double>(allowance.rate.bits_per_second) / 1e9,
                        static_cast<double>((paced_->schedule(queue_pair) - Time()).ps) / 1e9);
  if (allowance.window != Allowance::kUnlimited)
    text += fmt::format(", congestion window {} bytes", allowance.window.count);
  return text;
}

std::string ConnectionDescriber::describe_sender(uint32_t queue_pair, Time now) const {
  const Requester& requester = pairs_.requesters[queue_pair];
  std::string retries = fmt::format("{}/{}", requester.retries(), options_.profile.retry_count);
  if (requester.not_ready_retries() > 0) retries += fmt::format(", not ready {}", requester.not_ready_retries());
  return fmt::format("source QP {:#x} psn {:#x} unacked {} window {} retries {} {}", pairs_.number_of(queue_pair),
                     requester.next_psn(), requester.in_flight(), reliable_.window, retries,
                     describe_wait(queue_pair, now) + describe_control(queue_pair));
}

std::string ConnectionDescriber::describe_receiver(uint32_t queue_pair, Time now) const {
  const Responder& responder = pairs_.responders[queue_pair];
  const QueuePairEnd& end = pairs_.ends[queue_pair];
  std::string text =
      fmt::format("destination QP {:#x} expects psn {:#x}, {} messages delivered", pairs_.number_of(queue_pair),
                  responder.expected_psn(), pairs_.inboxes[queue_pair].delivered);
  if (responder.receives() == 0) text += ", no receive posted";
  if (end.link == LinkState::kUnconnected) return text + ", not connected";
  if (end.failed && responder.state() == Responder::State::kError)
    return text + ", in the error state: it refused a request";
  if (end.failed) return text + ", in the error state";
  if (end.link != LinkState::kOpen) return text + ", its next hop: " + links_.state_of(queue_pair);
  if (!pairs_.requesters[queue_pair].idle() && options_.verb == DataVerb::kRead)
    text += ", fetching: " + describe_wait(queue_pair, now);
  return text;
}

// The first queue pair that is not idle, and how many others are not.
std::string ConnectionDescriber::describe_side(uint32_t first, Side side, Time now) const {
  uint32_t shown = first, others = 0;
  bool stuck = false;
  for (uint32_t i = first; i < first + options_.queue_pairs; ++i) {
    const bool busy = pairs_.ends[i].link != LinkState::kOpen || pairs_.ends[i].failed ||
                      !pairs_.requesters[i].idle() || outbound_.oldest_offer(i) != QueuePairs::kNone;
    if (!busy) continue;
    if (stuck) {
      ++others;
    } else {
      shown = i;
      stuck = true;
    }
  }
  std::string text = side == Side::kSource ? describe_sender(shown, now) : describe_receiver(shown, now);
  if (others > 0) text += fmt::format(", and {} more of its {} queue pairs are not idle", others, options_.queue_pairs);
  return text;
}

std::string ConnectionDescriber::describe(ConnectionId connection, Time now) const {
  const ConnectionEnds& ends = pairs_.connections[connection.value];
  std::string text;
  if (ends.source != QueuePairs::kNone) text = describe_side(ends.source, Side::kSource, now);
  if (ends.destination != QueuePairs::kNone)
    text += (text.empty() ? "" : "; ") + describe_side(ends.destination, Side::kDestination, now);
  if (text.empty()) return "not on this transport";
  for (uint32_t port = 0; port < lanes_.ports(); ++port)
    for (const AddressConflict& conflict : lanes_.port(port).neighbours.conflicts())
      if (conflict.nic == ends.source_nic || conflict.nic == ends.destination_nic)
        text +=
            fmt::format("; {} claims {} too", to_string(conflict.mac), to_string(pairs_.nics()[conflict.nic.value].ip));
  return text;
}

}  // namespace rankwire

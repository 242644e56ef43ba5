// What VerbsTransport tells of itself: counters, and the state of connections for people.
#include <fmt/format.h>

#include <algorithm>

#include "dataplane/verbs/transport.h"

namespace rankwire {
namespace {

// 0 where there is none of the names. Counters of devices have no common names.
uint64_t value_of(std::span<const VerbsCounter> counters, std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) {
    const auto known = std::ranges::find(counters, name, &VerbsCounter::name);
    if (known != counters.end()) return known->value;
  }
  return 0;
}

}  // namespace

TransportCounters VerbsTransport::counters() const {
  return counters_;
}

std::vector<FlowCounters> VerbsTransport::flows_of(ConnectionRange range) const {
  std::vector<FlowCounters> flows;
  for (size_t c = range.begin; c < std::min<size_t>(range.end, connections_.size()); ++c) {
    const ConnectionEnds& ends = connections_[c];
    for (uint32_t member = 0; member < options_.queue_pairs; ++member) {
      FlowCounters& flow = flows.emplace_back();
      flow.connection = plan_.connections[c].id;
      flow.member = static_cast<uint16_t>(member);
      if (ends.source != kNone) {
        const VerbsEnd& source = ends_[ends.source + member];
        flow.source_qp = source.number;
        flow.destination_qp = source.remote.queue_pair;
        flow.messages = source.messages;
        flow.bytes = source.bytes;
      }
      if (ends.destination != kNone) {
        const VerbsEnd& destination = ends_[ends.destination + member];
        flow.source_qp = destination.remote.queue_pair;
        flow.destination_qp = destination.number;
      }
    }
  }
  return flows;
}

// A word of `port_xmit_data` is four bytes (IBTA 16.1.3.5).
std::vector<PortCounters> VerbsTransport::ports() const {
  std::vector<PortCounters> ports;
  for (size_t i = 0; i < ports_.size(); ++i) {
    const std::vector<VerbsCounter> now = api_.counters(ports_[i].place.device.name, ports_[i].place.port.number);
    const std::span<const VerbsCounter> before = i < before_.size() ? before_[i] : std::span<const VerbsCounter>();
    const auto since = [&](std::initializer_list<std::string_view> names) {
      return value_of(now, names) - value_of(before, names);
    };
    PortCounters& port = ports.emplace_back();
    port.port = ports_[i].id;
    port.name = ports_[i].name;
    port.tx_frames = since({"counters.port_xmit_packets", "hw_counters.sent_pkts"});
    port.rx_frames = since({"counters.port_rcv_packets", "hw_counters.rcvd_pkts"});
    port.tx_bytes = 4 * since({"counters.port_xmit_data"});
    port.rx_bytes = 4 * since({"counters.port_rcv_data"});
    port.rx_missed = since({"counters.port_rcv_errors"});
  }
  return ports;
}

std::vector<NamedCounter> VerbsTransport::details() const {
  std::vector<NamedCounter> details = {{"completions", details_.completions},
                                       {"completion_polls", details_.polls},
                                       {"doorbells", details_.doorbells},
                                       {"receive_doorbells", details_.receive_doorbells},
                                       {"work_requests", details_.work_requests},
                                       {"work_requests_signalled", details_.signalled},
                                       {"work_requests_inline", details_.by_value},
                                       {"work_requests_refused", details_.refused},
                                       {"receives_refused", details_.receives_refused},
                                       {"unexpected_receives", details_.unexpected},
                                       {"completion_polls_failed", details_.polls_failed},
                                       {"error_states_refused", details_.ends_refused},
                                       {"registered_bytes", memory_.bytes().size()},
                                       {"huge_pages", memory_.huge_pages() ? 1u : 0u}};
  for (size_t status = 0; status < statuses_.size(); ++status)
    if (statuses_[status] > 0) details.push_back({counter_name(static_cast<WorkStatus>(status)), statuses_[status]});
  for (size_t kind = 0; kind < events_.size(); ++kind)
    if (events_[kind] > 0) details.push_back({counter_name(static_cast<DeviceEventKind>(kind)), events_[kind]});
  return details;
}

std::string VerbsTransport::describe_failure(const VerbsEnd& end) const {
  if (!end.to_blame()) return "ended with another queue pair of the connection";
  if (end.status == WorkStatus::kSuccess) return end.device_error;
  const std::string what = end.failed_receiving ? "receiving" : fmt::format("message {}", end.failed_index);
  const std::string text = fmt::format("{} (status {}, vendor error {:#x}, {})", to_string(end.status),
                                       static_cast<int>(end.status), end.vendor_error, what);
  return end.device_error == nullptr ? text : fmt::format("{}, and {}", text, end.device_error);
}

std::string VerbsTransport::describe_end(uint32_t i, Side side) const {
  const VerbsEnd& end = ends_[i];
  std::string text =
      fmt::format("{} QP {:#x} of {} to {:#x} at {}", side == Side::kSource ? "source" : "destination", end.number,
                  ports_[end.device].place.device.name, end.remote.queue_pair, to_string(end.remote.ip));
  if (end.state == VerbsEnd::State::kUnconnected) return text + ", not connected";
  if (end.state == VerbsEnd::State::kUnreachable) return text + ", whose link address was not found";
  if (end.to_blame() || end.state != VerbsEnd::State::kOpen)
    return fmt::format("{}, in the error state: {}", text, describe_failure(end));
  if (side == Side::kDestination) text += fmt::format(", {} messages received", end.received);
  if (end.outstanding() == 0 && end.waiting.empty() && end.oldest_offer == kNone) return text + ", idle";
  if (end.outstanding() > 0)
    text += fmt::format(", {} of {} work requests not completed", end.outstanding(), options_.send_queue);
  if (!end.posted.empty()) text += fmt::format(", the oldest of message {}", requests_[end.posted.head].index);
  if (!end.waiting.empty()) text += fmt::format(", message {} waits to be posted", requests_[end.waiting.head].index);
  if (end.oldest_offer != kNone)
    text += fmt::format(", waiting for the peer to fetch message {}", offers_[end.oldest_offer].index);
  return text;
}

// The queue pair that has failed by itself or else the first that is not idle, and how many others are not.
std::string VerbsTransport::describe_side(uint32_t first, Side side) const {
  const auto weight = [&](uint32_t i) {
    const VerbsEnd& end = ends_[i];
    if (end.to_blame()) return 2;
    const bool idle = end.state == VerbsEnd::State::kOpen && end.outstanding() == 0 && end.waiting.empty() &&
                      end.oldest_offer == kNone;
    return idle ? 0 : 1;
  };
  uint32_t shown = first, busy = 0;
  for (uint32_t i = first; i < first + options_.queue_pairs; ++i) {
    if (weight(i) > weight(shown)) shown = i;
    busy += weight(i) > 0 ? 1 : 0;
  }
  std::string text = describe_end(shown, side);
  if (busy > 1) text += fmt::format(", and {} more of its {} queue pairs are not idle", busy - 1, options_.queue_pairs);
  return text;
}

std::string VerbsTransport::describe(ConnectionId connection) const {
  const ConnectionEnds& ends = connections_[connection.value];
  std::string text;
  if (ends.source != kNone) text = describe_side(ends.source, Side::kSource);
  if (ends.destination != kNone)
    text += (text.empty() ? "" : "; ") + describe_side(ends.destination, Side::kDestination);
  return text.empty() ? "not on this transport" : text;
}

// What a device has sent and what it waits for is its own: work that it has taken waits for an answer.
std::vector<QueuePairState> VerbsTransport::states(ConnectionId connection) const {
  const ConnectionEnds& ends = connections_[connection.value];
  std::vector<QueuePairState> states(options_.queue_pairs);
  for (uint32_t member = 0; member < states.size(); ++member) {
    QueuePairState& state = states[member];
    if (ends.source != kNone) {
      const VerbsEnd& end = ends_[ends.source + member];
      state.source_number = end.number, state.destination_number = end.remote.queue_pair;
      if (end.state == VerbsEnd::State::kUnconnected) {
        state.hold = Hold::kNotConnected;
      } else if (end.state == VerbsEnd::State::kUnreachable) {
        state.hold = Hold::kNextHop;
      } else if (end.to_blame() || end.state != VerbsEnd::State::kOpen) {
        state.hold = Hold::kBroken;
      } else if (end.outstanding() > 0) {
        state.hold = Hold::kAnswer;
      } else if (!end.waiting.empty()) {
        state.hold = Hold::kTurn;
      } else {
        state.hold = end.oldest_offer == kNone ? Hold::kNothing : Hold::kFetch;
      }
    }
    if (ends.destination != kNone) {
      const VerbsEnd& end = ends_[ends.destination + member];
      state.source_number = end.remote.queue_pair, state.destination_number = end.number;
    }
  }
  return states;
}

}  // namespace rankwire

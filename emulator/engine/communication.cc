#include "emulator/engine/communication.h"

#include <fmt/format.h>

namespace rankwire {

Communication::Communication(const Workload& workload, const Plan& plan, const CommunicationOptions& options,
                             const Shard& shard, TimerQueue& timers, RecordSink& sink)
    : plan_(plan),
      on_failure_(options.on_failure),
      payload_keys_(options.payload_keys),
      shard_(shard),
      sink_(sink),
      locator_(workload, plan),
      arrivals_(plan),
      ties_(options.watch_ties ? TieWatch(plan.transport.connections.size(), RunningOperations::channels(plan))
                               : TieWatch()),
      causes_(sink.wants_causes() ? OperationCauses(plan) : OperationCauses()),
      wrong_(options.payload_keys == PayloadKeys::kCompared ? WrongMessages(plan) : WrongMessages()),
      operations_(workload, plan, {.bandwidth = options.reduce_bandwidth, .latency = options.reduce_latency}, timers,
                  arrivals_, ties_) {}

void Communication::posted(size_t count) noexcept {
  counters_.posted += count;
  operations_.posted(count);
}

void Communication::handle(Time now, const Event& event) noexcept {
  ties_.begin_event(event);
  switch (event.kind) {
    case EventKind::kSent:
      on_sent(event);
      break;
    case EventKind::kReceived:
      on_received(event);
      break;
    case EventKind::kFailed:
      on_failed(event, now);
      break;
  }
  ties_.end_event();
}

void Communication::on_sent(const Event& event) noexcept {
  ++counters_.sent;
  const MessagePlace place = locator_.place_of(event);
  record(event, place, event.sent.posted, event.sent.acked);
  add_causes(event, place);
  end_send(place, event.sent.acked);
}

void Communication::on_received(const Event& event) noexcept {
  const MessagePlace place = locator_.place_of(event);
  const auto arrival = arrivals_.arrive(event.connection, place.index, place.iteration);
  if (arrival == MessageArrivals::Arrival::kDuplicate) {
    ++counters_.duplicated;
    return;
  }
  ++counters_.delivered;
  if (!place.connection.control) {
    counters_.bytes_delivered += event.bytes;
    if (place.connection.path != Path::kWire) counters_.bytes_local += event.bytes;
    if (payload_keys_ == PayloadKeys::kCompared && event.bytes.count > 0) compare_payload(event, place);
  }
  record(event, place, event.received.first_rx, event.received.delivered);
  if (arrival == MessageArrivals::Arrival::kAwaited) end_receive(place, event.received.delivered);
}

void Communication::on_failed(const Event& event, Time now) noexcept {
  const MessagePlace place = locator_.place_of(event);
  if (shard_.has(event.at_source ? place.connection.source : place.connection.destination)) {
    ++counters_.failed;
    failures_.keep(event);
  }
  if (event.at_source) give_up(event, place, now);
}

void Communication::give_up(const Event& event, const MessagePlace& place, Time now) noexcept {
  const bool goes_on = on_failure_ == OnFailure::kContinue;
  if (shard_.has(place.connection.source)) {
    record(event, place, event.sent.posted, Time::never());
    add_causes(event, place);
    if (goes_on) end_send(place, now);
  }
  // The receiver may never hear of the message: it must not wait for it either.
  if (goes_on && shard_.has(place.connection.destination) &&
      arrivals_.abandon(event.connection, place.index, place.iteration))
    end_receive(place, now);
}

void Communication::end_send(const MessagePlace& place, Time at) noexcept {
  const EdgeMessages& edge = locator_.sender_of(place);
  operations_.complete(edge.slot, operations_.step_of(edge, place.index), at);
}

void Communication::end_receive(const MessagePlace& place, Time at) noexcept {
  const EdgeMessages& edge = locator_.receiver_of(place);
  operations_.complete(edge.slot, operations_.step_of(edge, place.index), at);
}

// Of data alone: the payload of a clear-to-send begins with its index, by which it has been recognised, not with a key.
void Communication::compare_payload(const Event& event, const MessagePlace& place) noexcept {
  const uint64_t mask = event.bytes.count >= 8 ? ~uint64_t{0} : (uint64_t{1} << (8 * event.bytes.count)) - 1;
  const uint64_t difference = event.received.payload_key ^ payload_key(locator_.id_of(place));
  if ((difference & mask) == 0) return;
  ++counters_.payload_errors;
  wrong_.add(place.connection.destination, locator_.receiver_of(place).node);
}

// Before the operation's last step completes.
void Communication::add_causes(const Event& event, const MessagePlace& place) noexcept {
  if (event.causes == nullptr || !causes_.on()) return;
  const EdgeMessages& edge = locator_.sender_of(place);
  causes_.add(edge.slot, operations_.edge_of(edge.slot, operations_.step_of(edge, place.index)), *event.causes);
}

void Communication::record_causes(const FinishedOperation& operation, uint32_t place, uint32_t iteration) noexcept {
  if (!causes_.on()) return;
  const NodePlan& planned = plan_.nodes[operation.rank.value][operation.node];
  for (uint32_t edge = 0; edge < plan_.schedules[planned.schedule].edges.size(); ++edge) {
    const TimeByCause spent = causes_.take(planned.slot, edge);
    if (spent == TimeByCause()) continue;
    const CauseRecord row{.rank = operation.rank,
                          .node = place,
                          .iteration = iteration,
                          .connection = plan_.edges[planned.first_edge + edge].connection,
                          .causes = spent};
    sink_.causes({&row, 1});
  }
}

void Communication::record(const Event& event, const MessagePlace& place, Time first, Time last) noexcept {
  if (!sink_.wants_messages()) return;
  const bool delivery = event.kind == EventKind::kReceived;
  const MessageRecord row{.id = locator_.id_of(place),
                          .bytes = event.bytes,
                          .at_source = !delivery,
                          .failed = event.kind == EventKind::kFailed,
                          .retransmissions = event.retransmissions,
                          .marks = delivery ? static_cast<uint32_t>(event.received.marks) : 0,
                          .first = first,
                          .last = last};
  sink_.messages({&row, 1});
}

std::map<std::string, uint64_t> Communication::wrong_messages() const {
  std::map<std::string, uint64_t> messages;
  wrong_.for_each(
      [&](RankId rank, uint32_t node, uint64_t count) { messages[locator_.node_name(rank, node)] += count; });
  return messages;
}

std::string Communication::failure_text() const {
  if (!failed()) return "";
  const Event& first = failures_.events().front();
  return fmt::format("{}: {} ({})", message_text(first), to_string(first.failure), operation_name(first));
}

}  // namespace rankwire

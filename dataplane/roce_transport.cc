#include "dataplane/roce_transport.h"

#include <algorithm>
#include <cassert>

namespace rankwire {
namespace {

constexpr size_t kReceivedEvents = 1024;
constexpr uint32_t kStandstillsInARow = 8;

ReliableOptions reliable_options(const RoceOptions& options) {
  return {.mtu = options.mtu,
          .window = options.window,
          .ack_every = options.ack_every,
          .retry_count = options.retry_count,
          .timeout = ack_timeout(options.timeout_exponent)};
}

}  // namespace

RoceTransport::RoceTransport(const RoceOptions& options, std::vector<PortBinding> ports)
    : options_(options),
      reliable_(reliable_options(options)),
      bindings_(std::move(ports)),
      received_(kReceivedEvents) {}

RoceTransport::~RoceTransport() {
  close();
}

size_t RoceTransport::post(Time now, std::span<const Message> messages) noexcept {
  last_now_ = now;
  for (size_t i = 0; i < messages.size(); ++i) {
    const Message& message = messages[i];
    const uint32_t slot = pool_->messages.take();
    if (slot == OutboundMessage::kNone) {
      counters_.post_refused += messages.size() - i;
      return i;
    }
    const uint32_t source = source_of_[message.connection.value];
    assert(source != kNone && "the connection's source is not here");
    OutboundMessage& outbound = pool_->messages[slot];
    outbound.posted = now;
    outbound.connection = message.connection;
    outbound.index = message.index;
    outbound.bytes = static_cast<uint32_t>(message.bytes.count);
    if (options_.payload == PayloadMode::kChecking) outbound.payload_key = payload_key(message.id);
    const Time deadline = requesters_[source].deadline();
    requesters_[source].post(*pool_, slot);
    after_step(source, deadline);
  }
  return messages.size();
}

size_t RoceTransport::poll(Time now, std::span<Event> events) noexcept {
  last_now_ = now;
  note_standstill(now);
  for (uint32_t lane = 0; lane < lanes_.size(); ++lane) receive(lane, now);
  expire(now);
  for (TransmitLane& lane : lanes_) transmit(lane, now);
  const size_t received = received_.pop(events);
  const size_t reported = received + report_finished(events.subspan(received));
  reported_ += reported;
  return reported;
}

Time RoceTransport::next_event() const noexcept {
  if (received_.size() > 0 || (pool_ && !pool_->finished.empty())) return last_now_;
  Time next = deadlines_.empty() ? Time::never() : expiry(deadlines_.front());
  for (const TransmitLane& lane : lanes_) next = std::min({next, lane.wake(), lane.port().next_event()});
  return next;
}

void RoceTransport::note_standstill(Time now) noexcept {
  const bool stood_still = now - last_poll_ > options_.standstill;
  last_poll_ = now;
  standstills_ = stood_still ? standstills_ + 1 : 0;
  // A loop that is always this slow must still notice losses.
  if (stood_still && standstills_ <= kStandstillsInARow) hold_until_ = now + reliable_.timeout;
}

// When the requester's time-out fires: its deadline, or later after a standstill.
Time RoceTransport::expiry(uint32_t source) const noexcept {
  return std::max(requesters_[source].deadline(), hold_until_);
}

void RoceTransport::expire(Time now) noexcept {
  while (!deadlines_.empty()) {
    const uint32_t source = deadlines_.front();
    if (expiry(source) > now) return;
    const Time deadline = requesters_[source].deadline();
    ++counters_.timeouts;
    ++flows_[sources_[source].connection.value].timeouts;
    requesters_[source].expire(*pool_);
    after_step(source, deadline);
  }
}

// A requester has changed: puts it where its deadline and its turn to send are found.
void RoceTransport::after_step(uint32_t source, Time deadline_before) noexcept {
  const Requester& requester = requesters_[source];
  const Time deadline = requester.deadline();
  if (deadline == Time::never()) {
    deadlines_.remove(source);
  } else if (deadline != deadline_before) {
    deadlines_.move_to_back(source);
  }
  if (requester.can_send(reliable_)) lanes_[sources_[source].lane].senders.push(source);
}

void RoceTransport::transmit(TransmitLane& lane, Time now) noexcept {
  if (!lane.begin(now)) return;
  while (transmit_reply(lane, now) || transmit_data(lane, now)) {
  }
  lane.finish(now);
}

bool RoceTransport::transmit_reply(TransmitLane& lane, Time now) noexcept {
  if (lane.repliers.empty()) return false;
  const std::span<Frame> frames = lane.next_frames(now, kAcknowledgementBytes, 1);
  if (frames.empty()) return false;
  const uint32_t destination = lane.repliers.pop();
  const Acknowledgement acknowledgement = responders_[destination].take_reply();
  write_acknowledgement(reply_headers_[destination], acknowledgement, frames[0]);
  if (acknowledgement.syndrome == static_cast<uint8_t>(Syndrome::kNakSequence)) ++counters_.naks_tx;
  ++counters_.packets_tx;
  counters_.bytes_tx += kAcknowledgementBytes;
  lane.stage(1);
  return true;
}

bool RoceTransport::transmit_data(TransmitLane& lane, Time now) noexcept {
  while (!lane.senders.empty() && !requesters_[lane.senders.front()].can_send(reliable_)) {
    lane.senders.pop();
    lane.run = 0;
  }
  if (lane.senders.empty()) return false;

  const uint32_t source = lane.senders.front();
  Requester& requester = requesters_[source];
  RequestRun run = requester.next_run(*pool_, TransmitLane::kRun - lane.run);
  const uint32_t length = RequestWriter::frame_length(run);
  const std::span<Frame> frames = lane.next_frames(now, length, run.count);
  if (frames.empty()) return false;

  run.count = static_cast<uint32_t>(frames.size());
  writer_->write(request_headers_[source], sources_[source].memory, pool_->messages[run.message], run, frames);
  lane.stage(run.count);
  counters_.bytes_tx += uint64_t{length} * run.count;
  count_requests(source, run);
  const Time deadline = requester.deadline();
  requester.sent(*pool_, run, now);
  lane.run += run.count;
  if (lane.run >= TransmitLane::kRun || !requester.can_send(reliable_)) {
    lane.senders.pop();
    lane.run = 0;
    prefetch_turns(lane.senders);
  }
  after_step(source, deadline);
  return true;
}

// Thousands of queue pairs that send in turns do not fit into the inner caches. One turn ahead it is known which
// message is next, two turns ahead which queue pair.
void RoceTransport::prefetch_turns(const IndexQueue& senders) const noexcept {
  if (senders.size() < 3) return;
  const uint32_t next = senders.at(1);
  if (const uint32_t message = requesters_[next].next_message(); message != OutboundMessage::kNone)
    pool_->messages.prefetch(message);
  __builtin_prefetch(&flows_[sources_[next].connection.value], 1);
  const uint32_t after_next = senders.at(2);
  __builtin_prefetch(&requesters_[after_next], 1);
  __builtin_prefetch(&request_headers_[after_next]);
  __builtin_prefetch(&sources_[after_next]);
}

void RoceTransport::count_requests(uint32_t source, const RequestRun& run) noexcept {
  FlowCounters& flow = flows_[sources_[source].connection.value];
  counters_.packets_tx += run.count;
  counters_.data_packets_tx += run.count;
  flow.packets += run.count;
  if (run.retransmission) {
    counters_.retransmitted += run.count;
    flow.retransmitted += run.count;
  }
}

size_t RoceTransport::report_finished(std::span<Event> events) noexcept {
  if (!pool_) return 0;
  size_t n = 0;
  for (; n < events.size() && !pool_->finished.empty(); ++n) {
    const uint32_t slot = pool_->finished.pop_front(pool_->messages);
    const OutboundMessage& message = pool_->messages[slot];
    const bool sent = message.failure == Failure::kNone;
    Event& event = events[n];
    event.kind = sent ? EventKind::kSent : EventKind::kFailed;
    event.failure = message.failure;
    event.at_source = true;
    event.connection = message.connection;
    event.index = message.index;
    event.retransmissions = message.retransmissions;
    event.bytes = Bytes(message.bytes);
    event.sent = {message.posted, message.first_tx, message.last_tx, message.acked};
    ++(sent ? counters_.messages_sent : counters_.messages_failed);
    if (sent) {
      FlowCounters& flow = flows_[message.connection.value];
      ++flow.messages;
      flow.bytes += message.bytes;
    }
    pool_->messages.give_back(slot);
  }
  return n;
}

TransportCounters RoceTransport::counters() const {
  TransportCounters counters = counters_;
  for (const TransmitLane& lane : lanes_) {
    const Pacer& pacer = lane.pacer();
    counters.stalls += pacer.stalls();
    counters.worst_stall = std::max(counters.worst_stall, pacer.worst_stall());
    counters.slipped = std::max(counters.slipped, pacer.slipped());
  }
  return counters;
}

std::vector<FlowCounters> RoceTransport::flows() const {
  return flows_;
}

std::vector<PortCounters> RoceTransport::ports() const {
  std::vector<PortCounters> ports;
  for (const PortBinding& binding : bindings_) {
    ports.push_back(binding.port->counters());
    ports.back().port = binding.id;
  }
  return ports;
}

void RoceTransport::close() noexcept {
  for (TransmitLane& lane : lanes_) lane.close();
}

}  // namespace rankwire

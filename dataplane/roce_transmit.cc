// RoceTransport's transmitting side.
#include <array>
#include <bit>
#include <cstring>

#include "dataplane/rendezvous.h"
#include "dataplane/roce_transport.h"

namespace rankwire {
namespace {

using Purpose = RequestContext::Purpose;

/// Of an ARP packet. Neighbour solicitations are a little longer; echo replies may be much longer, but are rare.
constexpr uint32_t kDiscoveryFrame = 60;

/// Two cache lines.
template <class T>
void prefetch_whole(const T& object) noexcept {
  static_assert(sizeof(T) == 128 && alignof(T) == 64);
  __builtin_prefetch(&object, 1);
  __builtin_prefetch(reinterpret_cast<const uint8_t*>(&object) + 64, 1);
}

}  // namespace

void RoceTransport::transmit(uint32_t lane_index, Time now) noexcept {
  TransmitLane& lane = lanes_[lane_index];
  Port& port = *ports_[port_of_lane_[lane_index]];
  if (port.first_lane == lane_index) {
    // Deadlines pass whether or not the port takes frames.
    if (port.neighbours.next_event() <= now) port.neighbours.write(now, {});
    lane.discovery_due = port.neighbours.next_event();
  }
  if (!lane.begin(now)) return;
  if (lane.discovery_due <= now) transmit_discovery(lane, port.neighbours, now);
  while (transmit_reply(lane, now) || transmit_turn(lane, now)) {
  }
  lane.finish(now);
}

// Announcements, requests and answers of the port's NICs.
void RoceTransport::transmit_discovery(TransmitLane& lane, Neighbours& neighbours, Time now) noexcept {
  while (neighbours.next_event() <= now) {
    const std::span<Frame> frames = lane.next_frames(now, kDiscoveryFrame, 1);
    if (frames.empty() || neighbours.write(now, frames) == 0) break;
    lane.stage(1);
  }
  lane.discovery_due = neighbours.next_event();
}

// A queue pair's turn to answer READs and one's turn to send requests alternate, whenever the line has a slot.
bool RoceTransport::transmit_turn(TransmitLane& lane, Time now) noexcept {
  if (lane.readers.empty()) return transmit_data(lane, now);
  if (lane.after_response && transmit_data(lane, now)) {
    lane.after_response = false;
    return true;
  }
  if (!transmit_response(lane, now)) return false;
  lane.after_response = true;
  return true;
}

bool RoceTransport::transmit_reply(TransmitLane& lane, Time now) noexcept {
  if (lane.answers.empty() && lane.repliers.empty()) return false;
  const uint32_t queue_pair = lane.answers.empty() ? lane.repliers.front() : lane.answers.front().queue_pair;
  const HeaderTemplate& path = templates_[queue_pair];
  const uint32_t length = frame_bytes(path, Opcode::kAcknowledge, 0);
  const std::span<Frame> frames = lane.next_frames(now, length, 1);
  if (frames.empty()) return false;
  Acknowledgement acknowledgement;
  if (!lane.answers.empty()) {
    acknowledgement = lane.answers.pop().acknowledgement;
  } else {
    lane.repliers.pop();
    // A READ that arrived meanwhile goes first.
    if (!responders_[queue_pair].reply_owed()) return true;
    acknowledgement = responders_[queue_pair].take_reply();
  }
  write_acknowledgement(path, acknowledgement, frames[0]);
  count_answer(acknowledgement.syndrome);
  ++counters_.packets_tx;
  counters_.bytes_tx += length;
  lane.stage(1);
  return true;
}

void RoceTransport::count_answer(uint8_t syndrome) noexcept {
  if (syndrome == static_cast<uint8_t>(Syndrome::kNakSequence)) ++counters_.naks_tx;
  if ((syndrome & kSyndromeTypeMask) == kSyndromeTypeNotReady) ++counters_.rnr_naks_tx;
}

bool RoceTransport::transmit_response(TransmitLane& lane, Time now) noexcept {
  if (lane.readers.empty()) return false;
  const uint32_t queue_pair = lane.readers.front();
  Responder& responder = responders_[queue_pair];
  // What was asked for before a request that is refused is still answered; a queue pair that failed itself is silent.
  if (ends_[queue_pair].failed && responder.state() == Responder::State::kReady) {
    lane.readers.pop();
    return true;
  }
  const HeaderTemplate& path = templates_[queue_pair];
  ResponseRun run = responder.next_response(responder_options_, TransmitLane::kRun);
  const uint32_t length = frame_bytes(path, run.opcode, run.length);
  const std::span<Frame> frames = lane.next_frames(now, length, run.count);
  if (frames.empty()) return false;
  run.count = static_cast<uint32_t>(frames.size());
  write_response(queue_pair, run, now, frames);
  lane.stage(run.count);
  count_data(queue_pair, run.count, length);
  responder.responded(run);
  lane.readers.pop();
  owe_answer(queue_pair);
  return true;
}

// What a READ finds is the offered message that its address names, else a payload of key 0.
void RoceTransport::write_response(uint32_t queue_pair, const ResponseRun& run, Time now,
                                   std::span<Frame> frames) noexcept {
  uint64_t key = 0;
  uint64_t offset = run.region_offset;
  if (options_.verb == DataVerb::kRead && ends_[queue_pair].at_source) {
    Offer& offer = offers_[static_cast<uint32_t>(offset / kOfferStride)];
    offset %= kOfferStride;
    key = offer.payload_key;
    offer.last_tx = now;
  }
  writer_->write(templates_[queue_pair], key, static_cast<uint32_t>(offset) + run.offset, run, frames);
}

bool RoceTransport::transmit_data(TransmitLane& lane, Time now) noexcept {
  while (!lane.senders.empty() && !requesters_[lane.senders.front()].can_send(reliable_)) {
    lane.senders.pop();
    lane.run = 0;
  }
  if (lane.senders.empty()) return false;

  const uint32_t queue_pair = lane.senders.front();
  const HeaderTemplate& path = templates_[queue_pair];
  Requester& requester = requesters_[queue_pair];
  RequestRun run = requester.next_run(*pool_, TransmitLane::kRun - lane.run);
  const uint32_t length = frame_bytes(path, run.opcode, run.length);
  const std::span<Frame> frames = lane.next_frames(now, length, run.count);
  if (frames.empty()) return false;

  run.count = static_cast<uint32_t>(frames.size());
  write_request(path, run, frames);
  lane.stage(run.count);
  count_request(queue_pair, run, length);
  const Time deadline = requester.deadline();
  requester.sent(*pool_, run, now);
  lane.run += run.count;
  if (lane.run >= TransmitLane::kRun || !requester.can_send(reliable_)) {
    lane.senders.pop();
    lane.run = 0;
    prefetch_turns(lane.senders);
  }
  after_step(queue_pair, now, deadline);
  return true;
}

void RoceTransport::write_request(const HeaderTemplate& path, const RequestRun& run,
                                  std::span<Frame> frames) const noexcept {
  const OutboundMessage& message = pool_->messages[run.message];
  if (!RequestContext(message).own_payload()) return writer_->write(path, message, run, frames);
  std::array<uint8_t, kMaxControlBytes> bytes;
  write_own_payload(message, bytes);
  writer_->write(path, message, run, std::span(bytes).first(run.length), frames[0]);
}

void RoceTransport::write_own_payload(const OutboundMessage& message,
                                      std::span<uint8_t, kMaxControlBytes> bytes) const noexcept {
  const RequestContext context(message);
  if (context.purpose() == Purpose::kReadyToSend) {
    const Offer& offer = offers_[context.subject()];
    const EndPoint local = end_point(message.queue_pair);
    const ReadyToSend ready{Be32(offer.index), Be32(context.subject()),
                            Be64(local.address + context.subject() * kOfferStride), Be32(local.rkey),
                            Be32(offer.bytes)};
    std::memcpy(bytes.data(), &ready, sizeof ready);
  } else if (context.purpose() == Purpose::kGetFinished) {
    const GetFinished finished{Be32(gets_[context.subject()].cookie)};
    std::memcpy(bytes.data(), &finished, sizeof finished);
  } else {
    const std::array<uint32_t, 2> words{message.immediate, 0};
    static_assert(std::endian::native == std::endian::little);
    std::memcpy(bytes.data(), words.data(), sizeof words);
    write_payload(message.payload_key, 0, bytes.subspan(sizeof words));
  }
}

// Thousands of queue pairs that send in turns do not fit into the inner caches. One turn ahead it is known which
// message is next, two turns ahead which queue pair.
void RoceTransport::prefetch_turns(const IndexQueue& senders) const noexcept {
  if (senders.size() < 3) return;
  const uint32_t next = senders.at(1);
  if (const uint32_t message = requesters_[next].next_message(); message != OutboundMessage::kNone)
    pool_->messages.prefetch(message);
  __builtin_prefetch(&flow_counters_[next], 1);
  const uint32_t after_next = senders.at(2);
  prefetch_whole(requesters_[after_next]);
  prefetch_whole(templates_[after_next]);
  __builtin_prefetch(&ends_[after_next]);
}

void RoceTransport::count_request(uint32_t queue_pair, const RequestRun& run, uint32_t length) noexcept {
  if (run.opcode == Opcode::kReadRequest) {
    counters_.read_requests_tx += run.count;
    counters_.packets_tx += run.count;
    counters_.bytes_tx += uint64_t{length} * run.count;
  } else {
    count_data(queue_pair, run.count, length);
  }
  if (run.retransmission) {
    counters_.retransmitted += run.count;
    flow_counters_[queue_pair].retransmitted += run.count;
  }
}

void RoceTransport::count_data(uint32_t queue_pair, uint32_t packets, uint32_t length) noexcept {
  counters_.packets_tx += packets;
  counters_.data_packets_tx += packets;
  counters_.bytes_tx += uint64_t{length} * packets;
  flow_counters_[queue_pair].packets += packets;
  if (options_.payload == PayloadMode::kChecking) counters_.payload_copies += packets;
}

}  // namespace rankwire

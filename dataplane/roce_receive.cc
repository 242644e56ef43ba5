// RoceTransport's receiving side.
#include <cstring>

#include "dataplane/roce_transport.h"

namespace rankwire {
namespace {

// A frame belongs to the queue pair that sends with `own` headers when its addresses are those the other way round.
bool is_addressed_to(const BaseHeader& own, const BaseHeader& received) {
  return std::memcmp(&received.ethernet.destination, &own.ethernet.source, sizeof(MacAddress)) == 0 &&
         received.ip.destination.value() == own.ip.source.value() &&
         received.ip.source.value() == own.ip.destination.value();
}

constexpr bool has_immediate(Opcode opcode) {
  return opcode == Opcode::kWriteLastImmediate || opcode == Opcode::kWriteOnlyImmediate;
}

}  // namespace

void RoceTransport::receive(uint32_t lane, Time now) noexcept {
  // A frame delivers at most one message. Frames that find no room wait in the port.
  if (received_.capacity() - received_.size() < TransmitLane::kBurst) return;
  std::array<Frame, TransmitLane::kBurst> frames;
  FramePort& port = lanes_[lane].port();
  const size_t n = port.receive(now, frames);
  for (size_t i = 0; i < n; ++i) accept(lane, frames[i], now);
  if (n > 0) port.release({frames.data(), n});
}

void RoceTransport::accept(uint32_t lane, const Frame& frame, Time now) noexcept {
  const ParsedPacket packet = parse(frame);
  if (is_foreign(packet.reject)) return count_reject(packet.reject);
  ++counters_.packets_rx;
  counters_.bytes_rx += frame.length();
  if (packet.reject != Reject::kNone) return count_reject(packet.reject);
  if (!icrc_matches(frame, packet)) {
    ++counters_.icrc_errors;
    return;
  }
  switch (packet.opcode) {
    case Opcode::kCongestionNotification:
      ++counters_.cnp_rx;
      return;
    case Opcode::kAcknowledge:
      return on_acknowledgement(lane, packet, now);
    default:
      return on_request(lane, packet, frame.arrival);
  }
}

void RoceTransport::count_reject(Reject reject) noexcept {
  ++roce_.rejects[static_cast<size_t>(reject)];
  if (reject == Reject::kArp) {
    ++roce_.arp_rx;
  } else if (is_foreign(reject)) {
    ++roce_.foreign;
  } else {
    ++counters_.malformed;
  }
}

void RoceTransport::on_acknowledgement(uint32_t lane, const ParsedPacket& packet, Time now) noexcept {
  const uint32_t source = packet.destination_qp - kFirstQueuePair;
  if (source >= requesters_.size()) {
    ++counters_.unknown_qp;
    return;
  }
  if (sources_[source].lane != lane || !is_addressed_to(request_headers_[source].header, *packet.header)) {
    ++roce_.misdirected;
    return;
  }
  if (packet.ecn == Ecn::kCongestionExperienced) ++counters_.ecn_ce_rx;
  if (packet.syndrome == static_cast<uint8_t>(Syndrome::kNakSequence)) {
    ++counters_.naks;
    ++flows_[sources_[source].connection.value].naks;
  }
  const Time deadline = requesters_[source].deadline();
  const Acknowledgement acknowledgement{.psn = packet.psn, .msn = packet.msn, .syndrome = packet.syndrome};
  const AckOutcome outcome = requesters_[source].acknowledge(*pool_, now, acknowledgement);
  if (outcome == AckOutcome::kStale) ++roce_.stale_acks;
  if (outcome == AckOutcome::kGhost) ++roce_.ghost_acks;
  after_step(source, deadline);
}

void RoceTransport::on_request(uint32_t lane, const ParsedPacket& packet, Time arrival) noexcept {
  const uint32_t destination = packet.destination_qp - kFirstQueuePair - static_cast<uint32_t>(requesters_.size());
  if (destination >= responders_.size()) {
    ++counters_.unknown_qp;
    return;
  }
  DestinationEnd& end = destinations_[destination];
  if (end.lane != lane || !is_addressed_to(reply_headers_[destination].header, *packet.header)) {
    ++roce_.misdirected;
    return;
  }
  ++counters_.data_packets_rx;
  if (packet.ecn == Ecn::kCongestionExperienced) ++counters_.ecn_ce_rx;
  const Reception reception = responders_[destination].receive(packet, options_.mtu);
  switch (reception.arrival) {
    case Arrival::kAccepted:
      on_payload(destination, packet, reception, arrival);
      break;
    case Arrival::kDuplicate:
      ++counters_.duplicate_packets;
      break;
    case Arrival::kGap:
    case Arrival::kAhead:
      ++counters_.out_of_sequence;
      break;
    case Arrival::kRefused:
      ++roce_.refused;
      break;
    case Arrival::kDropped:
      break;
  }
  if (responders_[destination].reply_owed()) lanes_[lane].repliers.push(destination);
}

void RoceTransport::on_payload(uint32_t destination, const ParsedPacket& packet, const Reception& reception,
                               Time arrival) noexcept {
  DestinationEnd& end = destinations_[destination];
  if (reception.first) {
    end.first_rx = arrival;
    end.marks = 0;
  }
  if (packet.ecn == Ecn::kCongestionExperienced) {
    ++end.marks;
    ++flows_[end.connection.value].marks;
  }
  if (options_.payload == PayloadMode::kChecking)
    end.check.add(reception.offset, {packet.payload, packet.payload_length});
  if (reception.last && has_immediate(packet.opcode)) deliver(destination, packet, reception, arrival);
}

void RoceTransport::deliver(uint32_t destination, const ParsedPacket& packet, const Reception& reception,
                            Time arrival) noexcept {
  DestinationEnd& end = destinations_[destination];
  Event event;
  event.kind = EventKind::kReceived;
  event.at_source = false;
  event.connection = end.connection;
  event.index = packet.immediate;
  event.bytes = Bytes(reception.message_bytes);
  event.received = {.first_rx = end.first_rx, .delivered = arrival, .payload_key = 0, .marks = end.marks};
  if (options_.payload == PayloadMode::kChecking) {
    event.received.payload_key = end.check.matches() ? end.check.key() : ~end.check.key();
    if (!end.check.matches()) ++counters_.payload_errors;
  }
  received_.push({&event, 1});
  ++end.delivered;
  ++counters_.messages_delivered;
}

}  // namespace rankwire

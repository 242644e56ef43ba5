// RoceTransport's transmitting side.
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "dataplane/protocol/rendezvous.h"
#include "dataplane/roce/transport.h"

namespace rankwire {
namespace {

using Purpose = RequestContext::Purpose;

/// Of an ARP packet. Neighbour solicitations are a little longer; echo replies may be much longer, but are rare.
constexpr uint32_t kDiscoveryFrame = 60;

/// The shape of a frame that was written from `place` - kHeaderRoom on, a short one moved so that it ends at `place`.
FrameShape fit_around(uint8_t* place, const Frame& frame) noexcept {
  const uint32_t length = frame.head_length;
  if (length < kHeaderRoom) std::memmove(place - length, frame.head, length);
  const uint32_t in_front = std::min(length, kHeaderRoom);
  return {.payload_length = length - in_front, .header_length = static_cast<uint16_t>(in_front)};
}

}  // namespace

void RoceTransport::transmit(uint32_t lane_index, Time now) noexcept {
  TransmitLane& lane = (*lanes_)[lane_index];
  Port& port = lanes_->port_of(lane_index);
  if (port.first_lane == lane_index) {
    // Deadlines pass whether or not the port takes frames.
    lane.discovery_due = port.neighbours.next_event();
    if (lane.discovery_due <= now) {
      port.neighbours.write(now, {});
      lane.discovery_due = port.neighbours.next_event();
    }
    if (port.buffer && bindings_[lane_index].pause != PauseMode::kOff) lane.pause_due = port.buffer->pause_due();
  }
  if (const PrioritySet paused = port.pauses.paused(now); (paused | lane.paused()) != 0) [[unlikely]]
    lane.hold(paused, port.pauses.next_expiry(now));
  if (paced_) order_->release(lane_index, now);
  if (!lane.begin(now)) return;
  if (lane.pause_due <= now) transmit_pause(lane, port, now);
  if (lane.discovery_due <= now && lane.may_send(lane.priorities().discovery))
    transmit_discovery(lane, port.neighbours, now);
  if (lane.owes_notification) transmit_notifications(lane_index, now);
  for (bool go_on = true; go_on && lane.has_work();) {
    if (lane.owes_answer()) {
      go_on = transmit_reply(lane, now);
    } else if (lane.readers.empty()) {
      go_on = paced_ ? transmit_controlled(lane, now) : transmit_turns(lane, now);
    } else {
      go_on = transmit_next(lane, now);
    }
  }
  lane.finish(now);
}

// Announcements, requests and answers of the port's NICs.
void RoceTransport::transmit_discovery(TransmitLane& lane, Neighbours& neighbours, Time now) noexcept {
  while (neighbours.next_event() <= now) {
    const std::span<const FrameBuffer> buffers = lane.next_frames(now, kDiscoveryFrame, 1);
    if (buffers.empty()) break;
    Frame frame;
    uint8_t* const place = lane.capabilities().place(buffers[0]);
    frame.head = place - kHeaderRoom;
    if (neighbours.write(now, {&frame, 1}) == 0) break;
    lane.stage(1, fit_around(place, frame));
  }
  lane.discovery_due = neighbours.next_event();
}

// A queue pair's turn to answer READs and one's turn to send requests alternate, whenever the line has a slot. Like the
// other ways to transmit: false when there was no frame for it. With congestion control a queue pair sends both in its
// own turns.
bool RoceTransport::transmit_next(TransmitLane& lane, Time now) noexcept {
  if (!lane.pacer().due(now)) return false;
  const bool sends = !lane.senders.empty() && lane.after_response;
  lane.after_response = !sends;
  return sends ? transmit_turn(lane, now) : transmit_reader(lane, now);
}

bool RoceTransport::transmit_run(TransmitLane& lane, uint32_t queue_pair, uint32_t limit, Time now) noexcept {
  const HeaderTemplate& path = pairs_->templates[queue_pair];
  Requester& requester = pairs_->requesters[queue_pair];
  RequestRun run = requester.next_run(outbound_->pool, limit);
  const OutboundMessage& message = outbound_->pool.messages[run.message];
  const bool own_payload = RequestContext(message).own_payload();
  const FrameShape shape = own_payload ? RequestWriter::own_shape(path, run.opcode, run.length)
                                       : codec_->writer.shape(path, run.opcode, run.length);
  const std::span<const FrameBuffer> buffers = lane.next_frames(now, shape.length(), run.count);
  if (buffers.empty()) return false;
  run.count = static_cast<uint32_t>(buffers.size());
  if (own_payload) {
    std::array<uint8_t, kMaxControlBytes> bytes;
    write_own_payload(message, bytes);
    codec_->writer.write(path, message, run, std::span(bytes).first(run.length), lane.capabilities().place(buffers[0]));
  } else {
    codec_->writer.write(path, message, run, buffers, lane.capabilities());
  }
  lane.stage(run.count, shape);
  lane.run += run.count;
  counters_->count_request(queue_pair, run, shape.length());
  const Time deadline = requester.deadline();
  requester.sent(outbound_->pool, run, now);
  if (run.ack_request) steps_->note_deadline(queue_pair, now, deadline);
  return true;
}

void RoceTransport::write_own_payload(const OutboundMessage& message,
                                      std::span<uint8_t, kMaxControlBytes> bytes) const noexcept {
  const RequestContext context(message);
  if (context.purpose() == Purpose::kReadyToSend) {
    const Offer& offer = outbound_->offers[context.subject()];
    const EndPoint local = pairs_->end_point(message.queue_pair);
    const ReadyToSend ready{Be32(offer.index), Be32(context.subject()),
                            Be64(local.address + context.subject() * kOfferStride), Be32(local.rkey),
                            Be32(offer.bytes)};
    std::memcpy(bytes.data(), &ready, sizeof ready);
  } else if (context.purpose() == Purpose::kGetFinished) {
    const GetFinished finished{Be32(outbound_->gets[context.subject()].cookie)};
    std::memcpy(bytes.data(), &finished, sizeof finished);
  } else {
    const std::array<uint32_t, 2> words{message.immediate, 0};
    static_assert(std::endian::native == std::endian::little);
    std::memcpy(bytes.data(), words.data(), sizeof words);
    write_payload(message.payload_key, 0, bytes.subspan(sizeof words));
  }
}

}  // namespace rankwire

#include "dataplane/roce/request_sender.h"

#include <array>
#include <bit>
#include <cstring>

#include "dataplane/protocol/rendezvous.h"

namespace rankwire {
namespace {

using Purpose = RequestContext::Purpose;

}  // namespace

bool RequestSender::transmit_up_to(TransmitLane& lane, uint32_t queue_pair, uint32_t turn, Time now) noexcept {
  const Time begin = lane.pacer().schedule();
  Requester& requester = tables_.requesters[queue_pair];
  const bool again = requester.next_psn() != requester.end_psn();
  bool has_frames = true;
  while (has_frames && lane.run < turn) {
    const uint32_t packets = short_way_ ? requester.new_packets(reliable_, turn - lane.run) : 0;
    if (packets > 0) {
      has_frames = transmit_new(lane, queue_pair, packets, now);
    } else if (requester.can_send(reliable_)) {
      has_frames = transmit_run(lane, queue_pair, turn - lane.run, now);
    } else {
      break;
    }
  }
  if (causes_.on()) causes_.note_transmission(queue_pair, lane.pacer().schedule() - begin, now, again);
  return has_frames;
}

// Packets of one message, none of them out of the ordinary (see Requester::new_packets).
bool RequestSender::transmit_new(TransmitLane& lane, uint32_t queue_pair, uint32_t limit, Time now) noexcept {
  const uint32_t longest = writer_.middle_shape(tables_.templates[queue_pair]).length() + uint32_t{sizeof(Reth)};
  const FrameBuffers buffers = lane.next_frames(now, longest, limit);
  if (buffers.empty()) return false;
  if (tables_.requesters[queue_pair].whole_message(reliable_) == buffers.size()) {
    transmit_message(lane, queue_pair, buffers, now);
  } else {
    transmit_ends(lane, queue_pair, buffers, now);
  }
  lane.run += static_cast<uint32_t>(buffers.size());
  return true;
}

[[gnu::noinline]] bool RequestSender::transmit_end(TransmitLane& lane, uint32_t queue_pair, FrameBuffer buffer,
                                                   Time now) noexcept {
  const HeaderTemplate& path = tables_.templates[queue_pair];
  Requester& requester = tables_.requesters[queue_pair];
  const OutboundMessage& message = outbound_.pool.messages[requester.next_message()];
  const FramePort::Capabilities& port = lane.capabilities();
  if (requester.at_first()) {
    stage_data(lane, 1, writer_.first_shape(path, message.verb));
    writer_.write_first(path, message, tables_.ends[queue_pair].remote, requester.next_psn(), buffer,
                        writer_.place_in(port));
    requester.new_packets_sent(outbound_.pool, 1, now);
  } else {
    if (message.next != OutboundMessage::kNone) outbound_.pool.messages.prefetch(message.next);
    const Time deadline = requester.deadline();
    stage_data(lane, 1, writer_.last_shape(path, message));
    writer_.write_last(path, message, requester.next_psn(), buffer, port);
    requester.new_packets_sent(outbound_.pool, 1, now);
    steps_.note_deadline(queue_pair, now, deadline);
  }
  return requester.can_send(reliable_);
}

bool RequestSender::transmit_run(TransmitLane& lane, uint32_t queue_pair, uint32_t limit, Time now) noexcept {
  const HeaderTemplate& path = tables_.templates[queue_pair];
  Requester& requester = tables_.requesters[queue_pair];
  RequestRun run = requester.next_run(outbound_.pool, limit);
  const OutboundMessage& message = outbound_.pool.messages[run.message];
  const bool own_payload = RequestContext(message).own_payload();
  const FrameShape shape = own_payload ? RequestWriter::own_shape(path, run.opcode, run.length)
                                       : writer_.shape(path, run.opcode, run.length);
  const std::span<const FrameBuffer> buffers = lane.next_frames(now, shape.length(), run.count);
  if (buffers.empty()) return false;
  run.count = static_cast<uint32_t>(buffers.size());
  if (own_payload) {
    std::array<uint8_t, kMaxControlBytes> bytes;
    write_own_payload(message, bytes);
    writer_.write(path, message, run, std::span(bytes).first(run.length), lane.capabilities().place(buffers[0]));
  } else {
    writer_.write(path, message, run, buffers, lane.capabilities());
  }
  lane.stage(run.count, shape);
  lane.run += run.count;
  counters_.count_request(queue_pair, run, shape.length());
  const Time deadline = requester.deadline();
  requester.sent(outbound_.pool, run, now);
  if (run.ack_request) steps_.note_deadline(queue_pair, now, deadline);
  return true;
}

void RequestSender::write_own_payload(const OutboundMessage& message,
                                      std::span<uint8_t, kMaxControlBytes> bytes) const noexcept {
  const RequestContext context(message);
  if (context.purpose() == Purpose::kReadyToSend) {
    const Offer& offer = outbound_.offers[context.subject()];
    const EndPoint local = pairs_.end_point(message.queue_pair);
    const ReadyToSend ready{Be32(offer.index), Be32(context.subject()),
                            Be64(local.address + context.subject() * kOfferStride), Be32(local.rkey),
                            Be32(offer.bytes)};
    std::memcpy(bytes.data(), &ready, sizeof ready);
  } else if (context.purpose() == Purpose::kGetFinished) {
    const GetFinished finished{Be32(outbound_.gets[context.subject()].cookie)};
    std::memcpy(bytes.data(), &finished, sizeof finished);
  } else {
    const std::array<uint32_t, 2> words{message.immediate, 0};
    static_assert(std::endian::native == std::endian::little);
    std::memcpy(bytes.data(), words.data(), sizeof words);
    write_payload(message.payload_key, 0, bytes.subspan(sizeof words));
  }
}

}  // namespace rankwire

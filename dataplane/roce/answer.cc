// RoceTransport's answers: acknowledgements and READ responses.
#include "dataplane/protocol/rendezvous.h"
#include "dataplane/roce/transport.h"

namespace rankwire {

bool RoceTransport::transmit_reply(TransmitLane& lane, Time now) noexcept {
  const uint32_t queue_pair = lane.answers.empty() ? lane.repliers.front() : lane.answers.front().queue_pair;
  const HeaderTemplate& path = templates_[queue_pair];
  const FrameShape shape = acknowledgement_shape(path);
  const std::span<const FrameBuffer> buffers = lane.next_frames(now, shape.length(), 1);
  if (buffers.empty()) return false;
  Acknowledgement acknowledgement;
  if (!lane.answers.empty()) {
    acknowledgement = lane.answers.pop().acknowledgement;
  } else {
    lane.repliers.pop();
    // A READ that arrived meanwhile goes first.
    if (!responders_[queue_pair].reply_owed()) return true;
    acknowledgement = responders_[queue_pair].take_reply();
  }
  write_acknowledgement(*pattern_icrc_, path, acknowledgement, lane.capabilities().place(buffers[0]));
  count_answer(acknowledgement.syndrome);
  ++answers_tx_;
  counters_.bytes_tx += shape.length();
  lane.stage(1, shape);
  return true;
}

void RoceTransport::count_answer(uint8_t syndrome) noexcept {
  if (syndrome == static_cast<uint8_t>(Syndrome::kNakSequence)) ++counters_.naks_tx;
  if ((syndrome & kSyndromeTypeMask) == kSyndromeTypeNotReady) ++counters_.rnr_naks_tx;
}

// The turn of the first of the readers.
bool RoceTransport::transmit_reader(TransmitLane& lane, Time now) noexcept {
  const uint32_t queue_pair = lane.readers.front();
  if (!owes_response(queue_pair)) {
    lane.readers.pop();
    return true;
  }
  if (transmit_response(lane, queue_pair, options_.turn, now) == 0) return false;
  lane.readers.pop();
  owe_answer(queue_pair);
  return true;
}

// What was asked for before a request that is refused is still answered; a queue pair that failed itself is silent.
bool RoceTransport::owes_response(uint32_t queue_pair) const noexcept {
  const Responder& responder = responders_[queue_pair];
  return responder.response_pending() && !(ends_[queue_pair].failed && responder.state() == Responder::State::kReady);
}

// Packets of the oldest READ's response, at most `limit`; how many. 0: there was no frame for them.
uint32_t RoceTransport::transmit_response(TransmitLane& lane, uint32_t queue_pair, uint32_t limit, Time now) noexcept {
  Responder& responder = responders_[queue_pair];
  ResponseRun run = responder.next_response(responder_options_, limit);
  const FrameShape shape = writer_->shape(templates_[queue_pair], run.opcode, run.length);
  const std::span<const FrameBuffer> buffers = lane.next_frames(now, shape.length(), run.count);
  if (buffers.empty()) return 0;
  run.count = static_cast<uint32_t>(buffers.size());
  write_response(queue_pair, run, now, buffers, lane.capabilities());
  stage_data(lane, run.count, shape);
  ends_[queue_pair].packets += run.count;
  responder.responded(run);
  return run.count;
}

// What a READ finds is the offered message that its address names, else a payload of key 0.
void RoceTransport::write_response(uint32_t queue_pair, const ResponseRun& run, Time now,
                                   std::span<const FrameBuffer> buffers, const FramePort::Capabilities& port) noexcept {
  uint64_t key = 0;
  uint64_t offset = run.region_offset;
  if (options_.verb == DataVerb::kRead && ends_[queue_pair].at_source) {
    Offer& offer = offers_[static_cast<uint32_t>(offset / kOfferStride)];
    offset %= kOfferStride;
    key = offer.payload_key;
    offer.last_tx = now;
  }
  writer_->write(templates_[queue_pair], key, static_cast<uint32_t>(offset) + run.offset, run, buffers, port);
}

}  // namespace rankwire

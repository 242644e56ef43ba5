#include "dataplane/roce/answer_sender.h"

namespace rankwire {

bool AnswerSender::transmit_reply(TransmitLane& lane, Time now) noexcept {
  const uint32_t queue_pair = lane.answers.empty() ? lane.repliers.front() : lane.answers.front().queue_pair;
  const HeaderTemplate& path = pairs_.templates[queue_pair];
  const FrameShape shape = acknowledgement_shape(path);
  const std::span<const FrameBuffer> buffers = lane.next_frames(now, shape.length(), 1);
  if (buffers.empty()) return false;
  Acknowledgement acknowledgement;
  if (!lane.answers.empty()) {
    acknowledgement = lane.answers.pop().acknowledgement;
  } else {
    lane.repliers.pop();
    // A READ that arrived meanwhile goes first.
    if (!pairs_.responders[queue_pair].reply_owed()) return true;
    acknowledgement = pairs_.responders[queue_pair].take_reply();
  }
  write_acknowledgement(codec_.pattern_icrc, path, acknowledgement, lane.capabilities().place(buffers[0]));
  counters_.count_answer(acknowledgement.syndrome, shape.length());
  if ((acknowledgement.syndrome & kSyndromeTypeMask) == kSyndromeTypeAck) {
    ++pairs_.inboxes[queue_pair].acks;
  } else {
    ++counters_.of[queue_pair].naks_sent;
  }
  lane.stage(1, shape);
  return true;
}

bool AnswerSender::transmit_reader(TransmitLane& lane, Time now) noexcept {
  const uint32_t queue_pair = lane.readers.front();
  if (!pairs_.owes_response(queue_pair)) {
    lane.readers.pop();
    return true;
  }
  if (transmit_response(lane, queue_pair, options_.turn, now) == 0) return false;
  lane.readers.pop();
  order_.owe_answer(queue_pair, now);
  return true;
}

// Packets of the oldest READ's response, at most `limit`; how many. 0: there was no frame for them.
uint32_t AnswerSender::transmit_response(TransmitLane& lane, uint32_t queue_pair, uint32_t limit, Time now) noexcept {
  Responder& responder = pairs_.responders[queue_pair];
  ResponseRun run = responder.next_response(pairs_.responder_options(), limit);
  const FrameShape shape = codec_.writer.shape(pairs_.templates[queue_pair], run.opcode, run.length);
  const std::span<const FrameBuffer> buffers = lane.next_frames(now, shape.length(), run.count);
  if (buffers.empty()) return 0;
  run.count = static_cast<uint32_t>(buffers.size());
  write_response(queue_pair, run, now, buffers, lane.capabilities());
  lane.stage(run.count, shape);
  counters_.count_data(run.count, shape.length());
  pairs_.ends[queue_pair].packets += run.count;
  responder.responded(run);
  return run.count;
}

// What a READ finds is the offered message that its address names, else a payload of key 0.
void AnswerSender::write_response(uint32_t queue_pair, const ResponseRun& run, Time now,
                                  std::span<const FrameBuffer> buffers, const FramePort::Capabilities& port) noexcept {
  uint64_t key = 0;
  uint64_t offset = run.region_offset;
  if (options_.verb == DataVerb::kRead && pairs_.ends[queue_pair].at_source) {
    Offer& offer = outbound_.offers[static_cast<uint32_t>(offset / kOfferStride)];
    offset %= kOfferStride;
    key = offer.payload_key;
    offer.last_tx = now;
  }
  codec_.writer.write(pairs_.templates[queue_pair], key, static_cast<uint32_t>(offset) + run.offset, run, buffers,
                      port);
}

bool AnswerSender::transmit_responses(TransmitLane& lane, uint32_t queue_pair, uint32_t turn, Time now) noexcept {
  while (lane.run < turn && pairs_.owes_response(queue_pair)) {
    const uint32_t sent = transmit_response(lane, queue_pair, turn - lane.run, now);
    if (sent == 0) return false;
    lane.run += sent;
  }
  order_.owe_answer(queue_pair, now);
  return true;
}

}  // namespace rankwire

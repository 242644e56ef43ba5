// What the emulated NIC sends, and when.
#include <algorithm>
#include <cstring>

#include "emulator/nic_check/emulated_end.h"
#include "emulator/nic_check/emulated_nic.h"

namespace rankwire {

bool EmulatedNic::begin_frame(Frame& frame) {
  return port_.allocate({&frame, 1}) == 1;
}

void EmulatedNic::end_frame(Time now, const End& end, Frame& frame) {
  line_free_ = now + serialization_time(line_bytes(frame.length()), options_.line);
  if (fetches(end)) line_free_ += options_.fetch;
  if (!is(NicMutant::kCountsNoAnswers) || !is_response(parse(frame).opcode)) sent_.add(frame.length());
  if (port_.transmit(now, {&frame, 1}) == 0) port_.release({&frame, 1});
}

void EmulatedNic::add_payload(Frame& frame, uint64_t offset, uint32_t length) {
  std::memcpy(frame.head + frame.head_length, memory_.data() + offset, length);
  frame.head_length = static_cast<uint16_t>(frame.head_length + length);
}

// One frame, if any may leave now. Queue pairs take turns; what is owed goes before requests.
bool EmulatedNic::transmit_one(Time now) {
  const bool line_busy = now < line_free_;
  auto at = busy_.lower_bound(turn_of_);
  for (size_t left = busy_.size(); left > 0; --left) {
    if (at == busy_.end()) at = busy_.begin();
    End& end = *ends_[*at];
    const bool answers =
        end.notifications > 0 || !end.extra.empty() || end.responder.response_pending() || end.responder.reply_owed();
    if (!end.connected || (!answers && !end.requester.can_send(end.pool.options))) {
      at = busy_.erase(at);
      continue;
    }
    if (line_busy) {
      next_event_ = std::min(next_event_, line_free_);
      return false;
    }
    if (transmit_answer(now, end) || transmit_request(now, end)) {
      turn_of_ = end.index + 1;
      return true;
    }
    ++at;
  }
  return false;
}

bool EmulatedNic::transmit_answer(Time now, End& end) {
  Frame frame;
  if (end.notifications > 0) {
    if (!begin_frame(frame)) return false;
    --end.notifications;
    count("np_cnp_sent");
    write_congestion_notification(end.path, 64, frame);
    end_frame(now, end, frame);
    return true;
  }
  if ((pauses_.paused(now) & priority_bit(end.data_priority)) != 0) {
    next_event_ = std::min(next_event_, pauses_.next_expiry(now));
    return false;
  }
  if (end.responder.response_pending()) {
    if (!begin_frame(frame)) return false;
    const ResponseRun run = end.responder.next_response(end.responding, 1);
    OutboundPacket packet{.opcode = run.opcode, .psn = run.psn, .payload_length = run.length};
    packet.syndrome = run.syndrome;
    packet.msn = run.msn;
    if (is(NicMutant::kReadsOffByOnePacket)) packet.psn = psn_add(packet.psn, 1);
    write_headers(end.path, packet, frame);
    add_payload(frame, run.region_offset + run.offset, run.length);
    seal(frame);
    end.responder.responded(run);
    end_frame(now, end, frame);
    return true;
  }
  if (end.extra.empty() && !end.responder.reply_owed()) return false;
  if (!begin_frame(frame)) return false;
  Acknowledgement answer;
  if (end.responder.reply_owed()) {
    answer = end.responder.take_reply();
  } else {
    answer = end.extra.front();
    end.extra.pop_front();
  }
  if (is(NicMutant::kWrongNakSyndrome) && answer.syndrome == static_cast<uint8_t>(Syndrome::kNakSequence))
    answer.syndrome = static_cast<uint8_t>(Syndrome::kNakInvalidRequest);
  if (is(NicMutant::kWrongMessageNumber)) answer.msn = (answer.psn - end.first_psn) & kPsnMask;
  write_acknowledgement(end.path, answer, frame);
  end_frame(now, end, frame);
  return true;
}

bool EmulatedNic::transmit_request(Time now, End& end) {
  if (!end.requester.can_send(end.pool.options)) return false;
  if ((pauses_.paused(now) & priority_bit(end.data_priority)) != 0) {
    next_event_ = std::min(next_event_, pauses_.next_expiry(now));
    return false;
  }
  if (now < end.not_before) {
    next_event_ = std::min(next_event_, end.not_before);
    return false;
  }
  Frame frame;
  if (!begin_frame(frame)) return false;
  const RequestRun run = end.requester.next_run(end.pool, 1);
  const OutboundMessage& message = end.pool.messages[run.message];
  OutboundPacket packet{.opcode = run.opcode, .ack_request = run.ack_request, .psn = run.psn};
  packet.payload_length = run.length;
  packet.immediate = message.immediate;
  packet.rkey = message.rkey;
  packet.dma_length = run.dma_length;
  packet.address = message.remote_address + (message.verb == Verb::kRead ? run.offset : 0);
  if (is(NicMutant::kSequenceOf23Bits)) packet.psn &= 0x7FFFFF;
  write_headers(end.path, packet, frame);
  if (run.length > 0) add_payload(frame, uint64_t{end.works[run.message].offset} + run.offset, run.length);
  seal(frame);
  const bool ragged = run.offset > 0 && run.length > 0 && run.length < end.pool.options.mtu;
  const Bytes on_line = line_bytes(frame.length());
  end.requester.sent(end.pool, run, now);
  watch_deadline(end);
  dcqcn_.sent(static_cast<uint32_t>(end.index), now, on_line);
  const Bandwidth rate = dcqcn_.allowance(static_cast<uint32_t>(end.index), now).rate;
  end.not_before = std::max(now, end.not_before) + serialization_time(on_line, rate);
  if (ragged && is(NicMutant::kNoRaggedEnd)) {
    port_.release({&frame, 1});
  } else {
    end_frame(now, end, frame);
  }
  return true;
}

}  // namespace rankwire

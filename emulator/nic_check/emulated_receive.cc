// What the emulated NIC makes of frames that arrive.
#include <algorithm>
#include <cstring>

#include "dataplane/protocol/queue_pair_numbers.h"
#include "emulator/nic_check/emulated_end.h"
#include "emulator/nic_check/emulated_nic.h"

namespace rankwire {

namespace {

// What a frame takes at the least, 50 million a second, and how far the NIC may be behind: it pauses at the first, lets
// go on at the second, and a mutant loses what comes beyond the third.
constexpr Duration kPerFrame = nanoseconds(20), kPausesAt = microseconds(100), kGoesOnAt = microseconds(50),
                   kLosesAt = microseconds(120);

}  // namespace

bool EmulatedNic::admit(Time now, const Frame& frame) {
  // A peer that does not obey is not what the other cases are about.
  if (is(NicMutant::kPausesNobody) && worked_off_ - now > kLosesAt) return false;
  worked_off_ =
      std::max(worked_off_, now) + std::max(kPerFrame, serialization_time(line_bytes(frame.length()), options_.line));
  if (worked_off_ - now > kPausesAt && !pauses_others_ && !is(NicMutant::kPausesNobody)) send_pause(now, kMaxQuanta);
  return true;
}

void EmulatedNic::send_pause(Time now, uint16_t quanta) {
  Frame frame;
  if (!begin_frame(frame)) return;
  pauses_others_ = quanta > 0;
  if (pauses_others_) ++pauses_sent_;
  const PrioritySet priorities =
      is(NicMutant::kPausesAllPriorities) ? PrioritySet{0xFF} : priority_bit(kCountedPriority);
  write_pause(options_.facts.mac, priority_pause(priorities, quanta), frame);
  if (port_.transmit(now, {&frame, 1}) == 0) port_.release({&frame, 1});
}

void EmulatedNic::release_line(Time now) {
  if (!pauses_others_) return;
  if (is(NicMutant::kPausesWithoutEnd)) {
    if (now >= pauses_again_) {
      send_pause(now, kMaxQuanta);
      pauses_again_ = now + kGoesOnAt;
    }
    next_event_ = std::min(next_event_, pauses_again_);
  } else if (worked_off_ - now <= kGoesOnAt) {
    send_pause(now, 0);
  } else {
    next_event_ = std::min(next_event_, worked_off_ - kGoesOnAt);
  }
}

void EmulatedNic::receive(Time now, const Frame& frame) {
  if (const std::optional<PauseFrame> pause = read_pause(frame)) {
    if ((pause->priorities & priority_bit(kCountedPriority)) != 0)
      pauses_received_ += is(NicMutant::kCountsPausesTwice) ? 2 : 1;
    if (!is(NicMutant::kDeafToPauses)) pauses_.receive(*pause, now);
    return;
  }
  const ParsedPacket packet = parse(frame);
  if (packet.reject != Reject::kNone) return;
  if (!admit(now, frame)) return;
  received_.add(is(NicMutant::kCountsPayloadAlone) ? packet.payload_length : frame.length());
  if (!is(NicMutant::kNoIcrcCheck) && !icrc_matches(frame, packet)) {
    if (is(NicMutant::kStallsOnIcrc)) stall(now);
    return count("rx_icrc_encapsulated");
  }
  const uint64_t index = uint64_t{packet.destination_qp} - QueuePairNumbers::kFirst;
  if (index >= ends_.size() || !ends_[index]->connected) return;
  End& end = *ends_[index];
  if (!is_addressed_to(end.path, packet)) return;
  if (packet.opcode == Opcode::kCongestionNotification) {
    if (is(NicMutant::kDeafToNotifications)) return;
    count("rp_cnp_handled");
    if (is(NicMutant::kSlowsAllDown))
      for_each_other(end, [&](End& other) { dcqcn_.notified(static_cast<uint32_t>(other.index), now); });
    return dcqcn_.notified(static_cast<uint32_t>(end.index), now);
  }
  if (is_response(packet.opcode)) {
    receive_answer(now, end, packet);
  } else {
    receive_request(now, end, packet);
  }
  touch(end);
}

void EmulatedNic::receive_request(Time now, End& end, const ParsedPacket& arrived) {
  if (arrived.ecn == Ecn::kCongestionExperienced) {
    count("np_ecn_marked_roce_packets");
    if (!is(NicMutant::kNoNotifications) && notifications_.marked(static_cast<uint32_t>(end.index), now)) {
      ++end.notifications;
      if (is(NicMutant::kNotifiesAll))
        for_each_other(end, [&](End& other) {
          ++other.notifications;
          touch(other);
        });
    }
  }
  ParsedPacket packet = arrived;
  if (is(NicMutant::kNoKeyCheck) && is_write(packet.opcode)) packet.rkey = region_.rkey;
  if (!end.current && !end.receives.empty()) end.responding.receive_bytes = end.receives.front().bytes;
  const Reception reception = end.responder.receive(end.responding, packet);
  switch (reception.arrival) {
    case Arrival::kAccepted:
      return deliver(now, end, packet, reception);
    case Arrival::kDuplicate:
      count("duplicate_request");
      if (is(NicMutant::kDuplicateDelivered) && packet.opcode == Opcode::kSendOnly)
        deliver(now, end, packet,
                {.verb = Verb::kSend, .first = true, .last = true, .message_bytes = packet.payload_length});
      return;
    case Arrival::kGap:
      if (is(NicMutant::kRefusesOthers))
        for_each_other(end, [&](End& other) {
          other.extra.push_back(
              {other.responder.expected_psn(), other.responder.msn(), static_cast<uint8_t>(Syndrome::kNakSequence)});
          touch(other);
        });
      return count("out_of_sequence");
    case Arrival::kNotReady:
      if (is(NicMutant::kStallsOnNotReady)) stall(now);
      if (is(NicMutant::kTiredOfNotReady) && ++end.not_ready_naks == 4) {
        end.connected = false;
        break_down(end);
      }
      return;
    case Arrival::kAhead:
      count("out_of_sequence");
      if (is(NicMutant::kRepeatsNaks))
        end.extra.push_back(
            {end.responder.expected_psn(), end.responder.msn(), static_cast<uint8_t>(Syndrome::kNakSequence)});
      return;
    case Arrival::kRefused:
      if (is(NicMutant::kStallsOnKey)) stall(now);
      return break_down(end);
    default:
      return;
  }
}

void EmulatedNic::deliver(Time now, End& end, const ParsedPacket& packet, const Reception& reception) {
  if (reception.verb == Verb::kRead) return count("rx_read_requests");
  const bool send = reception.verb == Verb::kSend || reception.verb == Verb::kSendImmediate;
  if (!send) {
    store(now, reception.region_offset + reception.offset, packet.payload, packet.payload_length);
    if (!reception.last) return;
    count("rx_write_requests");
    if (reception.verb != Verb::kWriteImmediate) return;
    const Receive receive = end.receives.front();
    end.receives.pop_front();
    return complete(end, receive.id, WorkStatus::kSuccess, reception.message_bytes, reception.immediate);
  }
  if (reception.first && !end.receives.empty()) {
    end.current = end.receives.front();
    end.receives.pop_front();
  }
  if (!end.current) return;
  store(now, end.current->offset + reception.offset, packet.payload, packet.payload_length);
  if (!reception.last) return;
  complete(end, end.current->id, WorkStatus::kSuccess, reception.message_bytes,
           reception.verb == Verb::kSendImmediate ? std::optional(reception.immediate) : std::nullopt);
  end.current.reset();
}

void EmulatedNic::receive_answer(Time now, End& end, const ParsedPacket& packet) {
  if (is_read_response(packet.opcode)) {
    const ReadReception reception = end.requester.respond(end.pool, now, packet);
    if (reception.outcome == ResponseOutcome::kAccepted)
      store(now, uint64_t{end.works[reception.message].offset} + reception.offset, packet.payload,
            packet.payload_length);
    if (reception.outcome == ResponseOutcome::kImpliedNak) {
      count("implied_nak_seq_err");
      if (is(NicMutant::kStallsOnReadLoss)) stall(now);
    }
  } else {
    Acknowledgement answer{packet.psn, packet.msn, packet.syndrome};
    const bool nak = packet.syndrome == static_cast<uint8_t>(Syndrome::kNakSequence);
    if (nak && is(NicMutant::kDeafToNaks)) return;
    if (nak && is(NicMutant::kRewindsTooFar)) answer.psn = psn_add(answer.psn, 1);
    AckReception reception = end.requester.acknowledge(end.pool, now, answer);
    if (reception.outcome == AckOutcome::kGhost && is(NicMutant::kBelievesFutureAcks)) {
      answer.psn = psn_add(end.requester.end_psn(), kPsnMask);
      reception = end.requester.acknowledge(end.pool, now, answer);
    }
    if (nak && reception.outcome == AckOutcome::kRewind) {
      count("packet_seq_err");
      if (is(NicMutant::kStallsOnLoss)) stall(now);
    }
    if (reception.outcome == AckOutcome::kNotReady) suffer_not_ready(end);
    if (reception.outcome == AckOutcome::kImpliedNak) count("implied_nak_seq_err");
    if (reception.outcome == AckOutcome::kNotReady && is(NicMutant::kHastyAfterNotReady))
      end.requester.expire(end.pool);
    if ((packet.syndrome & kSyndromeTypeMask) == kSyndromeTypeNotReady && reception.outcome == AckOutcome::kFailed)
      count("rnr_nak_retry_err");
  }
  report_finished(end);
  if (end.requester.state() != Requester::State::kError) return;
  break_down(end);
  if (is(NicMutant::kBreaksAll)) for_each_other(end, [&](End& other) { break_down(other); });
}

// What mutants make of an RNR NAK.
void EmulatedNic::suffer_not_ready(End& end) {
  if (is(NicMutant::kNotReadyForAll)) line_free_ = std::max(line_free_, end.requester.deadline());
  if (is(NicMutant::kCountsNotReadyOfAll) && ++end.not_ready_naks > end.not_ready_retry_count &&
      end.not_ready_retry_count < 7)
    end.requester.fail(end.pool, Failure::kNotReadyExceeded);
}

void EmulatedNic::count_outcome(AckOutcome outcome) {
  if (outcome == AckOutcome::kRewind || outcome == AckOutcome::kFailed) count("local_ack_timeout_err");
}

}  // namespace rankwire

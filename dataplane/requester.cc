#include "dataplane/requester.h"

#include <algorithm>
#include <cassert>

namespace rankwire {
namespace {

constexpr uint32_t kNone = OutboundMessage::kNone;

Opcode opcode_at(uint32_t packet, uint32_t packets) {
  const bool last = packet + 1 == packets;
  if (packet == 0) return last ? Opcode::kWriteOnlyImmediate : Opcode::kWriteFirst;
  return last ? Opcode::kWriteLastImmediate : Opcode::kWriteMiddle;
}

Failure failure_of(uint8_t syndrome) {
  switch (static_cast<Syndrome>(syndrome)) {
    case Syndrome::kNakInvalidRequest:
      return Failure::kRemoteInvalid;
    case Syndrome::kNakRemoteAccess:
      return Failure::kRemoteAccess;
    case Syndrome::kNakRemoteOperational:
      return Failure::kRemoteOperational;
    default:
      return Failure::kNone;
  }
}

}  // namespace

void Requester::post(RequesterPool& pool, uint32_t slot) noexcept {
  OutboundMessage& message = pool.messages[slot];
  if (state_ == State::kError) {
    message.failure = Failure::kFlushed;
    pool.finished.push_back(pool.messages, slot);
    return;
  }
  message.packets = packets_of(message.bytes, pool.options.mtu);
  messages_.push_back(pool.messages, slot);
  if (cursor_ == kNone) {
    cursor_ = slot;
    cursor_packet_ = 0;
  }
}

RequestRun Requester::next_run(const RequesterPool& pool, uint32_t limit) const noexcept {
  assert(can_send(pool.options));
  const ReliableOptions& options = pool.options;
  const OutboundMessage& message = pool.messages[cursor_];
  const uint32_t left = message.packets - cursor_packet_;
  const uint32_t until_ack_request = std::min(options.ack_every - since_ack_request_, options.window - in_flight());

  RequestRun run;
  run.opcode = opcode_at(cursor_packet_, message.packets);
  run.ack_request = left == 1 || until_ack_request == 1;
  run.retransmission = next_ != end_;
  run.psn = next_;
  run.message = cursor_;
  run.offset = cursor_packet_ * options.mtu;
  run.length = left == 1 ? message.bytes - run.offset : options.mtu;
  if (run.opcode == Opcode::kWriteMiddle && !run.ack_request) {
    run.count = std::min({limit, left - 1, until_ack_request - 1});
    if (run.retransmission) run.count = std::min(run.count, static_cast<uint32_t>(psn_distance(next_, end_)));
  }
  return run;
}

void Requester::sent(RequesterPool& pool, const RequestRun& run, Time now) noexcept {
  OutboundMessage& message = pool.messages[run.message];
  if (!message.started()) {
    message.first_tx = now;
    message.first_psn = run.psn;
  }
  message.last_tx = now;

  next_ = psn_add(next_, run.count);
  if (run.retransmission) {
    message.retransmissions += run.count;
  } else {
    end_ = next_;
  }
  cursor_packet_ += run.count;
  if (cursor_packet_ == message.packets) {
    cursor_ = message.next;
    cursor_packet_ = 0;
  }
  since_ack_request_ += run.count;
  if (run.ack_request) {
    since_ack_request_ = 0;
    ack_requested_ = run.psn;
    if (deadline_ == Time::never()) deadline_ = now + pool.options.timeout;
  }
}

AckOutcome Requester::acknowledge(RequesterPool& pool, Time now, const Acknowledgement& acknowledgement) noexcept {
  if (state_ == State::kError) return AckOutcome::kStale;
  const uint32_t psn = acknowledgement.psn;
  const int32_t ahead = psn_distance(unacked_, psn);
  if (ahead < 0) return AckOutcome::kStale;
  if (ahead >= psn_distance(unacked_, end_)) return AckOutcome::kGhost;

  if ((acknowledgement.syndrome & kSyndromeTypeMask) == kSyndromeTypeAck) {
    advance(pool, now, psn_add(psn, 1));
    return AckOutcome::kProgress;
  }
  if (acknowledgement.syndrome == static_cast<uint8_t>(Syndrome::kNakSequence)) return sequence_nak(pool, now, psn);
  const Failure failure = failure_of(acknowledgement.syndrome);
  if (failure == Failure::kNone) return AckOutcome::kGhost;
  advance(pool, now, psn);
  fail(pool, failure);
  return AckOutcome::kFailed;
}

AckOutcome Requester::sequence_nak(RequesterPool& pool, Time now, uint32_t psn) noexcept {
  if (answered_nak_ && nak_psn_ == psn && unacked_ == psn) return AckOutcome::kStale;
  if (psn != unacked_) advance(pool, now, psn);
  const AckOutcome outcome = retry_from(pool, psn);
  answered_nak_ = true;
  nak_psn_ = psn;
  return outcome;
}

AckOutcome Requester::expire(RequesterPool& pool) noexcept {
  const AckOutcome outcome = retry_from(pool, unacked_);
  // A NAK that arrives after this is about what is sent from now on.
  answered_nak_ = false;
  return outcome;
}

AckOutcome Requester::retry_from(RequesterPool& pool, uint32_t psn) noexcept {
  if (retries_ >= pool.options.retry_count) {
    fail(pool, Failure::kRetryExceeded);
    return AckOutcome::kFailed;
  }
  ++retries_;
  seek(pool, psn);
  since_ack_request_ = 0;
  deadline_ = Time::never();
  return AckOutcome::kRewind;
}

// Everything before `psn`, at least one packet or none, is acknowledged.
void Requester::advance(RequesterPool& pool, Time now, uint32_t psn) noexcept {
  if (psn == unacked_) return;
  const bool overtakes = psn_distance(next_, psn) > 0;  // a late ACK of what is about to be sent again
  unacked_ = psn;
  retries_ = 0;
  while (!messages_.empty()) {
    OutboundMessage& oldest = pool.messages[messages_.head];
    if (!oldest.started() || psn_distance(psn_add(oldest.first_psn, oldest.packets), psn) < 0) break;
    oldest.acked = now;
    pool.finished.push_back(pool.messages, messages_.pop_front(pool.messages));
  }
  if (overtakes) seek(pool, psn);
  const bool ack_due = deadline_ != Time::never() && psn_distance(psn, ack_requested_) >= 0;
  deadline_ = ack_due ? now + pool.options.timeout : Time::never();
}

// Makes `psn`, which is not acknowledged, the next to be sent.
void Requester::seek(const RequesterPool& pool, uint32_t psn) noexcept {
  next_ = psn;
  for (cursor_ = messages_.head; cursor_ != kNone; cursor_ = pool.messages[cursor_].next) {
    const OutboundMessage& message = pool.messages[cursor_];
    const int32_t position = message.started() ? psn_distance(message.first_psn, psn) : 0;
    cursor_packet_ = static_cast<uint32_t>(position);
    if (cursor_packet_ < message.packets) return;
  }
}

void Requester::fail(RequesterPool& pool, Failure failure) noexcept {
  state_ = State::kError;
  deadline_ = Time::never();
  cursor_ = kNone;
  while (!messages_.empty()) {
    const uint32_t slot = messages_.pop_front(pool.messages);
    pool.messages[slot].failure = failure;
    pool.finished.push_back(pool.messages, slot);
    failure = Failure::kFlushed;
  }
}

}  // namespace rankwire

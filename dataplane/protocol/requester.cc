#include "dataplane/protocol/requester.h"

#include "dataplane/protocol/step.h"

namespace rankwire {
namespace {

constexpr uint32_t kNone = OutboundMessage::kNone;

Opcode opcode_at(Verb verb, uint32_t packet, uint32_t packets) {
  const VerbOpcodes& opcodes = opcodes_of(verb);
  const bool last = packet + 1 == packets;
  if (packet == 0) return last ? opcodes.only : opcodes.first;
  return last ? opcodes.last : opcodes.middle;
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

// Counts up to the end of the type and stays there.
void increment(uint8_t& counter) {
  if (counter < UINT8_MAX) ++counter;
}

/// What becomes of a READ response that was not the next one.
constexpr ResponseOutcome response_outcome(AckOutcome repair) {
  if (repair == AckOutcome::kFailed) return ResponseOutcome::kFailed;
  return repair == AckOutcome::kStale ? ResponseOutcome::kStale : ResponseOutcome::kImpliedNak;
}

bool fits(const OutboundMessage& read, const ParsedPacket& response, uint32_t packet, uint32_t mtu) {
  const bool last = packet + 1 == read.packets;
  const bool ends = response.opcode == Opcode::kReadResponseLast || response.opcode == Opcode::kReadResponseOnly;
  const uint32_t length = last ? read.bytes - packet * mtu : mtu;
  return ends == last && response.payload_length == length && response.pad == (-length & 3);
}

// The READ that a response with this PSN belongs to, or kNone.
uint32_t find_read(const MessagePool& messages, const MessageList& list, uint32_t psn) {
  for (uint32_t slot = list.head; slot != kNone && messages[slot].started(); slot = messages[slot].next) {
    const OutboundMessage& message = messages[slot];
    if (psn_distance(message.first_psn, psn) < static_cast<int32_t>(message.packets))
      return message.verb == Verb::kRead ? slot : kNone;
  }
  return kNone;
}

}  // namespace

void Requester::post(RequesterPool& pool, uint32_t slot) noexcept {
  OutboundMessage& message = pool.messages[slot];
  const StateStep step(*this, message);
  if (state_ == State::kError) {
    message.failure = later_;
    pool.finished.push_back(pool.messages, slot);
    return;
  }
  message.packets = packets_of(message.bytes, pool.options.mtu);
  message.sequence = posted_ = psn_add(posted_, 1);
  messages_.push_back(pool.messages, slot);
  if (cursor_ == kNone) load_cursor(pool, slot, 0);
}

RequestRun Requester::boundary_run(const RequesterPool& pool, uint32_t until_ack_request) const noexcept {
  const OutboundMessage& message = pool.messages[cursor_];
  const bool first = cursor_packet_ == 0;
  const bool last = cursor_packet_ + 1 == cursor_packets_;
  RequestRun run;
  run.opcode = opcode_at(message.verb, cursor_packet_, cursor_packets_);
  run.retransmission = next_ != end_;
  run.psn = next_;
  run.message = cursor_;
  run.offset = cursor_packet_ * pool.options.mtu;
  if (message.verb == Verb::kRead) {
    run.ack_request = true;
    run.dma_length = message.bytes - run.offset;
    return run;
  }
  run.ack_request = last || until_ack_request == 1 || (first && is_beyond_credits(pool));
  run.solicited = last && message.solicited && consumes_receive(message.verb);
  run.length = last ? message.bytes - run.offset : pool.options.mtu;
  if (first) run.dma_length = message.bytes;
  return run;
}

void Requester::boundary_sent(RequesterPool& pool, const RequestRun& run, Time now) noexcept {
  const StateStep step(*this, run);
  OutboundMessage& message = pool.messages[run.message];
  const bool read = run.opcode == Opcode::kReadRequest;
  if (!message.started()) {
    message.first_tx = now;
    message.first_psn = run.psn;
    // MSN counts it, and it takes no receive: those granted reach one message further.
    if (credits_limited_ && !consumes_receive(message.verb)) limit_ = psn_add(limit_, 1);
  }
  message.last_tx = now;

  const uint32_t packets = read ? cursor_packets_ - cursor_packet_ : run.count;
  plain_ = 0;
  next_ = psn_add(next_, packets);
  if (run.retransmission) {
    message.retransmissions += run.count;
  } else {
    end_ = next_;
  }
  since_ack_request_ += run.count;
  if (run.ack_request) {
    ask_for_answer(pool.options, now);
    if (!run.retransmission && !read) sample(run.psn, now);
  }
  if (read) ++reads_;
  cursor_packet_ += packets;
  if (cursor_packet_ == cursor_packets_) {
    load_cursor(pool, message.next, 0);
  } else if (credits_limited_) {
    update_holds(pool);
  }
}

// The first message beyond the credits may find out whether there is a receive after all: a SEND takes it with its
// first packet, a WRITE with immediate with its last. The oldest message may even if the peer's MSN is wrong: nothing
// else would move it. A message that credits running out meet in the middle goes on until it asks for an answer.
bool Requester::may_probe(const RequesterPool& pool) const noexcept {
  const OutboundMessage& message = pool.messages[cursor_];
  if (psn_distance(limit_, message.sequence) > 1 && cursor_ != messages_.head) return false;
  if (message.verb == Verb::kWriteImmediate || cursor_packet_ == 0) return true;
  return since_ack_request_ > 0 || psn_distance(message.first_psn, unacked_) > 0;
}

// From the AETH of an ACK or READ response.
inline void Requester::take_credits(const RequesterPool& pool, uint8_t syndrome, uint32_t msn) noexcept {
  const uint8_t code = syndrome & ~kSyndromeTypeMask;
  if (code == kCreditsInvalid) {
    if (!credits_limited_) return;
    credits_limited_ = false;
  } else {
    const uint32_t limit = psn_add(msn, kCredits[code]);
    if (credits_limited_ && psn_distance(limit_, limit) <= 0) return;
    credits_limited_ = true;
    limit_ = limit;
  }
  update_holds(pool);
}

AckReception Requester::acknowledge(RequesterPool& pool, Time now, const Acknowledgement& acknowledgement) noexcept {
  const StateStep step(*this, acknowledgement);
  acks_ += (acknowledgement.syndrome & kSyndromeTypeMask) == kSyndromeTypeAck;
  return answers_all(pool, acknowledgement) ? finish_all(pool, now) : acknowledge_some(pool, now, acknowledgement);
}

// Whether it is what most acknowledgements are: that of everything under way, which is all of the oldest message.
inline bool Requester::answers_all(const RequesterPool& pool, const Acknowledgement& acknowledgement) const noexcept {
  constexpr uint8_t kPlain = kSyndromeTypeAck | kCreditsInvalid;
  if (acknowledgement.syndrome != kPlain || next_ != end_ || psn_add(acknowledgement.psn, 1) != end_ ||
      messages_.empty() || credits_limited_ || (holds_ & ~kNothingToSend) != 0)
    return false;
  const OutboundMessage& oldest = pool.messages[messages_.head];
  return oldest.first_psn == unacked_ && psn_add(unacked_, oldest.packets) == end_ && oldest.verb != Verb::kRead;
}

// Does for it what `acknowledge_some` would.
inline AckReception Requester::finish_all(RequesterPool& pool, Time now) noexcept {
  const bool sampled = sample_psn_ == psn_add(end_, kPsnMask);
  finish_oldest(pool, now);
  unacked_ = end_;
  retries_ = timeouts_ = not_ready_retries_ = 0;
  repairing_ = false;
  sample_psn_ = kNoSample;
  deadline_ = Time::never();
  return {AckOutcome::kProgress, sampled ? now - sample_sent_ : Duration::max()};
}

AckReception Requester::acknowledge_some(RequesterPool& pool, Time now,
                                         const Acknowledgement& acknowledgement) noexcept {
  if (state_ == State::kError) return {AckOutcome::kStale};
  const uint32_t psn = acknowledgement.psn;
  const int32_t ahead = psn_distance(unacked_, psn);
  if (ahead >= psn_distance(unacked_, end_)) return {AckOutcome::kGhost};
  const bool positive = (acknowledgement.syndrome & kSyndromeTypeMask) == kSyndromeTypeAck;
  // An ACK that repeats what is known may bring credits (IBTA 9.7.7.2).
  if (positive) take_credits(pool, acknowledgement.syndrome, acknowledgement.msn);
  if (ahead < 0) return {AckOutcome::kStale};
  if (!positive) return {negative(pool, now, acknowledgement)};

  const Duration round_trip = psn == sample_psn_ ? now - sample_sent_ : Duration::max();
  if (!advance(pool, now, psn_add(psn, 1))) return {repair(pool, AckOutcome::kImpliedNak)};
  return {AckOutcome::kProgress, round_trip};
}

AckOutcome Requester::negative(RequesterPool& pool, Time now, const Acknowledgement& nak) noexcept {
  const bool is_not_ready = (nak.syndrome & kSyndromeTypeMask) == kSyndromeTypeNotReady;
  const bool is_sequence = nak.syndrome == static_cast<uint8_t>(Syndrome::kNakSequence);
  const Failure failure = failure_of(nak.syndrome);
  if (!is_not_ready && !is_sequence && failure == Failure::kNone) return AckOutcome::kGhost;

  const bool reached = advance(pool, now, nak.psn);
  if (failure != Failure::kNone) {
    fail(pool, failure);
    return AckOutcome::kFailed;
  }
  if (!reached) return repair(pool, AckOutcome::kImpliedNak);
  if (is_not_ready) return wait_for_receiver(pool, now, nak.syndrome & ~kSyndromeTypeMask);
  return repair(pool, AckOutcome::kRewind);
}

// IBTA 9.7.5.2.8. What was sent behind the packet that found no receive comes too early for the receiver and may be
// answered by a sequence NAK for the same PSN: that one is answered already.
AckOutcome Requester::wait_for_receiver(RequesterPool& pool, Time now, uint8_t code) noexcept {
  if ((holds_ & kReceiverNotReady) != 0) return AckOutcome::kStale;
  if (not_ready_retries_ >= pool.options.not_ready_retry_count) {
    fail(pool, Failure::kNotReadyExceeded);
    return AckOutcome::kFailed;
  }
  increment(not_ready_retries_);
  rewind(pool);
  repairing_ = true;
  holds_ |= kReceiverNotReady;
  deadline_ = now + not_ready_wait(code);
  return AckOutcome::kNotReady;
}

AckOutcome Requester::repair(RequesterPool& pool, AckOutcome outcome) noexcept {
  if (repairing_) return AckOutcome::kStale;
  if (retries_ >= pool.options.retry_count) {
    fail(pool, Failure::kRetryExceeded);
    return AckOutcome::kFailed;
  }
  increment(retries_);
  rewind(pool);
  repairing_ = true;
  return outcome;
}

AckOutcome Requester::expire(RequesterPool& pool) noexcept {
  const StateStep step(*this, StateStep::Expiry{});
  const ReliableOptions& options = pool.options;
  if ((holds_ & kReceiverNotReady) != 0) {
    holds_ &= static_cast<uint8_t>(~kReceiverNotReady);
    deadline_ = Time::never();
    return AckOutcome::kResumed;
  }
  const bool charged = timeouts_ + 1u >= options.early.count;
  if (options.retry_count == 0 || (charged && retries_ + options.withheld_retries >= options.retry_count)) {
    fail(pool, Failure::kRetryExceeded);
    return AckOutcome::kFailed;
  }
  if (charged) increment(retries_);
  increment(timeouts_);
  rewind(pool);
  // A NAK that arrives after this is about what is sent from now on.
  repairing_ = false;
  return AckOutcome::kRewind;
}

void Requester::rewind(const RequesterPool& pool) noexcept {
  seek(pool, unacked_);
  since_ack_request_ = 0;
  deadline_ = Time::never();
  sample_psn_ = kNoSample;
}

ReadReception Requester::respond(RequesterPool& pool, Time now, const ParsedPacket& packet) noexcept {
  const StateStep step(*this, packet);
  if (state_ == State::kError) return {};
  const uint32_t psn = packet.psn;
  const int32_t ahead = psn_distance(unacked_, psn);
  if (ahead < 0) return {ResponseOutcome::kDuplicate};
  if (ahead >= psn_distance(unacked_, end_)) return {};
  const uint32_t slot = find_read(pool.messages, messages_, psn);
  if (slot == kNone) return {};

  const OutboundMessage& read = pool.messages[slot];
  const uint32_t position = static_cast<uint32_t>(psn_distance(read.first_psn, psn));
  if (!fits(read, packet, position, pool.options.mtu)) return {ResponseOutcome::kMalformed};
  if (layout_of(packet.opcode).aeth) {
    if ((packet.syndrome & kSyndromeTypeMask) != kSyndromeTypeAck) return {ResponseOutcome::kMalformed};
    take_credits(pool, packet.syndrome, packet.msn);
  }
  // It acknowledges all requests before its own.
  if (psn_distance(unacked_, read.first_psn) > 0) advance(pool, now, read.first_psn);
  if (unacked_ != psn) return {response_outcome(repair(pool, AckOutcome::kImpliedNak))};

  const bool last = position + 1 == read.packets;
  if (last) finish_oldest(pool, now);
  progress(pool, now, psn_add(psn, 1));
  return {ResponseOutcome::kAccepted, last, slot, position * pool.options.mtu};
}

// Everything before `psn` is acknowledged, but nothing from the first READ on that is not answered: false when that
// was in the way.
inline bool Requester::advance(RequesterPool& pool, Time now, uint32_t psn) noexcept {
  uint32_t reached = psn;
  while (!messages_.empty()) {
    const OutboundMessage& oldest = pool.messages[messages_.head];
    if (!oldest.started() || psn_distance(oldest.first_psn, psn) <= 0) break;
    if (oldest.verb == Verb::kRead) {
      reached = psn_distance(unacked_, oldest.first_psn) > 0 ? oldest.first_psn : unacked_;
      break;
    }
    if (psn_distance(psn_add(oldest.first_psn, oldest.packets), psn) < 0) break;
    finish_oldest(pool, now);
  }
  if (reached != unacked_) progress(pool, now, reached);
  return reached == psn;
}

inline void Requester::finish_oldest(RequesterPool& pool, Time now) noexcept {
  OutboundMessage& message = pool.messages[messages_.head];
  message.acked = now;
  if (message.verb == Verb::kRead) --reads_;
  pool.finished.push_back(pool.messages, messages_.pop_front(pool.messages));
}

// All packets before `psn`, at least one, are acknowledged, and their messages finished. A READ that finishes while it
// is about to be asked for again was not counted among those outstanding: then `seek` counts anew.
inline void Requester::progress(RequesterPool& pool, Time now, uint32_t psn) noexcept {
  const bool overtakes = psn_distance(next_, psn) > 0;  // a late answer to what is about to be sent again
  unacked_ = psn;
  retries_ = timeouts_ = not_ready_retries_ = 0;
  repairing_ = false;
  if (sample_psn_ != kNoSample && psn_distance(sample_psn_, psn) > 0) sample_psn_ = kNoSample;
  if ((holds_ & kReceiverNotReady) != 0) {
    holds_ &= static_cast<uint8_t>(~kReceiverNotReady);
    deadline_ = Time::never();
  }
  if (overtakes) seek(pool, psn);
  const bool answer_due = deadline_ != Time::never() && psn_distance(psn, ack_requested_) >= 0;
  deadline_ = Time::never();
  if (answer_due) arm(pool.options, now);
  if ((holds_ & (kReadsOutstanding | kOutOfCredits)) != 0) update_holds(pool);
}

// Makes `psn`, which is not acknowledged, the next to be sent.
void Requester::seek(const RequesterPool& pool, uint32_t psn) noexcept {
  next_ = psn;
  reads_ = 0;
  uint32_t slot = messages_.head;
  for (; slot != kNone; slot = pool.messages[slot].next) {
    const OutboundMessage& message = pool.messages[slot];
    const auto position = static_cast<uint32_t>(message.started() ? psn_distance(message.first_psn, psn) : 0);
    if (position < message.packets) return load_cursor(pool, slot, position);
    if (message.verb == Verb::kRead) ++reads_;
  }
  load_cursor(pool, kNone, 0);
}

void Requester::fail(RequesterPool& pool, Failure failure, Failure rest) noexcept {
  const StateStep step(*this, failure);
  state_ = State::kError;
  later_ = rest;
  deadline_ = Time::never();
  cursor_ = kNone;
  holds_ = kNothingToSend;
  plain_ = 0;
  while (!messages_.empty()) {
    const uint32_t slot = messages_.pop_front(pool.messages);
    pool.messages[slot].failure = failure;
    pool.finished.push_back(pool.messages, slot);
    failure = rest;
  }
}

}  // namespace rankwire

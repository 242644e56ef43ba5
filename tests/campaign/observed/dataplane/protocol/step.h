// dataplane/protocol/step.h as the fault campaign has it: tells which transitions the state machines make.
#pragma once

#include "dataplane/protocol/requester.h"
#include "dataplane/protocol/responder.h"
#include "tests/campaign/transitions.h"

namespace rankwire {

/// The outermost step of a state machine is a transition; what it calls on its way is not.
class StateStep {
 public:
  struct Expiry {};
  struct Reply {};

  template <class Machine, class Cause>
  StateStep(const Machine& machine, const Cause& cause) noexcept
      : machine_(&machine), note_(&note<Machine>), outermost_(depth_++ == 0) {
    if (!outermost_) return;
    before_ = static_cast<uint8_t>(state_of(machine));
    event_ = static_cast<uint8_t>(event_of(machine, cause));
  }
  StateStep(const StateStep&) = delete;
  StateStep& operator=(const StateStep&) = delete;
  ~StateStep() {
    --depth_;
    if (outermost_) note_(*this);
  }

 private:
  using RequesterState = testing::RequesterState;
  using RequesterEvent = testing::RequesterEvent;
  using ResponderState = testing::ResponderState;
  using ResponderEvent = testing::ResponderEvent;

  template <class Machine>
  static void note(const StateStep& step) noexcept {
    const auto after = state_of(*static_cast<const Machine*>(step.machine_));
    testing::transitions_of<Machine>().note(step.event_, step.before_, static_cast<uint8_t>(after));
  }

  static RequesterState state_of(const Requester& requester) noexcept {
    if (requester.state_ == Requester::State::kError) return RequesterState::kError;
    if ((requester.holds_ & Requester::kReceiverNotReady) != 0) return RequesterState::kNotReady;
    if (requester.repairing_) return RequesterState::kRepairs;
    if (requester.next_ != requester.end_) return RequesterState::kRepeats;
    return requester.in_flight() > 0 ? RequesterState::kWaits : RequesterState::kRests;
  }
  static RequesterEvent event_of(const Requester&, const OutboundMessage&) noexcept { return RequesterEvent::kPosted; }
  static RequesterEvent event_of(const Requester&, const RequestRun& run) noexcept {
    if (run.opcode == Opcode::kReadRequest)
      return run.retransmission ? RequesterEvent::kReadAgain : RequesterEvent::kReadSent;
    return run.retransmission ? RequesterEvent::kSentAgain : RequesterEvent::kSent;
  }
  static RequesterEvent event_of(const Requester&, Failure) noexcept { return RequesterEvent::kEnded; }
  static RequesterEvent event_of(const Requester& requester, Expiry) noexcept {
    return state_of(requester) == RequesterState::kNotReady ? RequesterEvent::kReceiverTimer : RequesterEvent::kTimeout;
  }
  static RequesterEvent event_of(const Requester& requester, const Acknowledgement& answer) noexcept {
    const bool positive = (answer.syndrome & kSyndromeTypeMask) == kSyndromeTypeAck;
    const int32_t ahead = psn_distance(requester.unacked_, answer.psn);
    if (ahead >= psn_distance(requester.unacked_, requester.end_)) return RequesterEvent::kGhostAnswer;
    if (ahead < 0) return positive ? RequesterEvent::kOldAck : RequesterEvent::kOldNak;
    if (!positive) return negative(answer.syndrome);
    return ahead < psn_distance(requester.unacked_, requester.next_) ? RequesterEvent::kAck : RequesterEvent::kLateAck;
  }
  static RequesterEvent negative(uint8_t syndrome) noexcept {
    if ((syndrome & kSyndromeTypeMask) == kSyndromeTypeNotReady) return RequesterEvent::kNotReadyNak;
    switch (static_cast<Syndrome>(syndrome)) {
      case Syndrome::kNakSequence:
        return RequesterEvent::kSequenceNak;
      case Syndrome::kNakInvalidRequest:
        return RequesterEvent::kInvalidNak;
      case Syndrome::kNakRemoteAccess:
        return RequesterEvent::kAccessNak;
      case Syndrome::kNakRemoteOperational:
        return RequesterEvent::kOperationalNak;
      default:
        return RequesterEvent::kReservedNak;
    }
  }
  static RequesterEvent event_of(const Requester& requester, const ParsedPacket& response) noexcept {
    const int32_t ahead = psn_distance(requester.unacked_, response.psn);
    if (ahead < 0) return RequesterEvent::kOldResponse;
    if (ahead >= psn_distance(requester.unacked_, requester.end_)) return RequesterEvent::kGhostResponse;
    return ahead == 0 ? RequesterEvent::kResponse : RequesterEvent::kResponseBeyondGap;
  }

  static ResponderState state_of(const Responder& responder) noexcept {
    const bool asks_again = responder.nak_outstanding_;
    switch (responder.progress_) {
      case Responder::Progress::kBetweenMessages:
        return asks_again ? ResponderState::kBetweenAsksAgain : ResponderState::kBetween;
      case Responder::Progress::kInSend:
        return asks_again ? ResponderState::kInSendAsksAgain : ResponderState::kInSend;
      case Responder::Progress::kInWrite:
        return asks_again ? ResponderState::kInWriteAsksAgain : ResponderState::kInWrite;
      case Responder::Progress::kError:
        break;
    }
    if (!responder.owes_nak()) return ResponderState::kError;
    return responder.owed_ == static_cast<uint8_t>(Syndrome::kNakRemoteAccess) ? ResponderState::kRefusesAccess
                                                                               : ResponderState::kRefusesRequest;
  }
  static ResponderEvent event_of(const Responder& responder, const ParsedPacket& packet) noexcept {
    const int32_t ahead = psn_distance(responder.expected_, packet.psn);
    if (ahead > 0) return ResponderEvent::kAhead;
    const bool read = packet.opcode == Opcode::kReadRequest;
    if (ahead < 0) return read ? ResponderEvent::kRepeatedRead : ResponderEvent::kRepeated;
    switch (packet.opcode) {
      case Opcode::kSendFirst:
        return ResponderEvent::kSendFirst;
      case Opcode::kSendMiddle:
        return ResponderEvent::kSendMiddle;
      case Opcode::kSendLast:
      case Opcode::kSendLastImmediate:
        return ResponderEvent::kSendLast;
      case Opcode::kSendOnly:
      case Opcode::kSendOnlyImmediate:
        return ResponderEvent::kSendOnly;
      case Opcode::kWriteFirst:
        return ResponderEvent::kWriteFirst;
      case Opcode::kWriteMiddle:
        return ResponderEvent::kWriteMiddle;
      case Opcode::kWriteLast:
      case Opcode::kWriteLastImmediate:
        return ResponderEvent::kWriteLast;
      case Opcode::kWriteOnly:
      case Opcode::kWriteOnlyImmediate:
        return ResponderEvent::kWriteOnly;
      default:
        return read ? ResponderEvent::kRead : ResponderEvent::kOther;
    }
  }
  static ResponderEvent event_of(const Responder&, const ResponseRun&) noexcept {
    return ResponderEvent::kResponseSent;
  }
  static ResponderEvent event_of(const Responder& responder, Reply) noexcept {
    if (!responder.owes_nak()) return ResponderEvent::kAckSent;
    if ((responder.owed_ & kSyndromeTypeMask) == kSyndromeTypeNotReady) return ResponderEvent::kNotReadyNakSent;
    return responder.owed_ == static_cast<uint8_t>(Syndrome::kNakSequence) ? ResponderEvent::kSequenceNakSent
                                                                           : ResponderEvent::kRefusalSent;
  }

  inline static int depth_ = 0;

  const void* const machine_;
  void (*const note_)(const StateStep&) noexcept;
  const bool outermost_;
  uint8_t before_ = 0, event_ = 0;
};

}  // namespace rankwire

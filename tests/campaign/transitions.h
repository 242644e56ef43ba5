// Which transitions of a queue pair's two state machines there are, and which of them the campaign has seen.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dataplane/protocol/requester.h"
#include "dataplane/protocol/responder.h"

namespace rankwire::testing {

/// The first that applies, from below.
enum class RequesterState : uint8_t {
  kRests,     ///< nothing is unacknowledged
  kWaits,     ///< something is, and all of it was sent for the last time as far as is known
  kRepeats,   ///< a time-out's repetition is not complete
  kRepairs,   ///< a NAK or implied NAK was answered, and there was no progress since
  kNotReady,  ///< the receiver's RNR timer runs
  kError,
};

/// Answers by the PSN that they name: old ones say what is known, ghosts speak of what was never sent.
enum class RequesterEvent : uint8_t {
  kPosted,
  kSent,
  kSentAgain,
  kReadSent,
  kReadAgain,
  kOldAck,
  kAck,
  kLateAck,  ///< of what is about to be sent again
  kOldNak,
  kSequenceNak,
  kNotReadyNak,
  kInvalidNak,
  kAccessNak,
  kOperationalNak,
  kReservedNak,  ///< a syndrome without meaning
  kGhostAnswer,
  kOldResponse,
  kResponse,           ///< of a READ, in order
  kResponseBeyondGap,  ///< those before it are missing
  kGhostResponse,
  kTimeout,
  kReceiverTimer,
  kEnded,  ///< by another queue pair's failure or its own responder's
};

enum class ResponderState : uint8_t {
  kBetween,  ///< messages
  kInSend,
  kInWrite,
  kBetweenAsksAgain,  ///< with a NAK or RNR NAK that no packet in order has followed
  kInSendAsksAgain,
  kInWriteAsksAgain,
  kRefusesRequest,  ///< in the error state, and owes the NAK that says why: invalid request
  kRefusesAccess,   ///< the same: remote access error
  kError,
};

/// Packets with the expected PSN by their opcode, others by their PSN. The immediate is not told apart.
enum class ResponderEvent : uint8_t {
  kSendFirst,
  kSendMiddle,
  kSendLast,
  kSendOnly,
  kWriteFirst,
  kWriteMiddle,
  kWriteLast,
  kWriteOnly,
  kRead,
  kOther,  ///< atomics and SENDs with invalidate
  kAhead,
  kRepeated,
  kRepeatedRead,
  kResponseSent,
  kAckSent,
  kSequenceNakSent,
  kNotReadyNakSent,
  kRefusalSent,
};

/// All transitions of a state machine: a state, what happens in it, and the state after that. Packets that take a short
/// way within a message leave the state as it is and are not counted.
struct TransitionTable {
  static constexpr size_t kMaxStates = 9;

  struct State {
    char letter;
    const char* name;
  };
  struct Row {
    const char* event;
    /// By state before: the letters of the states after. A '?' behind one: possible, and too rare to be asked for.
    std::array<std::string_view, kMaxStates> after;
  };

  const char* machine;
  std::span<const State> states;
  std::span<const Row> rows;
};

extern const TransitionTable kRequesterTransitions, kResponderTransitions;

/// Counts the transitions of all machines of a kind. One thread.
class TransitionCounts {
 public:
  explicit TransitionCounts(const TransitionTable& table);

  /// What is counted from now on belongs to `seed`.
  void begin(uint64_t seed) {
    seed_ = seed;
    unknown_ = SIZE_MAX;
  }
  void note(uint8_t event, uint8_t before, uint8_t after) noexcept;
  /// The first transition of this seed, and never before, that the table does not have, or nothing.
  std::string unknown() const;
  /// A line each: transition, times, first seed.
  void print() const;
  /// How many are asked for, and how many of these were never seen.
  size_t asked_for() const;
  size_t missing() const;

 private:
  enum class Place : uint8_t { kNone, kRare, kAskedFor };
  struct Count {
    uint64_t times = 0, first_seed = 0;
  };

  size_t index(size_t event, size_t before, size_t after) const {
    return (event * table_.states.size() + before) * table_.states.size() + after;
  }
  std::string name(size_t index) const;
  Place place(size_t index) const;

  const TransitionTable& table_;
  uint64_t seed_ = 0;
  std::vector<Count> counts_;
  size_t unknown_ = SIZE_MAX;
};

template <class Machine>
TransitionCounts& transitions_of();
template <>
TransitionCounts& transitions_of<Requester>();
template <>
TransitionCounts& transitions_of<Responder>();

}  // namespace rankwire::testing

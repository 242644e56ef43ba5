// Which messages have arrived, and which of them are waited for.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/id.h"
#include "emulator/engine/plan.h"

namespace rankwire {

/// The inboxes of all ranks, for the two iterations of which messages may be under way at once: those of a third need
/// the room of the first, which a rank gives back with `end_iteration`. A message is named by its connection, its index
/// within the iteration, and the iteration. Its shard's thread alone; no allocation after construction.
class MessageArrivals {
 public:
  enum class Arrival : uint8_t {
    kEarly,      ///< nobody waits for it yet
    kAwaited,    ///< a step has waited for it
    kDuplicate,  ///< it had arrived before
  };

  /// The plan outlives it.
  explicit MessageArrivals(const Plan& plan)
      : plan_(plan), states_(2 * plan.messages_per_iteration, State::kNone), incoming_(plan.nodes.size()) {
    for (const Connection& c : plan.transport.connections)
      if (c.destination.value < incoming_.size()) incoming_[c.destination.value].push_back(c.id);
  }

  /// A step needs the message. Returns whether it has to wait: the message has neither arrived nor been abandoned.
  bool expect(ConnectionId connection, uint32_t index, uint32_t iteration) noexcept {
    State& state = state_of(connection, index, iteration);
    if (state != State::kNone) return false;
    state = State::kExpected;
    return true;
  }
  /// The message has arrived, which it may even after its source has given up.
  Arrival arrive(ConnectionId connection, uint32_t index, uint32_t iteration) noexcept {
    const State before = std::exchange(state_of(connection, index, iteration), State::kArrived);
    if (before == State::kArrived) return Arrival::kDuplicate;
    return before == State::kExpected ? Arrival::kAwaited : Arrival::kEarly;
  }
  /// The source of the message has given up: unless it has arrived nobody is to wait for it. Returns whether a step
  /// has.
  bool abandon(ConnectionId connection, uint32_t index, uint32_t iteration) noexcept {
    State& state = state_of(connection, index, iteration);
    return state != State::kArrived && std::exchange(state, State::kAbandoned) == State::kExpected;
  }
  /// The rank needs nothing of this iteration any more: its inbox can serve the one after the next.
  void end_iteration(RankId rank, uint32_t iteration) noexcept {
    for (const ConnectionId connection : incoming_[rank.value]) {
      const uint32_t messages = plan_.transport.connections[connection.value].messages_per_iteration;
      if (messages > 0) std::fill_n(&state_of(connection, 0, iteration), messages, State::kNone);
    }
  }

 private:
  enum class State : uint8_t { kNone, kExpected, kArrived, kAbandoned };

  State& state_of(ConnectionId connection, uint32_t index, uint32_t iteration) noexcept {
    return states_[(iteration & 1) * plan_.messages_per_iteration + plan_.first_message[connection.value] + index];
  }

  const Plan& plan_;
  std::vector<State> states_;                        // two iterations x the messages of one
  std::vector<std::vector<ConnectionId>> incoming_;  // by rank
};

}  // namespace rankwire

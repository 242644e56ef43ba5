// Where messages stand: on their connection, in the operations at their two ends, and what they are called.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/event.h"
#include "base/message.h"
#include "emulator/engine/plan.h"
#include "emulator/workload/workload.h"

namespace rankwire {

/// Of the message of an event.
struct MessagePlace {
  const Connection& connection;
  uint32_t index = 0;  ///< within its iteration
  uint32_t iteration = 0;
};

/// Looks messages up in the plan. It remembers for each connection where it found the last one, so that messages that
/// come in their order are found at once. Its shard's thread alone; no allocation after construction, but for words.
class MessageLocator {
 public:
  /// Both outlive it.
  MessageLocator(const Workload& workload, const Plan& plan)
      : workload_(workload),
        plan_(plan),
        sender_hints_(plan.transport.connections.size()),
        receiver_hints_(plan.transport.connections.size()) {}

  MessagePlace place_of(const Event& event) const noexcept {
    const Connection& connection = plan_.transport.connections[event.connection.value];
    const uint32_t messages = connection.messages_per_iteration;
    if (event.index < messages) return {connection, event.index, 0};
    return {connection, event.index % messages, event.index / messages};
  }
  /// What sends the message, and what receives it.
  const EdgeMessages& sender_of(const MessagePlace& place) noexcept {
    const ConnectionId connection = place.connection.id;
    return plan_.senders.find(connection, place.index, sender_hints_[connection.value]);
  }
  const EdgeMessages& receiver_of(const MessagePlace& place) noexcept {
    const ConnectionId connection = place.connection.id;
    return plan_.receivers.find(connection, place.index, receiver_hints_[connection.value]);
  }
  /// The same at both ends, whether or not its operations have begun.
  MessageId id_of(const MessagePlace& place) noexcept;

  /// The identity of an event's message in words, and the name of the operation that sends it.
  std::string text(const Event& event) const;
  std::string operation_name(const Event& event) const;
  std::string node_name(RankId rank, uint32_t node) const;

 private:
  const Workload& workload_;
  const Plan& plan_;
  std::vector<uint32_t> sender_hints_, receiver_hints_;  // by connection, for MessageOwners::find
};

}  // namespace rankwire

// Which message a packet on a port belongs to.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/transport.h"
#include "dataplane/impairments/impairment.h"
#include "dataplane/protocol/message_parts.h"
#include "dataplane/wire/packet.h"

namespace rankwire {

/// What a transport does with messages, as far as packets show it.
struct FlowOptions {
  uint32_t mtu = 4096;
  uint32_t queue_pairs = 1;  ///< of a connection
  bool split = true;         ///< a message travels on all of them
  /// Messages travel as requests of their source, in the order in which they are posted, and end with an immediate or,
  /// control messages, with the request. Otherwise packets are known by their connection alone.
  bool pushed = true;
};

/// A packet in terms of the workload. An answer belongs to the message that it answers.
struct PacketPlace {
  PacketClass packets = PacketClass::kData;
  bool again = false;  ///< a repetition: see Transmissions
  bool last = false;   ///< the last packet of its request or response
  uint32_t flow = 0;   ///< the queue pair end that sends, or sent, the request
  uint32_t to = 0;     ///< the one that this packet goes to
  ConnectionId connection;
  uint32_t message = ImpairmentEvent::kUnknown;  ///< index
  uint32_t packet = ImpairmentEvent::kUnknown;
  uint32_t msn = 0;  ///< data: the requests that have ended with or before it
};

/// Follows the sequence numbers of all queue pairs. It is told what is posted, sees every packet that passes a port of
/// this process, and never changes one. All memory is taken by `connect`; one thread.
class ImpairmentFlows {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;

  explicit ImpairmentFlows(const FlowOptions& options) : options_(options) {}

  /// `ends`: all end points of the plan's connections.
  void connect(const TransportPlan& plan, std::span<const EndPoint> ends);

  /// The transport has taken the message. Before any of its packets passes.
  void posted(const Message& message) noexcept;
  /// The transport has reported the message at its source.
  void ended(ConnectionId connection, uint32_t index) noexcept;

  /// Nothing for a packet to a queue pair that is not known. Each packet is to be shown once on each side.
  std::optional<PacketPlace> place(const ParsedPacket& packet, PortSide side) noexcept;

  /// A queue pair's end.
  const EndPoint& end(uint32_t flow) const noexcept { return ends_[flow]; }
  /// Of an iteration.
  uint32_t messages_of(ConnectionId connection) const noexcept { return messages_of_[connection.value]; }

 private:
  /// A message on the way, in the list of its flow.
  struct OnTheWay {
    uint32_t index = 0, first_psn = 0;
    uint32_t next = kNone;
  };
  /// The requests that one end sends, and what they are answered by.
  struct Flow {
    ConnectionId connection;
    bool control = false;
    bool in_message = false;
    uint32_t peer = kNone;  ///< the end that they go to
    // By PortSide: the PSN behind all that have passed.
    uint32_t next_request[2] = {}, next_response[2] = {};
    uint32_t msn = 0;
    uint32_t oldest = kNone, newest = kNone;  ///< of its messages
    uint32_t sending = kNone;                 ///< the last that has begun
    uint32_t waiting = kNone;                 ///< the first that has not
  };
  struct Address {
    uint32_t queue_pair = 0;
    IpAddress ip;
    uint32_t end = kNone;
    auto operator<=>(const Address&) const = default;
  };

  uint32_t find(uint32_t queue_pair, const IpAddress& ip) const noexcept;
  bool note_passage(const ParsedPacket& packet, PacketClass packets, PortSide side, Flow& flow) const noexcept;
  void follow(const ParsedPacket& packet, Flow& flow) noexcept;
  void find_message(const ParsedPacket& packet, const Flow& flow, PacketPlace& place) const noexcept;
  void remove(Flow& flow, uint32_t index) noexcept;
  std::span<const uint32_t> flows_of(ConnectionId connection, uint32_t index) const noexcept;

  const FlowOptions options_;
  std::vector<EndPoint> ends_;
  std::vector<Flow> flows_;         // by end
  std::vector<Address> addresses_;  // sorted
  std::vector<uint32_t> flow_of_;   // by connection and member: the flow of its messages
  std::vector<uint32_t> messages_of_;
  std::vector<bool> control_;  // by connection
  SlotPool<OnTheWay> messages_{0};
};

}  // namespace rankwire

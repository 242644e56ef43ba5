// What is done to packets on purpose, and to which: the rules of an experiment, and the record of what they did. After
// Lumina (Yu et al., SIGCOMM 2023), which injects events at the k-th packet of a queue pair in a middlebox.
#pragma once

#include <cstdint>
#include <optional>
#include <type_traits>
#include <vector>

#include "base/id.h"
#include "base/units.h"
#include "dataplane/wire/opcode.h"
#include "dataplane/wire/packet.h"
#include "dataplane/wire/pause.h"

namespace rankwire {

enum class ImpairmentAction : uint8_t {
  kDrop,
  kDuplicate,       ///< a copy follows at once
  kDelay,           ///< by ImpairmentRule::delay; the queue pair's later packets overtake
  kReorder,         ///< behind the next ImpairmentRule::behind packets to the same queue pair
  kCorruptPayload,  ///< one bit is inverted; packets without payload are left alone
  kCorruptHeader,   ///< one bit of BTH, but for the byte that the ICRC does not cover
  kCorruptIcrc,     ///< one bit
  kMarkCe,          ///< ECN congestion experienced, whatever it was; the ICRC stays right, IPv4's checksum is made so
  kForgeAck,        ///< the sender is told that the packet has arrived
  kForgeNak,        ///< the sender is told that the packet is missing: NAK, PSN sequence error
  kForgeRnr,        ///< the sender is told that the receiver is not ready: RNR NAK, which asks to wait for 0.64 ms
  kForgeCnp,        ///< the sender is told that the packet met congestion
  kPause,           ///< a PFC frame is sent, at a time instead of for a packet
};

/// "drop", "corrupt_icrc": as the record says it.
const char* to_string(ImpairmentAction action);

/// Whether a packet's sender is told something that its receiver has not said.
constexpr bool is_forged(ImpairmentAction action) noexcept {
  return action == ImpairmentAction::kForgeAck || action == ImpairmentAction::kForgeNak ||
         action == ImpairmentAction::kForgeRnr || action == ImpairmentAction::kForgeCnp;
}

/// By which packets are chosen. A NAK is any acknowledgement that is not positive, receiver-not-ready included.
enum class PacketClass : uint8_t { kData, kAck, kNak, kCnp, kReadRequest, kReadResponse };

PacketClass class_of(const ParsedPacket& packet) noexcept;

/// Where a port is looked at.
enum class PortSide : uint8_t { kTransmit, kReceive };

/// "transmit", "receive".
const char* to_string(PortSide side);

/// Of data, READ requests and READ responses that pass a side of a port. Of other packets each is a first one.
enum class Transmissions : uint8_t {
  kFirst,  ///< those ahead of every sequence number that has passed there
  kAll,
};

/// Messages of a connection by their place in an iteration: kWhole stands for the connection, with the packets that
/// belong to no message.
struct MessageRange {
  static constexpr uint32_t kWhole = UINT32_MAX;

  ConnectionId connection;
  uint32_t first = 0, last = kWhole;  ///< both included

  bool operator==(const MessageRange&) const = default;
};

/// Acts on the packets that all of its conditions hold for. Forging acts on data; a forged packet seems to come from
/// the packet's receiver. On the transmitting side of a port it is received there, on the receiving side it is sent to
/// the packet's sender.
struct ImpairmentRule {
  static constexpr uint32_t kLastPacket = UINT32_MAX;

  ImpairmentAction action = ImpairmentAction::kDrop;

  PortSide side = PortSide::kTransmit;
  Transmissions transmissions = Transmissions::kFirst;
  std::optional<PortId> port;
  std::optional<PacketClass> packets;
  std::optional<std::vector<MessageRange>> messages;  ///< by connection, then `first`
  std::optional<uint32_t> iteration;
  std::optional<uint32_t> packet;  ///< of its message, or of the part that a queue pair carries, from 0; kLastPacket
  Time from, until = Time::never();
  // Of the packets that everything above holds for.
  uint64_t every = 1;                    ///< the n-th, 2n-th, ...; >= 1
  uint32_t probability_ppm = 1'000'000;  ///< of those, by the rule's own stream
  uint64_t limit = UINT64_MAX;           ///< of times that it acts

  Duration delay;                    ///< kDelay: > 0
  uint32_t behind = 1;               ///< kReorder: >= 1
  PauseFrame pause;                  ///< kPause
  std::optional<Duration> interval;  ///< kPause: > 0, between two frames from `from` on; absent: one frame
};

/// One thing that was done. Fields that do not apply are invalid ids or kUnknown.
struct ImpairmentEvent {
  static constexpr uint32_t kUnknown = UINT32_MAX;

  Time time;
  uint32_t rule = 0;  ///< index
  PortId port;
  ConnectionId connection;
  uint32_t message = kUnknown;  ///< Message::index
  uint32_t packet = kUnknown;   ///< of the message, or of the part that the queue pair carries
  uint32_t psn = kUnknown;
  Opcode opcode = Opcode::kAcknowledge;  ///< when there is a PSN
  PortSide side = PortSide::kTransmit;
};
static_assert(std::is_trivially_copyable_v<ImpairmentEvent> && sizeof(ImpairmentEvent) <= 40);

/// What became of a rule.
struct ImpairmentCount {
  uint64_t done = 0;
  uint64_t not_done = 0;  ///< chosen, and left alone: no free frame, no room to hold another, no payload to corrupt
};

}  // namespace rankwire

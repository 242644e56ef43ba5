// Packets that no peer of good faith sends: made from those that pass, with an ICRC that is right.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "base/random.h"
#include "dataplane/wire/packet.h"
#include "tests/dataplane/roce/impaired_port.h"

namespace rankwire::testing {

enum class Forgery : uint8_t {
  // Beside an acknowledgement, and to be ignored.
  kGhostAck,       ///< of a PSN never sent
  kOldNak,         ///< of a PSN acknowledged long ago
  kReservedNak,    ///< a syndrome without meaning
  kGhostResponse,  ///< to a READ that nobody asked for
  kAtomicAck,
  kNotification,  ///< a CNP
  // Beside a request, and to be ignored.
  kOldRead,  ///< of a PSN long before the expected one
  kUnknownQueuePair,
  kOtherSource,  ///< from an address that is not the peer's
  // Beside a READ response, and to be ignored.
  kShortResponse,
  // Beside an ACK, about the packet behind it, which is then sent again.
  kSequenceNak,
  kNotReadyNak,
  // The same, and the queue pair fails.
  kInvalidNak,
  kAccessNak,
  kOperationalNak,
  // Instead of a request, which is refused.
  kWrongOrder,   ///< an opcode that cannot stand there
  kOtherOpcode,  ///< atomics and SENDs with invalidate
  kWrongKey,
  kWrongRange,
  kWrongLength,
};

/// Whether the queue pair may fail with a remote error.
constexpr bool is_refused(Forgery forgery) {
  return forgery >= Forgery::kInvalidNak;
}

struct ForgeryRule {
  Forgery what = Forgery::kGhostAck;
  uint32_t ppm = 0;       ///< of the packets that it can be made from
  bool restarts = false;  ///< only from requests with which a queue pair goes back
};

/// What is done to the packets on the way to one port.
class Forger {
 public:
  using Kept = ImpairedPort::Kept;

  /// `reads`: messages are fetched by READ. Packets are of at most `mtu` bytes of payload.
  Forger(std::span<const ForgeryRule> rules, bool reads, uint32_t mtu, uint64_t seed)
      : rules_(rules.begin(), rules.end()), reads_(reads), mtu_(mtu), random_(seed) {}

  /// As ImpairedPort::forge: `forged` has room for `capacity` bytes.
  Kept forge(const Frame& frame, Frame& forged, uint32_t capacity);

 private:
  bool goes_back(const ParsedPacket& request);
  Kept forge_answer(Forgery what, const ParsedPacket& packet, Frame& forged);
  Kept forge_request(Forgery what, const ParsedPacket& packet, Frame& forged, uint32_t capacity);
  Kept answer_otherwise(const ParsedPacket& ack, uint8_t syndrome, int32_t ahead, Frame& forged) const;
  Kept write(const PacketPath& path, const ParsedPacket& packet, const OutboundPacket& changed, Kept kept,
             Frame& forged) const;
  void change_length(OutboundPacket& packet);
  Opcode wrong_order(Opcode opcode);

  const std::vector<ForgeryRule> rules_;
  const bool reads_;
  const uint32_t mtu_;
  Random random_;
  std::map<uint32_t, uint32_t> last_;  // PSN of requests, by destination queue pair
};

}  // namespace rankwire::testing

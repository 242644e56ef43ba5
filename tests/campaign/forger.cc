#include "tests/campaign/forger.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "dataplane/protocol/queue_pair.h"
#include "tests/dataplane/wire/packet_again.h"

namespace rankwire::testing {
namespace {

using Kept = ImpairedPort::Kept;

/// Farther than anything that a case has under way.
constexpr uint32_t kFar = 1 << 20;

bool is_send(Opcode opcode) {
  return opcode <= Opcode::kSendOnlyImmediate;
}
bool begins(Opcode opcode) {
  return opcode == Opcode::kSendFirst || opcode == Opcode::kSendOnly || opcode == Opcode::kSendOnlyImmediate ||
         opcode == Opcode::kWriteFirst || opcode == Opcode::kWriteOnly || opcode == Opcode::kWriteOnlyImmediate ||
         opcode == Opcode::kReadRequest;
}
bool is_full(Opcode opcode) {
  return opcode == Opcode::kSendFirst || opcode == Opcode::kSendMiddle || opcode == Opcode::kWriteFirst ||
         opcode == Opcode::kWriteMiddle;
}

// The opcode at the same place of a message that ends with it, without immediate.
Opcode ended(Opcode opcode) {
  const VerbOpcodes& opcodes = opcodes_of(is_send(opcode) ? Verb::kSend : Verb::kWrite);
  return begins(opcode) ? opcodes.only : opcodes.last;
}

}  // namespace

Kept Forger::forge(const Frame& frame, Frame& forged, uint32_t capacity) {
  const ParsedPacket packet = parse(frame);
  if (packet.reject != Reject::kNone || packet.opcode == Opcode::kCongestionNotification) return Kept::kFirst;
  const bool restarts = !is_response(packet.opcode) && goes_back(packet);
  for (const ForgeryRule& rule : rules_) {
    if ((rule.restarts && !restarts) || !random_.chance(rule.ppm)) continue;
    const Kept kept = is_response(packet.opcode) ? forge_answer(rule.what, packet, forged)
                                                 : forge_request(rule.what, packet, forged, capacity);
    if (kept != Kept::kFirst) return kept;
  }
  return Kept::kFirst;
}

bool Forger::goes_back(const ParsedPacket& request) {
  const auto [found, first] = last_.try_emplace(request.destination_qp, request.psn);
  if (first) return false;
  return psn_distance(std::exchange(found->second, request.psn), request.psn) <= 0;
}

Kept Forger::forge_answer(Forgery what, const ParsedPacket& packet, Frame& forged) {
  OutboundPacket changed = outbound_of(packet);
  if (what == Forgery::kShortResponse) {
    if (!is_read_response(packet.opcode) || packet.payload_length < 8) return Kept::kFirst;
    changed.payload_length -= 4;
    return write(path_of(packet), packet, changed, Kept::kBoth, forged);
  }
  const bool is_ack =
      packet.opcode == Opcode::kAcknowledge && (packet.syndrome & kSyndromeTypeMask) == kSyndromeTypeAck;
  if (!is_ack) return Kept::kFirst;
  constexpr auto kFarAhead = static_cast<int32_t>(kFar);
  switch (what) {
    case Forgery::kGhostAck:
      return answer_otherwise(packet, packet.syndrome, kFarAhead, forged);
    case Forgery::kOldNak:
      return answer_otherwise(packet, static_cast<uint8_t>(Syndrome::kNakSequence), -kFarAhead, forged);
    case Forgery::kReservedNak:
      return answer_otherwise(packet, static_cast<uint8_t>(random_.chance(500'000) ? 0x64 + random_.below(28) : 0x40),
                              1, forged);
    case Forgery::kGhostResponse:
      changed.opcode = Opcode::kReadResponseOnly;
      changed.psn = psn_add(packet.psn, reads_ ? kFar : static_cast<uint32_t>(random_.below(16)) - 4);
      return write(path_of(packet), packet, changed, Kept::kBoth, forged);
    case Forgery::kAtomicAck:
      changed.opcode = Opcode::kAtomicAcknowledge;
      return write(path_of(packet), packet, changed, Kept::kBoth, forged);
    case Forgery::kNotification:
      write_congestion_notification(make_template(path_of(packet)), 64, forged);
      return Kept::kBoth;
    case Forgery::kSequenceNak:
      return answer_otherwise(packet, static_cast<uint8_t>(Syndrome::kNakSequence), 1, forged);
    case Forgery::kNotReadyNak:
      return answer_otherwise(packet, static_cast<uint8_t>(kSyndromeTypeNotReady | (1 + random_.below(6))), 1, forged);
    case Forgery::kInvalidNak:
      return answer_otherwise(packet, static_cast<uint8_t>(Syndrome::kNakInvalidRequest), 1, forged);
    case Forgery::kAccessNak:
      return answer_otherwise(packet, static_cast<uint8_t>(Syndrome::kNakRemoteAccess), 1, forged);
    case Forgery::kOperationalNak:
      return answer_otherwise(packet, static_cast<uint8_t>(Syndrome::kNakRemoteOperational), 1, forged);
    default:
      return Kept::kFirst;
  }
}

// What the peer has acknowledged stays acknowledged: only then nothing is lost.
Kept Forger::answer_otherwise(const ParsedPacket& ack, uint8_t syndrome, int32_t ahead, Frame& forged) const {
  write_acknowledgement(make_template(path_of(ack)),
                        {.psn = psn_add(ack.psn, static_cast<uint32_t>(ahead)), .msn = ack.msn, .syndrome = syndrome},
                        forged);
  return Kept::kBoth;
}

Kept Forger::forge_request(Forgery what, const ParsedPacket& packet, Frame& forged, uint32_t capacity) {
  OutboundPacket changed = outbound_of(packet);
  const bool has_key = layout_of(packet.opcode).reth && packet.dma_length > 0;
  switch (what) {
    case Forgery::kOldRead:
      changed.opcode = Opcode::kReadRequest;
      changed.psn = psn_add(packet.psn, -kFar);
      changed.payload_length = 0;
      return write(path_of(packet), packet, changed, Kept::kBoth, forged);
    case Forgery::kUnknownQueuePair: {
      PacketPath path = path_of(packet);
      path.destination_qp = kQueuePairMask - static_cast<uint32_t>(random_.below(kFar));
      return write(path, packet, changed, Kept::kBoth, forged);
    }
    case Forgery::kWrongOrder:
      changed.opcode = wrong_order(packet.opcode);
      if (changed.opcode == Opcode::kReadRequest) changed.payload_length = 0;
      return write(path_of(packet), packet, changed, Kept::kSecond, forged);
    case Forgery::kOtherOpcode: {
      constexpr Opcode kOthers[] = {Opcode::kCompareSwap, Opcode::kFetchAdd, Opcode::kSendLastInvalidate,
                                    Opcode::kSendOnlyInvalidate};
      changed.opcode = kOthers[random_.below(std::size(kOthers))];
      if (!layout_of(changed.opcode).payload) changed.payload_length = 0;
      return write(path_of(packet), packet, changed, Kept::kSecond, forged);
    }
    case Forgery::kWrongKey:
      changed.rkey ^= 1;
      return has_key ? write(path_of(packet), packet, changed, Kept::kSecond, forged) : Kept::kFirst;
    case Forgery::kWrongRange:
      changed.address += uint64_t{1} << 60;
      return has_key ? write(path_of(packet), packet, changed, Kept::kSecond, forged) : Kept::kFirst;
    case Forgery::kWrongLength:
      change_length(changed);
      if (changed.payload_length + kMaxHeaderBytes + kTrailerRoom > capacity) return Kept::kFirst;
      return write(path_of(packet), packet, changed, Kept::kSecond, forged);
    case Forgery::kOtherSource: {
      PacketPath path = path_of(packet);
      path.source_ip = Ipv4Address{0xC612FF01};
      return write(path, packet, changed, Kept::kBoth, forged);
    }
    default:
      return Kept::kFirst;
  }
}

// To a length that cannot stand there; a packet that is not the last may become it, and end its message too early.
void Forger::change_length(OutboundPacket& packet) {
  if (packet.opcode == Opcode::kReadRequest) {
    // More packets than a READ may have, if they are short.
    packet.dma_length = INT32_MAX;
    return;
  }
  const bool full = is_full(packet.opcode);
  if (full && random_.chance(500'000)) {
    packet.opcode = ended(packet.opcode);
    if (!is_send(packet.opcode)) return;
  } else if (full || !is_send(packet.opcode)) {
    packet.payload_length += packet.payload_length >= 4 ? -4 : 4;
    return;
  }
  packet.payload_length = begins(packet.opcode) ? mtu_ + 4 : 0;
}

// An opcode that continues what has not begun, or begins anew, or goes on with another verb, while a packet with this
// one is expected.
Opcode Forger::wrong_order(Opcode opcode) {
  constexpr Opcode kSends[] = {Opcode::kSendFirst,         Opcode::kSendMiddle, Opcode::kSendLast,
                               Opcode::kSendLastImmediate, Opcode::kSendOnly,   Opcode::kSendOnlyImmediate};
  constexpr Opcode kWrites[] = {Opcode::kWriteFirst,         Opcode::kWriteMiddle, Opcode::kWriteLast,
                                Opcode::kWriteLastImmediate, Opcode::kWriteOnly,   Opcode::kWriteOnlyImmediate};
  // READs are permitted where messages are fetched.
  if (random_.chance(150'000) && !(reads_ && begins(opcode))) return Opcode::kReadRequest;
  for (;;) {
    const bool other_verb = random_.chance(500'000);
    const Opcode wrong = (is_send(opcode) != other_verb ? kSends : kWrites)[random_.below(std::size(kSends))];
    if (begins(opcode) ? !begins(wrong) : begins(wrong) || is_send(wrong) != is_send(opcode)) return wrong;
  }
}

Kept Forger::write(const PacketPath& path, const ParsedPacket& packet, const OutboundPacket& changed, Kept kept,
                   Frame& forged) const {
  write_headers(make_template(path), changed, forged);
  if (layout_of(changed.opcode).payload) {
    const uint32_t known = std::min(packet.payload_length, changed.payload_length);
    uint8_t* const payload = forged.head + forged.head_length;
    if (known > 0) std::memcpy(payload, packet.payload, known);
    std::memset(payload + known, 0, changed.payload_length - known);
    forged.head_length = static_cast<uint16_t>(forged.head_length + changed.payload_length);
  }
  seal(forged);
  return kept;
}

}  // namespace rankwire::testing

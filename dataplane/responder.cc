#include "dataplane/responder.h"

namespace rankwire {
namespace {

struct WriteForm {
  bool is_write = false, first = false, last = false;
};

constexpr WriteForm form_of(Opcode opcode) {
  switch (opcode) {
    case Opcode::kWriteFirst:
      return {true, true, false};
    case Opcode::kWriteMiddle:
      return {true, false, false};
    case Opcode::kWriteLast:
    case Opcode::kWriteLastImmediate:
      return {true, false, true};
    case Opcode::kWriteOnly:
    case Opcode::kWriteOnlyImmediate:
      return {true, true, true};
    default:
      return {};
  }
}

// IBTA 9.7.4.1.6 for a packet in front of which `remaining` bytes of its message are missing.
bool length_is_valid(const WriteForm& form, const ParsedPacket& packet, uint32_t remaining, uint32_t mtu) {
  if (!form.last) return packet.payload_length == mtu && packet.pad == 0 && remaining > mtu;
  return packet.payload_length == remaining && remaining <= mtu && packet.pad == (-remaining & 3);
}

// IBTA 9.7.4.1.5: an empty message touches no memory and needs no valid key.
bool access_is_valid(const ParsedPacket& packet, const MemoryRegion& region) {
  if (packet.dma_length == 0) return true;
  if (packet.rkey != region.rkey || packet.address < region.address) return false;
  const uint64_t offset = packet.address - region.address;
  return offset <= region.bytes && packet.dma_length <= region.bytes - offset;
}

}  // namespace

Reception Responder::receive(const ParsedPacket& packet, uint32_t mtu) noexcept {
  if (state_ == State::kError) return {};
  if (const int32_t ahead = psn_distance(expected_, packet.psn); ahead != 0) return out_of_order(ahead);

  const WriteForm form = form_of(packet.opcode);
  if (!form.is_write || form.first == in_message_) return refuse(Syndrome::kNakInvalidRequest);
  const uint32_t remaining = form.first ? packet.dma_length : remaining_;
  if (!length_is_valid(form, packet, remaining, mtu)) return refuse(Syndrome::kNakInvalidRequest);
  if (form.first && !access_is_valid(packet, region_)) return refuse(Syndrome::kNakRemoteAccess);

  if (form.first) message_bytes_ = packet.dma_length;
  remaining_ = remaining - packet.payload_length;
  in_message_ = !form.last;
  if (form.last) msn_ = psn_add(msn_, 1);
  expected_ = psn_add(expected_, 1);
  nak_outstanding_ = false;
  // A NAK not yet sent asks for what has just arrived: say so instead.
  if (packet.ack_request || owed_ == Owed::kNak) owed_ = Owed::kAck;
  return {Arrival::kAccepted, message_bytes_ - remaining, message_bytes_, form.first, form.last};
}

Reception Responder::out_of_order(int32_t ahead) noexcept {
  Reception reception;
  if (ahead < 0) {
    reception.arrival = Arrival::kDuplicate;
    if (owed_ == Owed::kNothing) owed_ = Owed::kAck;
  } else if (nak_outstanding_) {
    reception.arrival = Arrival::kAhead;
  } else {
    reception.arrival = Arrival::kGap;
    nak_outstanding_ = true;
    nak_ = Syndrome::kNakSequence;
    owed_ = Owed::kNak;
  }
  return reception;
}

Reception Responder::refuse(Syndrome syndrome) noexcept {
  state_ = State::kError;
  nak_ = syndrome;
  owed_ = Owed::kNak;
  return {.arrival = Arrival::kRefused};
}

Acknowledgement Responder::take_reply() noexcept {
  const bool nak = owed_ == Owed::kNak;
  owed_ = Owed::kNothing;
  // An ACK names the newest packet in order, a NAK the packet that is expected.
  return {.psn = nak ? expected_ : psn_add(expected_, kPsnMask),
          .msn = msn_,
          .syndrome = static_cast<uint8_t>(nak ? nak_ : Syndrome::kAck)};
}

}  // namespace rankwire

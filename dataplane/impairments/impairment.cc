#include "dataplane/impairments/impairment.h"

namespace rankwire {

const char* to_string(ImpairmentAction action) {
  switch (action) {
    case ImpairmentAction::kDrop:
      return "drop";
    case ImpairmentAction::kDuplicate:
      return "duplicate";
    case ImpairmentAction::kDelay:
      return "delay";
    case ImpairmentAction::kReorder:
      return "reorder";
    case ImpairmentAction::kCorruptPayload:
      return "corrupt_payload";
    case ImpairmentAction::kCorruptHeader:
      return "corrupt_header";
    case ImpairmentAction::kCorruptIcrc:
      return "corrupt_icrc";
    case ImpairmentAction::kMarkCe:
      return "mark_ce";
    case ImpairmentAction::kForgeAck:
      return "forge_ack";
    case ImpairmentAction::kForgeNak:
      return "forge_nak";
    case ImpairmentAction::kForgeRnr:
      return "forge_rnr";
    case ImpairmentAction::kForgeCnp:
      return "forge_cnp";
    case ImpairmentAction::kPause:
      return "pause";
  }
  return "unknown";
}

const char* to_string(PortSide side) {
  return side == PortSide::kTransmit ? "transmit" : "receive";
}

PacketClass class_of(const ParsedPacket& packet) noexcept {
  if (packet.opcode == Opcode::kAcknowledge) {
    const bool positive = (packet.syndrome & kSyndromeTypeMask) == kSyndromeTypeAck;
    return positive ? PacketClass::kAck : PacketClass::kNak;
  }
  if (packet.opcode == Opcode::kAtomicAcknowledge) return PacketClass::kAck;
  if (packet.opcode == Opcode::kCongestionNotification) return PacketClass::kCnp;
  if (packet.opcode == Opcode::kReadRequest) return PacketClass::kReadRequest;
  return is_read_response(packet.opcode) ? PacketClass::kReadResponse : PacketClass::kData;
}

}  // namespace rankwire

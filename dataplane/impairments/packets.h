// Packets changed and packets made up, for impairments.
#pragma once

#include <cstdint>
#include <span>

#include "base/random.h"
#include "dataplane/impairments/impairment.h"
#include "dataplane/wire/frame.h"
#include "dataplane/wire/packet.h"

namespace rankwire {

/// Copies a whole frame behind each other into `copy`, an allocated frame with room for it.
void copy_whole(const Frame& frame, Frame& copy) noexcept;

/// Does kCorruptPayload, kCorruptHeader, kCorruptIcrc or kMarkCe to a packet that stands wholly in `head`, as `parse`
/// read it. False when the packet has nothing to change.
bool change_packet(ImpairmentAction action, const ParsedPacket& packet, Random& random, Frame& frame) noexcept;

/// What a packet's receiver would say to its sender.
struct ForgedAnswer {
  ImpairmentAction action = ImpairmentAction::kForgeAck;  ///< is_forged
  uint32_t queue_pair = 0;                                ///< the sender's
  uint32_t msn = 0;                                       ///< of an ACK or NAK
  Markings markings;
  uint8_t hop_limit = 64;
};

/// Writes it, with its ICRC, into an allocated frame: the same addresses the other way, VLAN and UDP source port.
void write_forged(const ForgedAnswer& answer, const ParsedPacket& packet, Frame& frame) noexcept;

}  // namespace rankwire

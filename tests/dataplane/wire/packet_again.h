// A packet that was read, as what writes it again.
#pragma once

#include "dataplane/wire/packet.h"

namespace rankwire::testing {

/// The way of an accepted packet; its marking is that of all kinds. UDP source port, flow label and hop limit are not
/// those of the packet but for the first.
inline PacketPath path_of(const ParsedPacket& packet) {
  const Marking marking{.dscp = packet.dscp, .ecn = packet.ecn, .priority = packet.priority};
  PacketPath path{.source_mac = packet.ethernet().source,
                  .destination_mac = packet.ethernet().destination,
                  .source_ip = packet.source_ip(),
                  .destination_ip = packet.destination_ip(),
                  .source_port = packet.udp().source_port.value(),
                  .destination_qp = packet.destination_qp,
                  .markings = {.data = marking, .ack = marking, .nak = marking, .cnp = marking}};
  if (packet.ip_offset != sizeof(EthernetHeader)) path.vlan = packet.vlan;
  return path;
}

inline OutboundPacket outbound_of(const ParsedPacket& packet) {
  return {.opcode = packet.opcode,
          .ack_request = packet.ack_request,
          .solicited = packet.solicited,
          .psn = packet.psn,
          .payload_length = packet.payload_length,
          .immediate = packet.immediate,
          .rkey = packet.rkey,
          .dma_length = packet.dma_length,
          .address = packet.address,
          .syndrome = packet.syndrome,
          .msn = packet.msn};
}

}  // namespace rankwire::testing

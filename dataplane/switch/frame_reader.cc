#include "dataplane/switch/frame_reader.h"

namespace rankwire {

FrameReader::FrameReader(FabricTables& tables, const FabricOptions& options)
    : tables_(tables),
      alone_(tables.switches.size() == 1),
      balancing_(options.balancing),
      stations_(options.addresses) {
  for (const FabricStation& station : options.stations)
    stations_.learn(mac_number(station.mac), static_cast<uint16_t>(station.host));
}

void FrameReader::read_early(uint32_t port, const Frame& frame, FabricPacket& packet) noexcept {
  packet.destination = FabricPacket::kUnread;
  if (moved_ || is_runt(frame)) return __builtin_prefetch(frame.head);
  const FrameHeaders headers = read_headers(frame);
  if (is_group(headers.source) || is_group(headers.destination) || !is_known(port, headers.source)) return;
  note_headers(port, frame, headers, packet);
  packet.destination = stations_.port_of(headers.destination).value_or(FabricPacket::kUnread);
}

/// Whether the station is behind the port; none has moved. Most hosts send from one.
bool FrameReader::is_known(uint32_t port, uint64_t source) noexcept {
  FabricHost& host = tables_.host_of(port);
  if (host.station == source) return true;
  if (stations_.port_of(source) != host_of(port)) return false;
  host.station = source;
  return true;
}

bool FrameReader::classify(uint32_t port, const Frame& frame, FabricPacket& packet) noexcept {
  if (is_runt(frame)) return false;
  const FrameHeaders headers = read_headers(frame);
  if (!is_group(headers.source)) moved_ |= stations_.learn(headers.source, host_of(port));
  if (is_reserved_group(headers.destination)) return false;
  note_headers(port, frame, headers, packet);
  packet.destination = is_group(headers.destination)
                           ? FabricPacket::kFlooded
                           : stations_.port_of(headers.destination).value_or(FabricPacket::kFlooded);
  return true;
}

void FrameReader::note_headers(uint32_t port, const Frame& frame, const FrameHeaders& headers,
                               FabricPacket& packet) noexcept {
  // A switch alone has no two ways to choose from.
  packet.flow = alone_ ? 0 : flow_of(frame, headers, balancing_);
  packet.priority = priority_of(headers, tables_.switch_of(port).options.classes);
  packet.ecn_capable = headers.ecn_capable;
}

}  // namespace rankwire

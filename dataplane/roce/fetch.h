// Memory that a received frame is going to need, fetched beforehand: to be inlined where that is.
#pragma once

#include "dataplane/roce/queue_pairs.h"
#include "dataplane/wire/frame.h"
#include "dataplane/wire/headers.h"
#include "dataplane/wire/mirror_image.h"

namespace rankwire {

/// Where BTH stands if the frame, of at least kMinBaseHeaderBytes, is a RoCEv2 packet.
inline uint32_t bth_offset_of(const uint8_t* head) noexcept {
  if (reinterpret_cast<const EthernetHeader*>(head)->ether_type == Be16(kEtherTypeIpv4)) [[likely]]
    return MirrorImage::kBth;
  uint32_t ip = sizeof(EthernetHeader);
  if (reinterpret_cast<const EthernetHeader*>(head)->ether_type == Be16(kEtherTypeVlan)) ip += sizeof(VlanTag);
  const size_t ip_bytes = head[ip] >> 4 == 6 ? sizeof(Ipv6Header) : sizeof(Ipv4Header);
  return ip + static_cast<uint32_t>(ip_bytes + sizeof(UdpHeader));
}

/// What a packet of this frame would need of its queue pair, which is returned, or kNone. Like others that only fetch,
/// it would go away if it were called instead of inlined: the compiler knows of no effect.
[[gnu::always_inline]] inline uint32_t prefetch_state(const Frame& frame, const QueuePairTables& tables) noexcept {
  if (frame.head_length < kMinBaseHeaderBytes) return QueuePairs::kNone;
  const uint32_t bth_offset = bth_offset_of(frame.head);
  if (frame.head_length < bth_offset + sizeof(Bth)) return QueuePairs::kNone;
  const Bth& bth = *reinterpret_cast<const Bth*>(frame.head + bth_offset);
  const uint32_t i = tables.index_of(bth.destination_qp.value());
  if (i >= tables.size) return QueuePairs::kNone;
  __builtin_prefetch(&tables.templates[i]);
  __builtin_prefetch(tables.templates[i].header_end() - 1);
  __builtin_prefetch(&tables.ends[i], 1);
  if (is_response(bth.opcode)) {
    __builtin_prefetch(&tables.requesters[i], 1);
    __builtin_prefetch(reinterpret_cast<const uint8_t*>(&tables.requesters[i]) + 64, 1);
  } else {
    __builtin_prefetch(&tables.responders[i], 1);
    __builtin_prefetch(&tables.inboxes[i], 1);
  }
  return i;
}

}  // namespace rankwire

// UDP source ports: what spreads RoCEv2 packets over equal-cost paths (IBTA Annex A17.4.4).
#pragma once

#include <cstdint>

#include "base/message.h"

namespace rankwire {

enum class SourcePortPolicy : uint8_t {
  kLinux,       ///< one port a queue pair, from the two queue pair numbers
  kFixed,       ///< one port for everything
  kPerMessage,  ///< a port a message, from queue pair and message index
  kPerPacket,   ///< a port a packet, from queue pair and PSN: packet spraying
};

/// Where the ports that stand for entropy begin; they end with 0xFFFF.
constexpr uint16_t kFirstEntropyPort = 0xC000;
constexpr uint16_t kEntropyPortMask = 0x3FFF;

/// Linux's flow label of a queue pair that was given none (rdma_calc_flow_label in include/rdma/ib_verbs.h): 20 bits,
/// the same in both directions.
constexpr uint32_t linux_flow_label(uint32_t local_qp, uint32_t remote_qp) noexcept {
  uint64_t v = static_cast<uint64_t>(local_qp) * remote_qp;
  v ^= v >> 20;
  v ^= v >> 40;
  return static_cast<uint32_t>(v & 0xFFFFF);
}

/// Linux's source port for a flow label of 20 bits (rdma_flow_label_to_udp_sport): 0xC000 .. 0xFFFF.
constexpr uint16_t linux_source_port(uint32_t flow_label) noexcept {
  return static_cast<uint16_t>(kFirstEntropyPort | ((flow_label & kEntropyPortMask) ^ (flow_label >> 14)));
}

/// The same without a flow label. mlx5, irdma, hns and rxe use it.
constexpr uint16_t linux_source_port(uint32_t local_qp, uint32_t remote_qp) noexcept {
  return linux_source_port(linux_flow_label(local_qp, remote_qp));
}

/// A port from 0xC000 .. 0xFFFF, uniform over `number`, the index of a message or a PSN, of the flow to `remote_qp`.
constexpr uint16_t hashed_source_port(uint32_t remote_qp, uint32_t number) noexcept {
  return static_cast<uint16_t>(kFirstEntropyPort | (mix64(uint64_t{remote_qp} << 32 | number) & kEntropyPortMask));
}

}  // namespace rankwire

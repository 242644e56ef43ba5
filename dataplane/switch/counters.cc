// What a fabric tells of its ports.
#include <algorithm>
#include <numeric>

#include "dataplane/switch/tables.h"

namespace rankwire {

uint64_t FabricPortCounters::dropped() const {
  return std::accumulate(drops.begin(), drops.end(), uint64_t{0});
}

FabricPortCounters FabricTables::counters(uint32_t port) const {
  FabricPortCounters c = details[port].counters;
  for (uint32_t i = 0; i < kPriorities; ++i) {
    const FabricIngress& in = ingress(port, i);
    const FabricEgress& out = egress(port, i);
    c.rx_frames += in.frames;
    c.rx_bytes += in.bytes;
    c.tx_frames += out.frames;
    c.tx_bytes += out.bytes;
    c.peak_queue = std::max(c.peak_queue, out.peak);
  }
  if (!is_host_port(port)) return c;
  const FabricHost& host = hosts[port - first_host_port];
  c.rx_frames = host.rx_frames;
  c.rx_bytes = host.rx_bytes;
  c.tx_frames = host.tx_frames;
  c.tx_bytes = host.tx_bytes;
  return c;
}

bool FabricTables::conserved() const {
  uint64_t in = 0, out = packets.used();
  for (uint32_t port = 0; port < port_count; ++port) {
    const FabricPortCounters c = counters(port);
    in += c.flood_copies + c.pauses_made;
    out += c.dropped();
    if (!is_host_port(port)) continue;
    in += c.rx_frames;
    out += c.tx_frames + c.pauses_rx;
  }
  return in == out;
}

}  // namespace rankwire

// The network of many switches, with the paths that their hashes choose.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "fabric/network.h"
#include "fabric/topology.h"

namespace rankwire {

struct FabricNetworkOptions {
  std::vector<std::string> hosts;  ///< names of the ports, by PortId, which are the topology's hosts
  Duration switch_latency;
  bool cut_through = false;
  std::vector<uint64_t> hash_seeds;  ///< by switch, see `ecmp_member`
  Framing framing;
  Bandwidth local_bandwidth;  ///< each rank into and out of the local interconnect
  Duration local_latency;     ///< one way
};

/// The `flow_hash` of each queue pair of a connection, over which its bytes are spread evenly. Empty: every switch
/// deals the connection's packets out evenly among its equal paths, as for spraying.
using FlowHashes = std::vector<uint32_t>;

/// Links: out of each port of the topology (see Topology), then up from each host, then out and in of each rank. All
/// cables are in use. `flows` is by connection; those of local ones are not looked at. A switch's latency is counted
/// with the link that leads to it. As in `star_network` frames are longer with IPv6 and VLANs.
Network fabric_network(const Topology& topology, const FabricNetworkOptions& options, const TransportPlan& plan,
                       std::span<const FlowHashes> flows);

}  // namespace rankwire

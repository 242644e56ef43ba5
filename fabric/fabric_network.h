// The network of many switches, with the paths that their hashes choose.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "fabric/cable_event.h"
#include "fabric/network.h"
#include "fabric/topology.h"

namespace rankwire {

struct FabricNetworkOptions {
  std::vector<std::string> hosts;  ///< names of the ports, by PortId, which are the topology's hosts
  Duration switch_latency;
  bool cut_through = false;
  std::vector<uint64_t> hash_seeds;  ///< by switch, see `ecmp_member`
  Framing framing;
  Bandwidth local_bandwidth;         ///< each rank into and out of the local interconnect
  Duration local_latency;            ///< one way
  std::vector<CableEvent> schedule;  ///< in the order of time
  Duration convergence;              ///< from a cable's change until routes follow it, >= 0
};

/// The `flow_hash` of each queue pair of a connection, over which its bytes are spread evenly. Empty: every switch
/// deals the connection's packets out evenly among its equal paths, as for spraying.
using FlowHashes = std::vector<uint32_t>;

/// Links: out of each port of the topology (see Topology), then up from each host, then out and in of each rank.
/// `flows` is by connection; those of local ones are not looked at. A switch's latency is counted with the link that
/// leads to it. As in `star_network` frames are longer with IPv6 and VLANs.
///
/// The routes are those with all cables in use; by the schedule they become those of the cables that are. Nothing
/// passes on a connection any part of which would take a cable that is down, before routes follow, or finds no way. A
/// cable whose rate or latency changes is other links meanwhile (Link::whole), behind all that are named above; what
/// cables lose is not known here.
Network fabric_network(const Topology& topology, const FabricNetworkOptions& options, const TransportPlan& plan,
                       std::span<const FlowHashes> flows);

}  // namespace rankwire

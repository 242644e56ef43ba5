// What the reference model believes of the network.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "emulator/assembly/setup.h"
#include "fabric/fabric_network.h"

namespace rankwire {

/// The ports' rates and the modelled interconnect, and in the middle one switch, or the switches of the key `fabric`
/// with the paths that their hashes choose for the queue pairs of a RoceTransport that has all ports.
Network reference_network(const Setup& setup);
/// The same while no cable fails or gets worse.
Network unharmed_network(const Setup& setup);
/// The same as the first, if every switch dealt the packets of each connection out evenly among its equal paths. The
/// first itself where there are none, or no hashes choose among them.
Network even_network(const Setup& setup);

/// As `unharmed_network`, of what goes from each connection's destination to its source: the acknowledgements.
Network acknowledgement_network(const Setup& setup);

/// The modelled interconnect alone: what carries the connections that an emulated run or a twin has no wire for, or
/// those of them that are `wanted`.
Network interconnect(const Setup& setup, const std::function<bool(ConnectionId)>& wanted = nullptr);

/// What carries, in a run of which part is on wires, everything else: the whole network, with routes for what no wire
/// carries. Of what is on wires those connections have a route, too, that share a link with such a one: they are loads.
Network modelled_network(const Setup& setup);

/// What goes from the source of a connection to its destination, or the other way.
enum class Direction : uint8_t { kData, kAcknowledgements };

/// By connection, for the switches of the key `fabric`, which is set: what they tell its queue pairs apart by. Empty
/// where a message or a packet, not a queue pair, decides about the path.
std::vector<FlowHashes> flow_hashes(const Setup& setup, Direction direction = Direction::kData);

}  // namespace rankwire

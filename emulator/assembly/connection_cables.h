// What is known before a run of the cables that its connections take.
#pragma once

#include <cstddef>
#include <vector>

#include "emulator/assembly/setup.h"
#include "emulator/record/connection_cables.h"

namespace rankwire {

/// Of more connections nothing is told: the routes of both directions take half a kilobyte each.
inline constexpr size_t kMostConnectionsWithCables = 1 << 16;

/// Of all connections on the wire between ports at different switches of the key `fabric`, by connection. Empty where
/// there are none, where something else than the hash of a queue pair decides about its way, where a connection's queue
/// pairs or a cable's failure make it take several, and of too many connections.
std::vector<ConnectionCables> connection_cables(const Setup& setup);

}  // namespace rankwire

// The reference's network as NICs use it.
#pragma once

#include <cstdint>

#include "emulator/assembly/setup.h"
#include "fabric/network.h"

namespace rankwire {

/// What a model of the network knows of NICs.
enum class Nics : uint8_t {
  kIdeal,  ///< nothing: they share their lines fairly, and acknowledge without taking time on any
  kShare,  ///< acknowledgements take time
  kTurns,  ///< so they do, and ports that several senders share have turns
};

/// `network` with what its exact model leaves out of NICs: of kIdeal itself.
///
/// Links out of ports that several ranks share, or several channels of a rank, have turns. Of k ranks behind a port,
/// each in a chain of messages that take t on its line and then arrive after a delay d, fair shares end all k messages
/// of a step together after k t, and the line is idle for d. NICs send packets in turn, so that one of the messages
/// ends before the others, its successor has the line for itself for a while, and ends still earlier: after some steps
/// a chain's next message is ready when the others' have gone out, and a step takes the longer of k t and t + d,
/// whether turns are one packet or many. So a turn is what the line sends during the longest delay of a message from
/// this port, or what `transport.turn` says, of each queue pair, where that is more. At other ports fair shares leave
/// nothing idle. Turns are first come, first served here, and what meets further on shares from then on, where a switch
/// has a buffer: all-to-alls among hosts with several NICs may take an eighth longer than with fair shares.
///
/// Messages on the wire are acknowledged out of their destination's port as `transport.ack_every` says, unless they are
/// fetched by READ.
Network network_with(Nics nics, const Setup& setup, Network network);

/// Whether any port has turns with kTurns.
bool has_shared_ports(const Setup& setup);

}  // namespace rankwire

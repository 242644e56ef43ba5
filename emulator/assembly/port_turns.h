// How much of the reference's time may be ports that stand idle where a NIC would not.
#pragma once

#include <optional>

#include "emulator/assembly/run_control.h"
#include "emulator/assembly/setup.h"
#include "fabric/network.h"

namespace rankwire {

/// `network` with routes whose delay is lower by what NICs that take turns may hide; absent where no port is shared by
/// several ranks or channels of a rank, where connections change their ways, and with background traffic.
///
/// Of k ranks behind a port, or channels of a collective, each in a chain of messages that take t on its line and then
/// arrive after a delay d, fair shares end all k messages of a step together after k t, and the line is idle for d.
/// Where packets take turns of one chain after the other, the first one's next message is ready when the others' have
/// gone out: a step takes the longer of k t and t + d, and that is k t with a delay of d - (k - 1) t, where it is
/// positive. So each connection from or to a port of k chains has this delay, by its largest message, of what
/// `forwarding_time` says, and otherwise shares links as before, but that the first 64 bytes of a frame still count at
/// each hop. Where fewer than k chains send at a time turns hide less than that. For chains of equal steps this is the
/// time with turns, in others a bound from below of what the delays are worth; it does not cover that a turn may come
/// to whom all others wait for.
std::optional<Network> network_with_turns(const Setup& setup, const Network& network);

/// The completion time of the model `flow` over `network_with_turns`, all else alike, or of the first member of its
/// ensemble there, whichever is less: groups in step wait for each other with and without turns. Absent where that
/// network is, and where neither run ends well.
std::optional<Duration> completion_with_turns(const Setup& setup, const RunControl& control);

}  // namespace rankwire

// The ports of hosts that are modelled, where a configuration leaves them out.
#pragma once

#include "emulator/input/tree.h"

namespace rankwire {

/// With `hybrid.rate` the list `ports` has those of the wired hosts alone, host by host in ascending order: writes the
/// others out between them, as many for each host, and takes the key away. Throws Error(kInput) naming file, line and
/// key where they are not as many for each, or are more than `most` with the others.
void write_out_modelled_ports(Tree& root, size_t most);

}  // namespace rankwire

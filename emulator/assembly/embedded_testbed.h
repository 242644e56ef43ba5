// Ports in memory, or on DPDK's rings, on the embedded switch.
#pragma once

#include <memory>

#include "emulator/assembly/open_ports.h"
#include "emulator/assembly/setup.h"
#include "emulator/assembly/testbed.h"
#include "emulator/assembly/workers.h"

namespace rankwire {

/// In real time, for these workers; as make_testbed otherwise, of which it is a part. All ports are embedded.
std::unique_ptr<Testbed> make_embedded_testbed(const Setup& setup, const WorkerShares& shares, OpenPorts& open);

}  // namespace rankwire

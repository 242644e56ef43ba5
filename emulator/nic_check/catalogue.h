// All tests of a NIC.
#pragma once

#include <vector>

#include "emulator/nic_check/bench.h"
#include "emulator/suite/test_case.h"

namespace rankwire {

/// In the order in which they run. Each keeps `wire.pcapng` in its folder. `bench` outlives them; null: they can be
/// listed, not run.
std::vector<TestCase> nic_catalogue(NicBench* bench);

}  // namespace rankwire

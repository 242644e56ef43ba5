// All tests of a NIC.
#pragma once

#include <vector>

#include "emulator/nic_check/nic_case.h"
#include "emulator/suite/test_case.h"

namespace rankwire {

/// Keeps `wire.pcapng` of each in its folder. `bench` outlives them; null: they can be listed, not run.
std::vector<TestCase> nic_tests(NicCases cases, NicBench* bench);
/// The same of all that take nothing but a NIC, in the order in which they run.
std::vector<TestCase> nic_catalogue(NicBench* bench);
/// Those of a NIC that is driven by perftest, and behind them the others, which are skipped.
std::vector<TestCase> perftest_catalogue(PerftestBench* bench);

}  // namespace rankwire

// The NIC that a configuration names.
#pragma once

#include <memory>

#include "emulator/nic_check/config.h"
#include "emulator/nic_check/nic_under_test.h"

namespace rankwire {

/// Throws Error when there is none, or it cannot be used.
std::unique_ptr<NicUnderTest> open_nic(const NicCheckConfig& config);

}  // namespace rankwire

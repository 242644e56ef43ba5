// What a run whose time is stretched finds on its wires: rates, and all that rankwire does, are stretched alike, but
// not a device under test.
#pragma once

#include <string>
#include <vector>

#include "emulator/input/config.h"

namespace rankwire {

/// Whether a device stands on the wires of a run that is stretched, which the configuration's network is not.
bool has_unstretched_device(const RunConfig& config);

/// The configuration with the network that the job meets on the wires, in the job's time: latencies of a device are
/// divided by the factor, its buffer and threshold are its own. The same where there is no such device.
RunConfig on_wires(RunConfig config);

/// Of each that differs, what the device has, what that is to the job, and what the job's own network has. Empty where
/// nothing does.
std::vector<std::string> unstretched(const RunConfig& config);

}  // namespace rankwire

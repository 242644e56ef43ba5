// Subscribes to counters of a device by gNMI.
#pragma once

#include "emulator/device_counters/gnmi_options.h"

namespace rankwire {

/// Prints a sample line (docs/device-counters.md) for each notification with counters, and first the round trip of a
/// question, until the device or whoever reads ends it. Throws Error(kInput) for files that cannot be read, Error(kRun)
/// when the device cannot be reached, does not answer within the patience or ends the subscription, with its reason, or
/// where this program was built without gRPC.
void subscribe_gnmi(const GnmiOptions& options);

}  // namespace rankwire

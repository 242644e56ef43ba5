// The fidelity `alpha_beta`: operations that take what the formula of their algorithm says.
#pragma once

#include "emulator/assembly/setup.h"
#include "emulator/engine/communication_times.h"
#include "fabric/network.h"

namespace rankwire {

/// Of all operations of the set-up's workload, on links that nobody else uses. A collective is the sum of
/// `cost_phases`: each message takes the undisturbed time on the group's slowest path, where members behind one port
/// send in turn, and what is reduced takes its time besides. `network` is the reference's. Throws Error(kInput) where
/// there is no formula.
CommunicationTimes alpha_beta_times(const Setup& setup, const Network& network);

}  // namespace rankwire

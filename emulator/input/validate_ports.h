// Contradictions of `ports` and `addresses`, and what RDMA devices among the ports rule out elsewhere.
#pragma once

#include "emulator/input/config.h"
#include "emulator/input/tree.h"

namespace rankwire {

/// Throws Error(kInput), naming file, line and key, for ports and addresses that contradict each other.
void validate_ports(const RunConfig& config, const Tree& root);

/// The same for keys of `transport` and `addresses` that contradict `transport.verbs`, or that no port of the run could
/// obey because an RDMA device decides it.
void validate_rdma_devices(const RunConfig& config, const Tree& root);

}  // namespace rankwire

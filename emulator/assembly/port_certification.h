// How far the ports of a run's devices are from sending at their rates, on the cores of its workers.
#pragma once

#include <atomic>
#include <span>
#include <vector>

#include "emulator/assembly/setup.h"
#include "emulator/assembly/testbed.h"
#include "emulator/assembly/workers.h"
#include "emulator/record/certificate.h"

namespace rankwire {

/// Each worker sends from all of its ports at once, at their rates, frames of the run's size that are addressed to the
/// port that sends them (probe_rates): a tenth of a second of line time, and half a second at the most. By port, those
/// without NICs left out, and of those without a link nothing but that; of one that workers share the slowest queue
/// counts. `cpus`: on which workers stay, one each; none: on any. Nobody else uses the testbed's ports, which are not
/// those of the embedded switch. Throws Error(kRun) when a worker's thread cannot have its CPU.
std::vector<PortCertificate> certify_ports(const Setup& setup, Testbed& testbed, const WorkerShares& shares,
                                           std::span<const uint32_t> cpus, const std::atomic<bool>& interrupted);

}  // namespace rankwire

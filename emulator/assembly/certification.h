// What the generator adds of its own: the beginning of a run against the embedded switch in real time, beside the same
// packets in virtual time.
#pragma once

#include <atomic>
#include <filesystem>

#include "emulator/input/config.h"
#include "emulator/record/certificate.h"

namespace rankwire {

/// Runs the beginning of `config`'s run several times in real time and once in virtual time, for two seconds at the
/// most beside what it takes to load its traces. Ports are memory ports of the embedded switch or fabric at the
/// configured rates, whatever they are in `config`: no device is touched, and DPDK's part of the way is left to
/// certify_ports. The workers and their cores are those of `config`; impairments, losses and failures of cables are
/// left out, and so are captures and samples of queues. Where no communication would end in that time, bytes and
/// computing of the workload are cut until some does. The calling thread runs the loop. `folder` is made for their
/// files, and stays. What goes wrong is in the result; `interrupted` ends it. `config` is valid.
Certificate certify(const RunConfig& config, const std::filesystem::path& folder, const std::atomic<bool>& interrupted);

/// Whether `run.certify` wants that before a run: by itself where `limits.ratio` or `limits.busbw` is set, which hang
/// on it, and all ports are this process's and no RDMA devices.
bool is_certified(const RunConfig& config);

/// The run of `config` that is measured, for `time` at most, without models, with bytes and computing divided by `cut`.
RunConfig certified_run(const RunConfig& config, Duration time, uint32_t cut);

}  // namespace rankwire

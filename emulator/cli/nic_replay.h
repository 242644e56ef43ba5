// What `nic-check --replay` takes of a run folder.
#pragma once

#include <cstdint>
#include <filesystem>

#include "emulator/nic_check/replay.h"

namespace rankwire {

/// What `rank` sent and received over the wire of the emulated run, or of the twin, at most the first 4,096 messages.
/// Throws Error(kInput) naming the folder where messages are not recorded one by one, where the rank has none, and
/// where one is larger than `largest`.
ReplayedJob read_replayed_job(const std::filesystem::path& folder, uint32_t rank, uint32_t largest);

}  // namespace rankwire

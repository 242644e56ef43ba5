// Reads ASTRA-sim's own files: network YAML, system JSON and memory JSON (which are YAML, too).
#pragma once

#include <string>

#include "base/error.h"
#include "emulator/simulator/astra_model.h"

namespace rankwire {

/// All throw Error(kInput) naming file, line and key for a value that is wrong or missing, and for a key that ASTRA-sim
/// reads and rankwire does not honour. Keys that neither reads are warnings. docs/astra-sim.md lists the keys.

/// `topology`, `npus_count`, `bandwidth`, `latency`: lists of equal length.
AstraNetwork read_astra_network(const std::string& file, Warnings& warnings);
/// `network` is what the lists of implementations are for.
AstraSystem read_astra_system(const std::string& file, const AstraNetwork& network, Warnings& warnings);
AstraMemory read_astra_memory(const std::string& file, Warnings& warnings);

}  // namespace rankwire

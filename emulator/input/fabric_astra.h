// Network files of ASTRA-sim's analytical backend.
#pragma once

#include <filesystem>
#include <vector>

#include "fabric/dimensions.h"

namespace rankwire {

/// Reads the lists `topology` (Ring, Switch, FullyConnected), `npus_count`, `bandwidth` in GB/s of 2^30 bytes, and
/// `latency` in ns, each with one value a dimension (astra-network-analytical: common/NetworkParser.cpp, and
/// bw_GBps_to_Bpns in common/NetworkFunction.cpp). Throws Error(kInput) naming file, line and key.
std::vector<Dimension> read_astra_network(const std::filesystem::path& file);

}  // namespace rankwire

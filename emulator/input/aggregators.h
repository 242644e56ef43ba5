// What the key `collectives.aggregators` says about ports, and the rules that no single value of it can break.
#pragma once

#include <cstdint>
#include <vector>

#include "emulator/input/config.h"
#include "emulator/input/tree.h"

namespace rankwire {

/// Indexes of the ports that are no aggregator's, ascending: ranks stand behind these.
std::vector<uint32_t> rank_ports(const RunConfig& config);

/// Throws Error(kInput) naming file, line and key unless the aggregators are one tree, each behind a port of its own,
/// every other port is served by one of them, and an algorithm asks for them. Names of ports are unique.
void validate_aggregators(const RunConfig& config, const Tree& root);

}  // namespace rankwire

// Which machine drives which ports of a run over several, and has which of its ranks.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "emulator/assembly/setup.h"
#include "emulator/assembly/workers.h"
#include "emulator/input/config.h"

namespace rankwire {

/// Those that `ports[].on` names, in their order; none: the run is one process's.
std::vector<std::string> machines_of(const RunConfig& config);

/// Where all ports are on one machine, and `own`, as this one is called, is that one, they are those of a run of one
/// process from then on. Throws Error(kInput) naming file, line and key where it is another. Otherwise nothing changes.
void be_only_machine(RunConfig& config, const std::string& own);

/// By PortId: the place of its machine among `machines`. Throws Error(kInput) naming file, line and key for a port
/// without a machine, or one that is not there.
std::vector<uint32_t> machine_of_ports(const RunConfig& config, std::span<const std::string> machines);

/// Throws Error(kInput) naming file, line and key for what a run over several machines does not do.
void require_machines_can(const RunConfig& config);

/// Who has which ranks. Throws Error(kInput) naming the ranks when such as talk to each other by the modelled
/// interconnect, or those of an emulated host, would be on several machines.
WorkerShares machine_shares(const Setup& setup, std::span<const std::string> machines);

/// What so many of the ranks, by RankId, send or are sent and what has not ended: a slot of a rank has one operation at
/// a time, each of whose sends and receives is a step. Never more than the plan has of all ranks.
uint32_t messages_in_flight(const Plan& plan, const std::vector<bool>& ranks);

}  // namespace rankwire

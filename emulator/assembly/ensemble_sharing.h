// The machines of a run share out the members of the reference's ensemble.
#pragma once

#include <cstdint>
#include <string>

#include "emulator/assembly/ensemble_members.h"
#include "emulator/assembly/run_control.h"
#include "emulator/assembly/setup.h"
#include "emulator/machines/machines.h"

namespace rankwire {

/// Those from `first` on that are before `end`. Of `machines`, of which this one leads, each simulates every so
/// many-th, and what is not heard of one that has gone, or was interrupted, is simulated here. Null: all are.
void run_members(EnsembleMembers& members, uint32_t first, uint32_t end, uint32_t threads, const RunControl& control,
                 Machines* machines);

/// By a machine that does not lead, where that does `run_members` of an equal set-up or nothing: simulates its parts,
/// up to `threads` at a time, until `end_ensemble`. Ends also when the leader has gone or failed. Throws nothing.
void help_with_ensemble(const Setup& setup, Machines& machines, uint32_t threads, const RunControl& control) noexcept;
/// By the leader: nobody need help any more.
void end_ensemble(Machines& machines);

/// On its way to the leader.
std::string bytes_of(const MemberOutcome& outcome);
MemberOutcome member_outcome(const std::string& bytes);

}  // namespace rankwire

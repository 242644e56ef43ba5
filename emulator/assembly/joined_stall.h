// What machines know of a run that did not end by itself, together.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/id.h"
#include "emulator/assembly/machine_report.h"
#include "emulator/assembly/machine_stall.h"
#include "emulator/assembly/setup.h"
#include "emulator/assembly/workers.h"
#include "emulator/engine/run.h"
#include "emulator/record/record_part.h"
#include "emulator/record/run_record.h"

namespace rankwire {

/// All by machine, and borrowed.
struct ToldMachines {
  const Setup& setup;
  const WorkerShares& shares;  ///< who has which ranks, and which ends of connections
  std::span<const std::string> names;
  std::span<const std::optional<MachineReport>> reports;  ///< absent: it has gone
};

/// Connections of which a machine has one end, which it has not told, as none of its own ranks waits there, while those
/// at the other end do.
std::vector<std::vector<ConnectionId>> untold_ends(const ToldMachines& told);

/// Both halves of what is known of a connection, the source's first.
ConnectionView joined_view(const ToldMachines& told, std::span<const ConnectionViews> answers, ConnectionId connection);

/// What stall_row says of the run as if one process had all its ranks; absent where that says nothing. `answers` are to
/// `untold_ends`. `clocks` correct run times. The machine is named that a culprit is on, or whose loop stood still.
std::optional<StallRow> joined_stall(const ToldMachines& told, std::span<const ConnectionViews> answers,
                                     std::span<const ClockCorrection> clocks);

/// Warnings: machines that had more to tell than there is room for, or have not answered.
std::vector<std::string> stall_findings(const ToldMachines& told, std::span<const ConnectionViews> answers);

/// To `end.stall` and the reasons, as tell_lost_links: the ports of all machines.
void tell_lost_links(const ToldMachines& told, RunResult& result, RunEnd& end);

}  // namespace rankwire

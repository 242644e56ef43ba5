// Who has started this process beside others. With MPI where it is built in, otherwise nobody has.
#pragma once

#include <memory>

#include "emulator/machines/links.h"

namespace rankwire {

/// Whether processes of several machines can be part of a run at all.
bool has_machine_links();

/// Whether mpirun, or Slurm's srun, has started this process: then `join_machines` may be called, once.
bool is_launched();

/// The links to the processes that were started together with this one, which may be alone. Throws Error(kRun).
std::unique_ptr<MachineLinks> join_machines();

}  // namespace rankwire

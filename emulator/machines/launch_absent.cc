// Without MPI.
#include "base/error.h"
#include "emulator/machines/launch.h"

namespace rankwire {

bool has_machine_links() {
  return false;
}

bool is_launched() {
  return false;
}

std::unique_ptr<MachineLinks> join_machines() {
  fail_run("this rankwire was built without MPI");
}

}  // namespace rankwire

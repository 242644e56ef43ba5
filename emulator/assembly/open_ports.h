// What runs of a process that follow each other have in common.
#pragma once

#include <memory>

namespace rankwire {

class DpdkEnvironment;

/// A process can start DPDK once. Its ports stay open from one run to the next where the next wants them alike: the
/// same devices in the same state, whatever passes over them (kept_device.h). Belongs to one thread.
struct OpenPorts {
  std::shared_ptr<DpdkEnvironment> dpdk;  ///< null: it has not been started
  /// Runs with larger windows may follow: ports get frames for any of them, where there is memory for so many.
  bool for_any_window = false;
};

}  // namespace rankwire

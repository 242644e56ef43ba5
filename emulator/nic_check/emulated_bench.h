// The emulated NIC on a bench in memory, in virtual time: every run of it is the same.
#pragma once

#include <memory>

#include "dataplane/wire/header_template.h"
#include "emulator/nic_check/bench.h"
#include "emulator/nic_check/mutants.h"

namespace rankwire {

class EmulatedBench {
 public:
  /// Throws std::bad_alloc.
  explicit EmulatedBench(NicMutant mutant = NicMutant::kNone, IpVersion ip_version = IpVersion::kIpv4,
                         const BenchScale& scale = {});
  ~EmulatedBench();

  NicBench& bench();

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace rankwire

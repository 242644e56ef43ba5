// The emulated NIC on a bench in memory, in virtual time: every run of it is the same.
#pragma once

#include <cstdint>
#include <memory>

#include "dataplane/wire/header_template.h"
#include "emulator/nic_check/bench.h"
#include "emulator/nic_check/mutants.h"

namespace rankwire {

/// What an emulated NIC has room for.
struct EmulatedCapacity {
  uint32_t queue_pairs = 0;  ///< 0: as many as the scale asks for, and 1024 at least
  uint32_t contexts = 4096;  ///< of these on the chip, see EmulatedNicOptions
};

class EmulatedBench {
 public:
  /// Throws std::bad_alloc.
  explicit EmulatedBench(NicMutant mutant = NicMutant::kNone, IpVersion ip_version = IpVersion::kIpv4,
                         const BenchScale& scale = {}, const EmulatedCapacity& capacity = {});
  ~EmulatedBench();

  NicBench& bench();

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace rankwire

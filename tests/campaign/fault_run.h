// Runs a case of the fault campaign in virtual time and judges it.
#pragma once

#include <cstdint>
#include <string>

#include "base/transport.h"
#include "tests/campaign/fault_case.h"

namespace rankwire::testing {

struct FaultVerdict {
  /// Empty: every message was delivered exactly once, or reported as failed with the reason; nothing hangs.
  std::string fault;
  uint64_t messages = 0, delivered = 0, failed = 0;
  TransportCounters counters;  ///< of all hosts
};

/// `workers`: among which the hosts are dealt out; each message is posted at one and sent by another when there are
/// several. Messages that their destination reads have one worker.
FaultVerdict run(const FaultCase& fault, uint32_t workers = 1);

}  // namespace rankwire::testing

// Communication whose duration is known beforehand, so that no message has to be sent.
#pragma once

#include <cstdint>
#include <vector>

#include "base/units.h"
#include "emulator/workload/workload.h"

namespace rankwire {

/// How long each operation takes once everybody has begun it.
struct CommunicationTimes {
  static constexpr uint32_t kNone = UINT32_MAX;

  /// A SEND and the RECV that belongs to it.
  struct Transfer {
    /// Both begin together and end `delivered` later; otherwise the message is on its way as soon as the SEND begins.
    bool rendezvous = false;
    Duration delivered;  ///< until the RECV ends, if it has begun
    Duration sent;       ///< until the SEND ends; at least `delivered`
  };

  std::vector<std::vector<Duration>> collectives;  ///< by group and run order: until it ends at all members
  std::vector<Transfer> transfers;
  std::vector<std::vector<uint32_t>> transfer_of;  ///< by rank and node: index in `transfers`, or kNone
};

/// The operations of the workload, all of duration 0.
CommunicationTimes number_operations(const Workload& workload);

/// As the traces recorded them: of the recorded durations of an operation the shortest, since whoever begins last waits
/// for nobody, so that its duration alone is the network's. Both ends of a transfer meet, as NCCL's kernels do. Throws
/// Error(kInput) naming rank and node where a trace has no duration.
CommunicationTimes recorded_times(const Workload& workload);

}  // namespace rankwire

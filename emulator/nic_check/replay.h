// What one rank of a recorded run sent and received, and what was done to its packets: for a NIC to do again.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "base/units.h"
#include "emulator/nic_check/nic_case.h"

namespace rankwire {

/// What becomes of a packet of a message when it is sent for the first time.
enum class ReplayedAction : uint8_t {
  kLose,
  kCorrupt,     ///< one bit is another than its ICRC says
  kDuplicate,   ///< arrives twice
  kDelay,       ///< arrives behind the next one
  kMark,        ///< ECN congestion experienced
  kNotify,      ///< its sender is told of congestion by a CNP
  kLoseAnswer,  ///< its acknowledgement never comes
};

struct ReplayedMessage {
  uint32_t flow = 0;  ///< the queue pair: messages of one flow are in order
  bool sent = false;  ///< by the rank that the NIC stands for
  uint32_t bytes = 0;
  Time posted, delivered;                                         ///< in the recorded run
  std::vector<std::pair<uint32_t, ReplayedAction>> packets = {};  ///< from 0
};

struct ReplayedJob {
  uint32_t rank = 0;
  uint32_t mtu = 1024;  ///< of the recorded packets
  uint32_t flows = 0;
  std::vector<ReplayedMessage> messages = {};  ///< in the order in which they were posted
  uint64_t not_replayed = 0;  ///< recorded impairments of the rank's packets that a bench cannot repeat
  uint64_t left_out = 0;      ///< messages behind the most that are replayed
};

/// The case `job.replay`: the NIC sends what the rank sent, as WRITEs with immediate data, the peer what it received,
/// one message at a time. Each begins when all have arrived that had arrived in the recorded run before it was posted.
NicCases replay_cases(const ReplayedJob& job);

}  // namespace rankwire

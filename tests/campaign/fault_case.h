// One run of the fault campaign: everything that a seed decides.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/transport.h"
#include "dataplane/roce/options.h"
#include "dataplane/switch/options.h"
#include "fabric/topology.h"
#include "tests/campaign/forger.h"
#include "tests/dataplane/roce/impaired_port.h"

namespace rankwire::testing {

/// A message and when it is handed to its transport.
struct PlannedPost {
  Time at;
  Message message;
};

/// What the two ends of a connection do not agree on.
enum class Disagreement : uint8_t {
  kNone,
  kKey,        ///< the source has a wrong key
  kQueuePair,  ///< the source has the number of a queue pair that does not exist
  kMtu,        ///< the hosts have different ones
  kMemory,     ///< destinations have memory for short messages only
};

/// Hosts with one NIC each behind a virtual fabric; the last hop to each host loses, repeats, reorders, corrupts and
/// marks as well.
struct FaultCase {
  uint64_t seed = 0;
  /// Losses are so few and retries so many that no queue pair may give up (by chance, one in 10^9).
  bool survivable = false;
  /// Queue pairs may fail because a request is refused, or because somebody says that it was.
  bool refusals = false;
  Topology topology;
  FabricSwitchOptions device;
  FabricOptions fabric;
  TransportPlan plan;
  /// One that has all hosts, or one each, whose profiles differ.
  std::vector<RoceOptions> transports;
  Disagreement disagreement = Disagreement::kNone;  ///< of connection 0, or of all
  std::vector<ForgeryRule> forgeries;
  std::vector<Bandwidth> rates;          ///< of the hosts' lines
  std::vector<Impairments> impairments;  ///< of the way to each host
  std::vector<uint32_t> refuse_every;    ///< transmission of each host takes only half, or 0
  std::vector<PlannedPost> posts;        ///< in the order of time
};

FaultCase make_fault_case(uint64_t seed);

/// What a person looks at first: "seed 12: leaf-spine, 5 hosts, write_imm, dcqcn, ...".
std::string describe(const FaultCase& fault);

}  // namespace rankwire::testing

// One run of the fault campaign: everything that a seed decides.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/transport.h"
#include "dataplane/fabric_options.h"
#include "dataplane/roce_options.h"
#include "fabric/topology.h"
#include "tests/dataplane/impaired_port.h"

namespace rankwire::testing {

/// A message and when it is handed to its transport.
struct PlannedPost {
  Time at;
  Message message;
};

/// Hosts with one NIC each behind a virtual fabric; the last hop to each host loses, repeats, reorders, corrupts and
/// marks as well.
struct FaultCase {
  uint64_t seed = 0;
  /// Losses are so few and retries so many that no queue pair may give up (by chance, one in 10^9).
  bool survivable = false;
  Topology topology;
  FabricSwitchOptions device;
  FabricOptions fabric;
  TransportPlan plan;
  /// One that has all hosts, or one each, whose profiles differ.
  std::vector<RoceOptions> transports;
  std::vector<Bandwidth> rates;          ///< of the hosts' lines
  std::vector<Impairments> impairments;  ///< of the way to each host
  std::vector<PlannedPost> posts;        ///< in the order of time
};

FaultCase make_fault_case(uint64_t seed);

/// What a person looks at first: "seed 12: leaf-spine, 5 hosts, write_imm, dcqcn, ...".
std::string describe(const FaultCase& fault);

}  // namespace rankwire::testing

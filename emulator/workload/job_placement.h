// Where the ranks of several jobs stand that share hosts.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "emulator/workload/placement.h"

namespace rankwire {

struct JobPlacement {
  std::string label;  ///< with which errors begin
  uint32_t ranks = 0;
  PlacementPolicy policy = PlacementPolicy::kRoundRobin;
  std::vector<uint32_t> hosts;  ///< that its ranks may stand on, below PlacementOptions::hosts; empty: all
  bool share = false;           ///< its NPUs may be those of other jobs that share
  std::vector<Place> places;    ///< kExplicit: by rank of the job
};

/// The places of all ranks, job by job, for PlacementOptions::places. Explicit ones are taken first, whatever the order
/// of the jobs. Then each job's ranks take free NPUs by its policy, the lowest of a host first: round robin goes from
/// host to host, passing over those that are full; block fills one host after the other, and where `npus` is absent,
/// gives each as many ranks of the job. A job that shares takes NPUs of others that share as if they were free.
///
/// Of `options` counts, ports and `rank_ports` are read; `npus`: a host's, absent: as many as are needed. NICs and
/// ports follow from NPUs as with place_ranks. Throws Error(kInput) when an NPU is claimed twice, or none is left.
std::vector<Place> place_jobs(std::span<const JobPlacement> jobs, const PlacementOptions& options,
                              std::optional<uint32_t> npus);

}  // namespace rankwire

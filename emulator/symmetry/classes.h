// Which ranks, connections and links of a planned run cannot be told apart.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "emulator/engine/plan.h"
#include "emulator/workload/workload.h"
#include "fabric/network.h"

namespace rankwire {

/// Things that behave alike: the class of each, and the first of each class. Classes are numbered by their first ones.
struct Partition {
  std::vector<uint32_t> class_of;
  std::vector<uint32_t> first;

  uint32_t classes() const { return static_cast<uint32_t>(first.size()); }
};

/// The coarsest equitable partition, found by colour refinement (Weisfeiler and Leman 1968; Paige and Tarjan 1987):
///   - ranks of a class are of one job, have the same graph of nodes with the same durations and schedules, and their
///   n-th connection, in
///     the order in which the graph uses them, is of the same class, in either direction;
///   - connections of a class lead from one class of ranks to one class, are the same one's in turn at both, and go
///   over
///     links of the same classes hop by hop, in the same framing;
///   - links of a class have the same bandwidth and latency, and carry the same number of connections of each class, at
///     the same hop with the same share.
/// A rank has at most one connection of a class in either direction, so a class of connections has as many members as
/// the ranks at its ends. Nothing else decides about times in the reference: names, addresses and numbers do not.
struct SymmetryClasses {
  Partition ranks, connections, links;
};

/// Empty when a workload stays in its files, when there is traffic without ranks, when there are more than half as many
/// classes as ranks, or when refinement has not ended after some rounds, as it is where what is different is far from
/// most others.
std::optional<SymmetryClasses> symmetry_classes(const Workload& workload, const Plan& plan, const Network& network);

}  // namespace rankwire

// Random flows over random networks, and what max-min fairness gives them, computed apart from MaxMin.
#pragma once

#include <cstdint>
#include <vector>

#include "base/random.h"

namespace rankwire {

/// Directed links and the flows over them.
struct FlowSet {
  std::vector<int64_t> capacities;                   ///< bits a second
  std::vector<std::vector<uint32_t>> links_of_flow;  ///< each link once
};

/// A connected graph of 6 to 20 switches with both directions of 1.5 times as many cables of 10 to 800 Gb/s, and 5 to
/// 40 flows over shortest paths between random pairs.
FlowSet random_flow_set(Random& random);

/// Progressive filling in floating point: all flows grow together until a link is full, whose flows are then fixed
/// (Bertsekas and Gallager, Data Networks, 6.5.2). Relative error far below 1e-12. Flows that are not `active` get 0.
std::vector<double> max_min_rates(const FlowSet& set, const std::vector<bool>& active);

}  // namespace rankwire

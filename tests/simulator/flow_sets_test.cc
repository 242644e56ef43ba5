#include "tests/simulator/flow_sets.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "emulator/simulator/max_min.h"
#include "tests/simulator/oracle/simgrid.h"

namespace rankwire {
namespace {

MaxMin solver_of(const FlowSet& set) {
  std::vector<std::vector<MaxMin::Draw>> draws;
  for (const std::vector<uint32_t>& flow : set.links_of_flow) {
    auto& of_flow = draws.emplace_back();
    for (const uint32_t link : flow) of_flow.push_back({link});
  }
  return MaxMin(set.capacities, draws);
}

std::vector<FlowSet> fifty_sets() {
  Random random(50);
  std::vector<FlowSet> sets;
  while (sets.size() < 50) sets.push_back(random_flow_set(random));
  return sets;
}

double worst_error(const MaxMin& solver, const std::vector<double>& exact) {
  double worst = 0;
  for (uint32_t f = 0; f < exact.size(); ++f) {
    if (exact[f] > 0) worst = std::max(worst, std::abs(static_cast<double>(solver.share(f)) / exact[f] - 1));
  }
  return worst;
}

// A share is rounded down to a whole bit a second, and the least here is above 100 Mb/s: 1e-8 at most.
TEST(FlowSets, SharesAreThoseOfExactFilling) {
  double worst = 0;
  for (const FlowSet& set : fifty_sets()) {
    MaxMin solver = solver_of(set);
    for (uint32_t f = 0; f < set.links_of_flow.size(); ++f) solver.activate(f);
    solver.solve();
    worst = std::max(worst, worst_error(solver, max_min_rates(set, std::vector<bool>(set.links_of_flow.size(), true))));
  }
  EXPECT_LT(worst, 1e-8);
}

// The same as flows come and go, so that only parts are solved again.
TEST(FlowSets, SharesStayExactAsFlowsComeAndGo) {
  Random random(51);
  double worst = 0;
  for (const FlowSet& set : fifty_sets()) {
    MaxMin solver = solver_of(set);
    std::vector<bool> active(set.links_of_flow.size());
    for (int change = 0; change < 20; ++change) {
      const auto flow = static_cast<uint32_t>(random.below(active.size()));
      active[flow] ? solver.deactivate(flow) : solver.activate(flow);
      active[flow] = !active[flow];
      solver.solve();
      worst = std::max(worst, worst_error(solver, max_min_rates(set, active)));
    }
  }
  EXPECT_LT(worst, 1e-8);
}

TEST(FlowSets, SharesAreThoseOfSimGrid) {
  const std::vector<FlowSet> sets = fifty_sets();
  const auto rates = simgrid_rates(sets);
  if (!rates) GTEST_SKIP() << "SimGrid (package libsimgrid-dev) was not found when this was built";
  ASSERT_EQ(rates->size(), sets.size());
  double worst = 0;
  for (size_t i = 0; i < sets.size(); ++i) {
    MaxMin solver = solver_of(sets[i]);
    for (uint32_t f = 0; f < sets[i].links_of_flow.size(); ++f) solver.activate(f);
    solver.solve();
    worst = std::max(worst, worst_error(solver, (*rates)[i]));
  }
  std::printf("50 random flow sets: shares differ from SimGrid's by %.2g at most\n", worst);
  EXPECT_LT(worst, 1e-6);
}

}  // namespace
}  // namespace rankwire

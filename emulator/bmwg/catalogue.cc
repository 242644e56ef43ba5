#include "emulator/bmwg/catalogue.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace rankwire {

std::span<const BmwgTest> bmwg_catalogue() {
  static const std::vector<BmwgTest> kAll = [] {
    std::vector<BmwgTest> all;
    for (const auto& tests : {bmwg_rdma_tests(), bmwg_ultra_ethernet_tests(), bmwg_congestion_tests(),
                              bmwg_deadlock_tests(), bmwg_balancing_tests(), bmwg_collective_tests(), bmwg_job_tests(),
                              bmwg_scale_tests(), bmwg_inference_tests(), bmwg_inference_load_tests()})
      std::ranges::copy(tests, std::back_inserter(all));
    return all;
  }();
  return kAll;
}

CaseOutcome carry_out(const BmwgTest& test, BmwgBench& bench, const BmwgParameters& parameters) {
  BmwgOutcome outcome;
  try {
    test.run(bench, parameters, outcome);
  } catch (const BmwgUndecided& undecided) {
    outcome.undecided(undecided.what());
  }
  return std::move(outcome).finish();
}

}  // namespace rankwire

#include "emulator/bmwg/catalogue.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <string_view>
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

std::string fit_accelerators(const BmwgTest& test, const BmwgBench& bench, BmwgParameters& parameters) {
  const auto is_accelerators = [](const ParameterDefault& own) { return std::string_view(own.name) == "accelerators"; };
  if (std::ranges::none_of(test.parameters, is_accelerators)) return {};
  if (test.ranks == nullptr) {
    std::vector<uint32_t> left_out = parameters.counts("accelerators");
    std::erase_if(left_out, [&](uint32_t ranks) { return ranks >= 2 && ranks <= bench.npus(); });
    if (left_out.empty()) return {};
    return fmt::format("{} accelerators are left out: the hosts hold {}", fmt::join(left_out, ", "), bench.npus());
  }
  const uint32_t asked = parameters.count("accelerators"), ranks = test.ranks(bench, parameters);
  if (ranks == asked) return {};
  parameters.set_count("accelerators", ranks);
  return fmt::format("{} accelerators were cut to {}: the hosts hold {}", asked, ranks, bench.npus());
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

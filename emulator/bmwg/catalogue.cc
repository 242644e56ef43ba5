#include "emulator/bmwg/catalogue.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "emulator/input/tree.h"
#include "emulator/input/units.h"
#include "emulator/suite/suite.h"

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

void check_sizes(const BmwgTest& test, const BmwgSuite& suite, const BmwgBench& bench) {
  if (test.refuses == nullptr) return;
  for (const BmwgSuite::Override& item : suite.overrides) {
    if (!selects(item.select, test.id)) continue;
    for (const Tree::Entry& entry : item.parameters.entries) {
      BmwgParameters parameters(test.parameters, false);
      if (!is_size(entry.key) || !parameters.set(entry.key, entry.value)) continue;
      for (const Bytes size : parameters.sizes(entry.key))
        if (const std::string why = test.refuses(bench, size); !why.empty())
          fail_at(entry.value.origin, "{}: {} of {}: {}", entry.key, print_quantity(size.count, kSizeScale), test.id,
                  why);
    }
  }
}

void check_values(const BmwgTest& test, const BmwgSuite& suite, const BmwgBench& bench,
                  const BmwgParameters& parameters) {
  if (test.contradicts == nullptr) return;
  const std::optional<RefusedValue> refused = test.contradicts(bench, parameters);
  if (!refused) return;
  const Tree* value = nullptr;
  for (const BmwgSuite::Override& item : suite.overrides)
    if (const Tree* const own = item.parameters.find(refused->parameter);
        own != nullptr && selects(item.select, test.id))
      value = own;
  const std::string text = fmt::format("{} of {}: {}", refused->parameter, test.id, refused->why);
  if (value == nullptr) fail_input("{}", text);
  fail_at(value->origin, "{}", text);
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

#include "emulator/bmwg/needs.h"

#include <fmt/format.h>

#include <algorithm>

namespace rankwire {

std::string lacks_two_ports(const BmwgBench& bench, const BmwgParameters&) {
  return bench.ports() < 2 ? "it takes two ports or more" : "";
}

std::string lacks_incasts(const BmwgBench& bench, const BmwgParameters& parameters) {
  const auto fits = [&](uint32_t ratio) { return ratio + 1 <= bench.ports(); };
  return std::ranges::any_of(parameters.counts("ratios"), fits) ? ""
                                                                : "each of its incasts takes more ports than there are";
}

std::string lacks_accelerators(const BmwgBench& bench, const BmwgParameters& parameters) {
  const auto fits = [&](uint32_t ranks) { return ranks >= 2 && ranks <= bench.npus(); };
  if (std::ranges::any_of(parameters.counts("accelerators"), fits)) return {};
  return fmt::format("the hosts hold {} NPUs, and none of its numbers of accelerators is 2 to that", bench.npus());
}

uint32_t ranks_that_fit(const BmwgBench& bench, const BmwgParameters& parameters) {
  return std::min(bench.npus(), parameters.count("accelerators"));
}

std::string lacks_two_ranks(const BmwgBench& bench, const BmwgParameters& parameters) {
  return ranks_that_fit(bench, parameters) < 2 ? "it takes two accelerators or more" : "";
}

std::string lacks_lossless_priority(const BmwgBench& bench) {
  if (!bench.is_embedded()) return {};
  const auto& fabric = bench.base().fabric;
  return fabric && !fabric->lossless.empty() ? "" : "the embedded switches have no lossless priority (fabric.lossless)";
}

}  // namespace rankwire

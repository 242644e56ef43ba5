#include "emulator/bmwg/needs.h"

#include <fmt/format.h>

#include <algorithm>

#include "emulator/input/units.h"

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

std::optional<RefusedValue> refuses_empty_parts(const BmwgBench& bench, const BmwgParameters& parameters) {
  uint32_t most = 0;
  for (const uint32_t ranks : parameters.counts("accelerators"))
    if (ranks <= bench.npus()) most = std::max(most, ranks);
  const char* const name = parameters.is_declared("sizes") ? "sizes" : "size";
  for (const Bytes size : parameters.sizes(name))
    if (size.count < int64_t{kElementBytes} * most)
      return RefusedValue{
          name, fmt::format("{}: each of {} accelerators has a part of it, so that it takes {} B, an "
                            "element of {} B for each, or more",
                            print_quantity(size.count, kSizeScale), most, kElementBytes * most, kElementBytes)};
  return std::nullopt;
}

std::optional<RefusedValue> refuses_no_load(const BmwgBench&, const BmwgParameters& parameters) {
  const char* const name = parameters.is_declared("loads") ? "loads" : "load";
  for (const double share : parameters.shares(name))
    if (share <= 0) return RefusedValue{name, "0 %: it takes traffic, of more than 0 % of the line rate"};
  return std::nullopt;
}

}  // namespace rankwire
